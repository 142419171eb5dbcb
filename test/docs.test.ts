/**
 * The documentation against the code: links, commands, examples, tables and generated parts. A command or an example that stands in the
 * docs is understood by this version; what is printed as an output is what the code gives.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { smallChange } from "../docs/examples/small-change.js";
import { parseOptions } from "../src/cli/options.js";
import { loadRecipe, recipeNames, resolveRecipe } from "../src/cli/recipes.js";
import { VERBS } from "../src/cli/verbs.js";
import {
  engineerOptionsSchema,
  eventSchema,
  grpoOptionsSchema,
  parseWith,
  Seed,
  servingOptionsSchema,
  trainerOptionsSchema,
} from "../src/core/index.js";
import { recipeReference } from "../src/core/recipe-reference.js";
import { ENGINEERS, engineeringDemonstration, humanStatus, readHumanAnswer, VARIANTS } from "../src/engineers/index.js";
import { familyConformance } from "../src/environments/conformance.js";
import { familyByName } from "../src/environments/index.js";
import { certify, completeInstance, instanceSchema, mapfFrozenLake } from "../src/environments/mapf-frozenlake/index.js";
import { cells, parseMatrix } from "../src/experiments/index.js";
import { ENDPOINT_PRESETS, endpointOptions } from "../src/policies/index.js";
import { ratioMetrics, rolloutMetrics } from "../src/trainers/embedded/grpo-step.js";

const ROOT = resolve(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const pagesOf = (folder: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`);
const PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", ...pagesOf("docs")].sort();

interface Block {
  page: string;
  /** The word behind the fence; "" for an indented block. */
  language: string;
  text: string;
  /** The comment directly above a fence, e.g. "instance". */
  label: string | undefined;
}

function blocksOf(page: string): Block[] {
  const text = read(page);
  const fences = [...text.matchAll(/(?:<!-- ([\w-]+) -->\n)?^```(\w*)\n([\s\S]*?)^```$/gm)];
  const fenced = fences.map(([, label, language, body]) => ({ page, language: language!, text: body!, label }));
  const rest = fences.reduce((left, [whole]) => left.replace(whole, ""), text);
  const indented = [...rest.matchAll(/(?:^ {4}.*\n?)+/gm)].map(([body]) => ({ page, language: "", text: body, label: undefined }));
  return [...fenced, ...indented];
}

const BLOCKS = PAGES.flatMap(blocksOf);
const proseOf = (page: string): string => read(page).replace(/^```[\s\S]*?^```$/gm, "");

function labelled(page: string, label: string): string {
  const found = BLOCKS.filter((block) => block.page === page && block.label === label);
  expect(found, `${page}: ${label}`).toHaveLength(1);
  return found[0]!.text.trimEnd();
}

const between = (text: string, name: string): string => new RegExp(`<!-- ${name} -->\\n([\\s\\S]*?)\\n<!-- /${name} -->`).exec(text)![1]!;

/** Tables without the blanks and dashes that a formatter pads them with. */
const unpadded = (text: string): string => text.replace(/^\|.*\|$/gm, (line) => line.replace(/ +\|/g, " |").replace(/-{3,}/g, "---"));

/** First cells of a Markdown table's rows below its head, without backticks. */
function firstCells(text: string, head: string): string[] {
  const [, rows] = unpadded(text).split(`| ${head} |`, 2);
  const lines = rows!.split("\n").slice(2);
  const end = lines.findIndex((line) => !line.startsWith("|"));
  return lines.slice(0, end < 0 ? undefined : end).map((line) => line.split("|")[1]!.trim().replaceAll("`", ""));
}

describe("links", () => {
  const slugOf = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");

  it.each(PAGES)("of %s lead to files and headings that exist", (page) => {
    const broken: string[] = [];
    for (const [, target] of proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target!)) continue;
      const [path, anchor] = target!.split("#") as [string, string | undefined];
      const file = path === "" ? join(ROOT, page) : resolve(ROOT, dirname(page), path);
      const headings = () => Array.from(readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm), ([, heading]) => slugOf(heading!));
      if (!existsSync(file) || (anchor !== undefined && !headings().includes(anchor))) broken.push(target!);
    }
    expect(broken).toEqual([]);
  });

  it("reach every page of docs from the index", () => {
    const linked = Array.from(read("docs/index.md").matchAll(/\]\(([\w-]+\.md)\)/g), ([, target]) => `docs/${target}`);
    expect(PAGES.filter((page) => page.startsWith("docs/") && page !== "docs/index.md" && !linked.includes(page))).toEqual([]);
  });
});

describe("commands", () => {
  /** A line as a shell splits it: quotes, and a comment at the end. */
  function words(line: string): string[] {
    const tokens = line.matchAll(/\s*(#.*$|(?:"[^"]*"|'[^']*'|[^\s"'])+)/g);
    return Array.from(tokens, ([, token]) => token!)
      .filter((token) => !token.startsWith("#"))
      .map((token) => token.replaceAll(/["']/g, ""));
  }
  const lines = BLOCKS.filter(({ language }) => language === "" || language === "sh")
    .flatMap(({ page, text }) => text.split("\n").map((line) => ({ page, line: line.trim() })))
    .flatMap(({ page, line }) => {
      const command = /(?:^|\| )envwright (.+)$/.exec(line);
      return command === null ? [] : [{ page, line: command[1]! }];
    });
  const inline = PAGES.flatMap((page) => Array.from(proseOf(page).matchAll(/`envwright ([^`]+)`/g), ([, line]) => ({ page, line: line! })));

  it("are found", () => {
    expect(lines.length).toBeGreaterThan(40);
    expect(inline.length).toBeGreaterThan(3);
  });

  it("in blocks name a verb and options that it has, with values it takes, and recipes and overrides that are valid", async () => {
    for (const { page, line } of lines) {
      const [name, ...argv] = words(line);
      if (name === "--help") continue;
      const entry = VERBS.find((verb) => verb.name === name);
      expect(entry, `${page}: envwright ${line}`).toBeDefined();
      if (argv.includes("--help")) continue;
      const verb = await entry!.load();
      const values = (() => {
        try {
          return parseOptions(verb.name, verb.options, argv) as Record<string, unknown>;
        } catch (error) {
          throw new Error(`${page}: envwright ${line}: ${(error as Error).message}`);
        }
      })();
      if ((name === "run" || name === "pretrain") && recipeNames().includes(String(values.recipe))) {
        expect(loadRecipe(String(values.recipe), values.set as string[]).recipe.name).toBe(values.recipe);
      }
    }
  });

  it("in the text name a verb that there is", () => {
    for (const { page, line } of inline) {
      expect(
        VERBS.map((verb) => verb.name),
        `${page}: envwright ${line}`,
      ).toContain(line.split(" ")[0]);
    }
  });

  it("are all told of in the README's table, and each has its section in docs/cli.md", () => {
    const names = VERBS.map((verb) => verb.name).sort();
    expect(firstCells(read("README.md"), "verb").sort()).toEqual(names);
    expect(Array.from(read("docs/cli.md").matchAll(/^## (\w+)$/gm), ([, name]) => name!).sort()).toEqual(names);
  });

  it("of npm are scripts of the package", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    expect(read("README.md")).toMatch(/^ {4}npm ci && npm start\n\n {4}npm ci && npm test$/m);
    for (const { text } of BLOCKS.filter(({ language }) => language === "")) {
      for (const [, script] of text.matchAll(/npm run (?:--\S+ )?([\w:]+)/g)) expect(Object.keys(scripts)).toContain(script);
    }
  });
});

describe("examples in YAML and JSON", () => {
  it("are recipes, matrices or configs that are accepted", () => {
    const examples = BLOCKS.filter(({ language }) => language === "yaml");
    expect(examples.length).toBeGreaterThan(3);
    for (const { page, text } of examples) {
      const value = parse(text) as Record<string, unknown>;
      if ("endpoint" in value) {
        endpointOptions(value, page);
        continue;
      }
      if ("arms" in value) {
        const matrix = parseMatrix(value, page);
        for (const { overrides } of cells(matrix)) {
          loadRecipe(
            matrix.recipe,
            Object.entries(overrides).map(([path, to]) => `${path}=${to}`),
          );
        }
        continue;
      }
      if ("status" in value) {
        // What the engineer `human` asks, as it would be read back.
        expect(humanStatus(text), page).toBe("waiting");
        expect(readHumanAnswer(text), page).toMatchObject({ config: { "5": { data_ratio: 1, hole_ratio: 0.2, wait_ratio: 0.3 } } });
        continue;
      }
      if (Object.keys(value).every((key) => ["engineer", "trainer", "serving"].includes(key))) {
        // Part of a recipe: what it says is accepted in a shipped one.
        const { engineer, trainer, serving } = value;
        if (engineer !== undefined) parseWith(engineerOptionsSchema, engineer, page);
        if (trainer !== undefined) parseWith(trainerOptionsSchema, trainer, page);
        if (serving !== undefined) parseWith(servingOptionsSchema, serving, page);
        continue;
      }
      const recipe = "stages" in value ? resolveRecipe(value, [], page) : undefined;
      const family = familyByName(recipe?.family ?? "mapf-frozenlake");
      const config = parseWith(family.configSchema, recipe?.config ?? value, page);
      expect(family.normalise(config).repairs, page).toEqual([]);
      expect(family.infeasible(config), page).toEqual([]);
    }
  });

  it("are boards and instances that are accepted as they stand", () => {
    const examples = BLOCKS.filter(({ language }) => language === "json");
    expect(examples.length).toBeGreaterThan(1);
    for (const { page, text } of examples) expect(completeInstance(JSON.parse(text)).size, page).toBe(4);
  });
});

describe("examples in TypeScript", () => {
  const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, string | { default: string }> };
  /** The source behind a subpath of the package. */
  function sourceOf(specifier: string): string {
    const entry = exports[specifier.replace("envwright", ".")];
    if (typeof entry !== "object") throw new Error(`${specifier} is not exported by the package`);
    return join(ROOT, entry.default.replace("./dist/", "src/").replace(/\.js$/, ".ts"));
  }
  const examples = BLOCKS.filter(({ language }) => language === "ts");
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "envwright-docs-"));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it("type-check against the package's exports", () => {
    const paths: Record<string, string[]> = {};
    examples.forEach(({ text }, i) => {
      for (const [, specifier] of text.matchAll(/from "(envwright[^"]*)"/g)) paths[specifier!] = [sourceOf(specifier!)];
      writeFileSync(join(folder, `example-${i}.mts`), text);
    });
    const options = { paths, typeRoots: [join(ROOT, "node_modules/@types")] };
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: join(ROOT, "tsconfig.json"), compilerOptions: options, include: ["*.mts"] }),
    );
    let output = "";
    try {
      execFileSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8", cwd: folder });
    } catch (error) {
      output = (error as { stdout: string }).stdout;
    }
    const own = output.split("\n").flatMap((line) => {
      const example = /^example-(\d+)\.mts/.exec(line);
      return example === null ? [] : [`${examples[Number(example[1])]!.page}: ${line}`];
    });
    expect(own).toEqual([]);
    expect(examples.length).toBeGreaterThan(3);
  }, 60_000);

  it("the README's runs as it stands, and finds every plan valid and optimal", async () => {
    const [example] = examples.filter(({ page }) => page === "README.md");
    const body = example!.text.replaceAll(/import \{(.*)\} from ("envwright.*");/g, (_, names: string, from: string) => {
      return `const {${names.replaceAll(" as ", ": ")}} = await load(${from});`;
    });
    const printed: unknown[][] = [];
    const AsyncFunction = (async () => undefined).constructor as new (...args: string[]) => (...args: unknown[]) => Promise<void>;
    await new AsyncFunction("load", "console", body)((specifier: string) => import(/* @vite-ignore */ sourceOf(specifier)), {
      log: (...values: unknown[]) => printed.push(values),
    });
    expect(printed).toHaveLength(100);
    for (const values of printed) expect(values.slice(-2)).toEqual([true, { makespan: true, sum_of_costs: expect.any(Boolean) }]);
  });
});

describe("docs/recipes.md", () => {
  it("holds the reference that the schema gives", () => {
    const page = "docs/recipes.md";
    if ((process.env.UPDATE_DOCS ?? "") !== "") {
      const given = `<!-- reference -->\n\n${recipeReference()}\n\n<!-- /reference -->`;
      writeFileSync(
        join(ROOT, page),
        read(page).replace(/<!-- reference -->[\s\S]*<!-- \/reference -->/, () => given),
      );
    }
    expect(unpadded(between(read(page), "reference").trim()), "UPDATE_DOCS=1 npm test writes it anew").toBe(unpadded(recipeReference()));
  });

  it("lists the shipped recipes", () => {
    expect(
      firstCells(read("docs/recipes.md"), "recipe")
        .map((cell) => /\[(.*)\]/.exec(cell)![1])
        .sort(),
    ).toEqual(recipeNames().sort());
  });
});

describe("docs/mapf-frozenlake.md", () => {
  const page = "docs/mapf-frozenlake.md";
  const board = () => instanceSchema.parse(JSON.parse(labelled(page, "instance")));

  it("shows an instance whose optimum, flags and hash are the certified ones", () => {
    const { optimum, conflict, wait_required } = certify(board());
    expect(board()).toMatchObject({ optimum, conflict, wait_required });
    expect(completeInstance(board())).toEqual(board());
  });

  it.each(["chat", "compact"] as const)("shows the %s prompt of that instance and an optimal answer to it", (rendering) => {
    expect(labelled(page, `${rendering}-prompt`)).toBe(mapfFrozenLake.prompt(board(), rendering));
    const verdict = mapfFrozenLake.verify(board(), labelled(page, `${rendering}-answer`), "stop", rendering);
    expect(verdict).toMatchObject({ code: "valid", optimal: { makespan: true, sum_of_costs: true } });
    expect(read(page)).toContain(`${mapfFrozenLake.compactWords.length} words`);
  });

  it("lists every code and every knob", () => {
    expect(firstCells(read(page), "code")).toEqual(["valid", ...mapfFrozenLake.failureCodes.map(({ code }) => code)]);
    expect(firstCells(read(page), "knob")).toEqual(mapfFrozenLake.knobs.map(({ name }) => name));
  });
});

describe("docs/engineers.md", () => {
  const page = "docs/engineers.md";

  it("lists every engineer, and the variants with their modules", () => {
    expect(firstCells(read(page), "`engineer.name`").sort()).toEqual([...ENGINEERS].sort());
    for (const { name, modules } of VARIANTS) {
      const shown = modules.map((m) => (m.module === "H" ? `H (initial: ${m.initial})` : m.module === "T" ? `T (${m.detail})` : m.module));
      expect(unpadded(read(page))).toContain(`| ${name} | ${shown.join(", ")} |`);
    }
  });

  it("shows a compact context as it is written, and the rule's answer to it", () => {
    const { prompt, answer } = engineeringDemonstration(Seed.root("docs").at(2), ["3", "4"], familyByName("mapf-frozenlake"), {
      history: true,
    });
    expect(labelled(page, "compact-context")).toBe(prompt);
    expect(labelled(page, "compact-answer")).toBe(answer);
  });
});

it("docs/models.md lists every preset with its address and the variable of its key", () => {
  const rows = Object.entries(ENDPOINT_PRESETS).map(
    ([name, { baseUrl, keyEnv, choices }]) => `| \`${name}\` | \`${baseUrl}\` | \`${keyEnv}\` | ${choices} |`,
  );
  const page = unpadded(read("docs/models.md")).replaceAll(/\| +/g, "| ");
  for (const row of rows) expect(page).toContain(row);
});

it("docs/loop.md tells of every type of event", () => {
  const table = firstCells(read("docs/loop.md"), "type").flatMap((cell) => cell.split(", "));
  expect(table.sort()).toEqual(eventSchema.options.map((option) => option.shape.type.value).sort());
});

it("docs/run-folder.md names every file that the loop writes", () => {
  const steps = readdirSync(join(ROOT, "src/loop/steps")).map((file) => read(`src/loop/steps/${file}`));
  const written = Array.from(steps.join("\n").matchAll(/"([\w-]+\.(?:json|parquet|md))"/g), ([, name]) => name!);
  expect(written.length).toBeGreaterThan(10);
  expect([...new Set(written)].filter((name) => !read("docs/run-folder.md").includes(name))).toEqual([]);
});

it("docs/grpo.md explains every metric", () => {
  const sample = { tokens: Int32Array.of(1), logProbs: Float32Array.of(-1), finishReason: "stop" as const };
  const instance = { id: "a", hash: "a" };
  const verdict = { instance: "a", ok: true, code: "valid", reason: "", counts: {}, optima: {}, optimal: {} };
  const reward = { total: 1, accuracy: 1, length: 1, weight: 1 };
  const score = { completions: [{ verdict, reward, advantage: 0 }], zeroVariance: true };
  const group = { instance, stratum: "<stratum>", prompt: Int32Array.of(1), samples: [sample], texts: [""], score };
  const options = grpoOptionsSchema.parse({});
  const logged = { ...rolloutMetrics([group], "makespan"), ...ratioMetrics([], [], [], options) };
  const told = firstCells(between(read("docs/grpo.md"), "metrics"), "metric").flatMap((cell) => cell.split(", "));
  const ofUpdates = ["loss", "grad_norm", "learning_rate", "replay_loss", "kl"];
  expect(told.sort()).toEqual([...Object.keys(logged), ...ofUpdates].sort());
});

describe("docs/environments.md", () => {
  it("shows the example family as it stands in its file", () => {
    expect(labelled("docs/environments.md", "small-change")).toBe(read("docs/examples/small-change.ts").trimEnd());
  });

  it("has a recipe for it whose configs the family takes", () => {
    const { recipe } = loadRecipe("docs/examples/small-change.yaml");
    expect(recipe.family).toBe(smallChange.name);
    for (const config of [recipe.config, recipe.pretrain!.config]) {
      expect(smallChange.infeasible(smallChange.configSchema.parse(config))).toEqual([]);
    }
  });

  const row = (data_ratio: number) => ({ data_ratio, trap_ratio: 0.5 });
  const config = { amounts: { "20": row(0.25), "40": row(0.25), "80": row(0.5) } };
  familyConformance(smallChange, config, {
    readPrompt: (prompt, rendering) => {
      const numbers = Array.from(prompt.matchAll(/\d+/g), ([digits]) => Number(digits));
      return rendering === "compact"
        ? { coins: numbers.slice(0, 3), amount: numbers[3] }
        : { coins: numbers.slice(1, 4), amount: numbers[0] };
    },
    problem: ({ coins, amount }) => ({ coins, amount }),
    quotas: (instances) => {
      const found = (high: number, trap: boolean) =>
        instances.filter((i) => i.amount > high / 2 && i.amount <= high && i.trap === trap).length;
      return [
        ["traps up to 20", found(20, true), 8],
        ["traps up to 40", found(40, true), 8],
        ["traps up to 80", found(80, true), 15],
        ["others up to 80", found(80, false), 15],
      ];
    },
  });
});
