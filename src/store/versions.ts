/** What a run is made with: versions for `envwright --version`, and beside them the program itself and its machine for run.json. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { canonicalJson } from "../core/index.js";

/** The package's folder: two levels above this module, in the sources and in the built package alike. */
export const PACKAGE_ROOT = fileURLToPath(new URL("../../", import.meta.url));

const packageSchema = z.object({ version: z.string(), dependencies: z.record(z.string(), z.string()) });
const manifest = () => packageSchema.parse(JSON.parse(readFileSync(`${PACKAGE_ROOT}package.json`, "utf8")));

export function versions(): Record<string, string> {
  const { version, dependencies } = manifest();
  return {
    envwright: version,
    node: process.versions.node,
    "onnxruntime-node": dependencies["onnxruntime-node"] ?? "none",
  };
}

/** All that decides a run's bytes beside its recipe, seed and checkpoint: versions, the program by the hash of its files, the kind of machine. */
export function maker(): Record<string, string> {
  program ??= programHash();
  return { ...versions(), program, platform: process.platform, arch: process.arch, cpu: cpus()[0]?.model.trim() || "unknown" };
}

/** What run.json says of who made the run. */
export interface MadeBy {
  versions: Readonly<Record<string, string>>;
  continued_with?: readonly Readonly<Record<string, string>>[] | undefined;
}

/** Whether the whole run was made by one program on one kind of machine, and it is known which; not so in runs of old versions. */
export function hasOneMaker({ versions: made, continued_with = [] }: MadeBy): boolean {
  return made.program !== undefined && continued_with.length === 0;
}

/** Why the bytes of this program, here, may not be those of the run, as the end of a sentence about it; undefined where nothing speaks for it. */
export function otherMaker(run: MadeBy): string | undefined {
  if (run.versions.program === undefined) return "its run.json does not say which program made it, and on what machine";
  const makers = [run.versions, ...(run.continued_with ?? [])];
  const here = maker();
  const names = new Set(makers.flatMap((made) => Object.keys({ ...made, ...here }).filter((name) => made[name] !== here[name])));
  return names.size === 0 ? undefined : `it was made with other ${[...names].sort().join(", ")} than are here`;
}

export function isSameMaker(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

let program: string | undefined;

/** Of every module beside this one (`.js` as built, `.ts` as they stand), tests left out, and of the versions of what they import. */
function programHash(): string {
  const root = fileURLToPath(new URL("../", import.meta.url));
  const extension = extname(fileURLToPath(import.meta.url));
  const names = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(extension) && !name.endsWith(`.test${extension}`))
    .sort();
  const hash = createHash("sha256").update(canonicalJson(manifest().dependencies));
  for (const name of names) hash.update(`\n${name}\n`).update(readFileSync(join(root, name)));
  return hash.digest("hex");
}
