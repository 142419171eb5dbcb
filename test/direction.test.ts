import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const SOURCE = resolve(import.meta.dirname, "../src");

/**
 * Part → parts it may import. Stages import core, and nn where they compute; store is the folder that stages' records are kept in, processes
 * are what runs beside this program.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  nn: ["core"],
  store: ["core"],
  processes: ["core"],
  environments: ["core"],
  policies: ["core", "nn", "processes"],
  rewards: ["core"],
  trainers: ["core", "nn", "processes"],
  evaluation: ["core"],
  diagnosis: ["core"],
  engineers: ["core"],
  pictures: ["core", "environments"],
};
/** These see all. */
const SEE_ALL = ["loop", "experiments", "server", "ui", "cli"];

interface Import {
  file: string;
  target: string;
}

const isTest = (file: string) => /\.test\.ts$/.test(file) || /(^|\/)(test-[^/]*|testing\/[^/]*|[^/]*-probe)\.ts$/.test(file);

/** Every import, export-from and dynamic import of a source file, as paths below src; packages and node's own modules are left out. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(SOURCE, file), "utf8");
  const found = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g), ...text.matchAll(/new URL\(\s*"(\.{1,2}\/[^"]+)"/g)];
  return found.map((match) => relative(SOURCE, resolve(SOURCE, dirname(file), match[1]!)).replace(/\.js$/, ".ts"));
}

const files = readdirSync(SOURCE, { recursive: true })
  .map((name) => String(name).replaceAll("\\", "/"))
  .filter((name) => name.endsWith(".ts") && !isTest(name));

const imports: Import[] = files.flatMap((file) => importsOf(file).map((target) => ({ file, target })));
const partOf = (path: string): string => path.split("/")[0]!;

describe("direction of imports", () => {
  test("the sources are read: there are files, and imports between parts", () => {
    expect(files.length).toBeGreaterThan(50);
    expect(imports.some(({ file, target }) => partOf(file) === "loop" && partOf(target) === "engineers")).toBe(true);
  });

  test("every part has its rule", () => {
    const parts = [...new Set(files.map(partOf))];
    expect(parts.filter((part) => !(part in MAY_IMPORT) && !SEE_ALL.includes(part))).toEqual([]);
  });

  test("stages import core, and nn where they compute, but never each other", () => {
    const broken = imports.filter(({ file, target }) => {
      const [from, to] = [partOf(file), partOf(target)];
      if (target.startsWith("..") || from === to || SEE_ALL.includes(from)) return false;
      return !(MAY_IMPORT[from] ?? []).includes(to);
    });
    expect(broken.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
  });

  test("nothing but the command line imports the command line, and nothing imports the loop but those that see all", () => {
    const broken = imports.filter(
      ({ file, target }) =>
        (partOf(target) === "cli" && partOf(file) !== "cli") ||
        (["loop", "experiments", "server"].includes(partOf(target)) && !SEE_ALL.includes(partOf(file))),
    );
    expect(broken).toEqual([]);
  });

  test("the verifier reaches neither the generator nor the solver, however indirectly", () => {
    const folder = "environments/mapf-frozenlake";
    const reached = new Set<string>();
    const visit = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      for (const { target } of imports.filter((i) => i.file === file)) visit(target);
    };
    visit(`${folder}/verify.ts`);
    expect(reached).toContain(`${folder}/rules.ts`);
    const forbidden = /^environments\/mapf-frozenlake\/(solve\/|generate|fill|draw|quota|feasib|complete|demonstrate|family)/;
    expect([...reached].filter((file) => forbidden.test(file))).toEqual([]);
  });
});
