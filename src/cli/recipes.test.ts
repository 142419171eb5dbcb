import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { ConfigError, InputError } from "../core/index.js";
import { checkRecipe, withAbsolutePaths } from "../loop/index.js";
import { loadRecipe, readText, readYaml, recipeNames } from "./recipes.js";

const attempt = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};
const minimal = "name: mine\nstages: 2\ninstances: 10\nconfig: { a: 1 }\nbase: checkpoints/base\n";
function file(text: string, name = "mine.yaml"): string {
  const path = join(mkdtempSync(join(tmpdir(), "envwright-recipe-")), name);
  writeFileSync(path, text);
  return path;
}

test("every shipped recipe is valid and found by its name", () => {
  expect(recipeNames()).toContain("tiny");
  for (const name of recipeNames()) expect(loadRecipe(name).recipe.name).toBe(name);
});

test("an unknown name is refused with the nearest recipe", () => {
  expect(() => loadRecipe("tinny")).toThrow(InputError);
  expect(() => loadRecipe("tinny")).toThrow(/did you mean "tiny"\?/);
});

test("overrides reach any depth, also where the recipe leaves the defaults unsaid", () => {
  const { recipe, dir } = loadRecipe(file(minimal), [
    "trainer.grpo.optimiser.lr=1e-3",
    "stages=5",
    "config.sizes.3.wait_ratio=0.5",
    "engineer.guardrails.rollback=true",
    "validation={count: 30, temperature: 1}",
  ]);
  expect(recipe.trainer.grpo.optimiser.lr).toBe(1e-3);
  expect(recipe.trainer.grpo.steps).toBe(30);
  expect(recipe.stages).toBe(5);
  expect(recipe.config).toEqual({ a: 1, sizes: { 3: { wait_ratio: 0.5 } } });
  expect(recipe.engineer.guardrails.rollback).toBe(true);
  expect(recipe.validation).toMatchObject({ count: 30, temperature: 1 });
  expect(dir).not.toBe(process.cwd());
});

test("a value is typed by the schema: text stays text even when it looks like a number", () => {
  expect(loadRecipe(file(minimal), ["name=12", "description=yes: no"]).recipe).toMatchObject({ name: "12", description: "yes: no" });
});

test("the launcher's files on the command line start where one stands, in a recipe from its file", () => {
  const trl = [
    "trainer.kind=trl",
    "trainer.python=node_modules/.bin/vitest",
    "trainer.launch=[accelerate, launch, --config_file, package.json]",
  ];
  const { recipe } = loadRecipe(file(minimal), trl);
  expect(recipe.trainer).toMatchObject({
    python: resolve("node_modules/.bin/vitest"),
    launch: ["accelerate", "launch", "--config_file", resolve("package.json")],
  });
  const single = loadRecipe(file(minimal), [...trl, "trainer.launch.4=biome.json", "trainer.launch.0=node_modules/.bin/tsc"]).recipe;
  expect(single.trainer).toMatchObject({ launch: [resolve("node_modules/.bin/tsc"), "launch", "--config_file", resolve("package.json"), resolve("biome.json")] }); // biome-ignore format: one list
  // A bare word is a subcommand, also where a file is called so.
  const bare = loadRecipe(file(minimal), [...trl, "trainer.launch.1=LICENSE"]).recipe;
  expect(bare.trainer).toMatchObject({ launch: ["accelerate", "LICENSE", "--config_file", resolve("package.json")] });
  const written = file(`${minimal}trainer: { kind: trl, launch: [accelerate, launch, --config_file, gpus.yaml] }\n`);
  writeFileSync(join(written, "../gpus.yaml"), "");
  const found = loadRecipe(written);
  expect(withAbsolutePaths(found.recipe, found.dir).trainer).toMatchObject({
    launch: ["accelerate", "launch", "--config_file", resolve(written, "../gpus.yaml")],
  });
});

test("what grpo_config may not set is refused with the recipe, before a run has a folder", () => {
  const { recipe } = loadRecipe("tiny-trl", ["trainer.grpo_config={use_vllm: true, output_dir: here}"]);
  expect(() => checkRecipe(recipe)).toThrow(/^trainer.grpo_config.output_dir is set by the run itself$/);
  checkRecipe(loadRecipe("tiny-trl", ["trainer.grpo_config.use_vllm=true"]).recipe);
});

test("an option of another kind of trainer is said to be that, and what is known is what this kind has, once", () => {
  const trl = ["trainer.kind=trl"];
  expect(() => loadRecipe(file(minimal), [...trl, "trainer.thinking=false"])).toThrow(
    /"trainer.thinking" is an option of trainer.kind verl, and trainer.kind is trl \(known: kind, grpo, python, [^)]*grpo_config\)$/,
  );
  expect(() => loadRecipe(file(minimal), ["trainer.retries=2"])).toThrow(
    /"trainer.retries" is an option of trainer.kind trl and verl, and trainer.kind is embedded \(known: kind, grpo\)/,
  );
  const known = /\(known: ([^)]*)\)/.exec(
    String(attempt(() => loadRecipe(file(minimal), [...trl, "trainer.qqqqqqqqqqqqqqqqqqqq=1"]))),
  )![1]!;
  expect(known.split(", ")).toEqual([...new Set(known.split(", "))]);
  expect(known).not.toContain("overrides");
  expect(() => loadRecipe(file(minimal), [...trl, "trainer.grpo.stepz=1"])).toThrow(/did you mean "steps"/);
  expect(() => loadRecipe("paper-verl", ["serving.weights=update"])).toThrow(/"serving.weights" is an option of serving.kind sglang/);
});

test("paths on the command line start where one stands", () => {
  for (const [given, absolute] of [
    ["replay:calls", `replay:${resolve("calls")}`],
    ['"policy.yaml"', resolve("policy.yaml")],
    ["ollama:qwen3:4b", "ollama:qwen3:4b"],
  ]) {
    expect(loadRecipe(file(minimal), [`engineer.policy=${given}`]).recipe.engineer.policy).toBe(absolute);
  }
  expect(loadRecipe(file(minimal), ["base=some/where"]).recipe.base).toBe(resolve("some/where"));
  expect(loadRecipe(file(minimal)).recipe.base).toBe("checkpoints/base");
});

test.each([
  ["trainer.grpo.stepz=3", /unknown key "trainer.grpo.stepz", did you mean "steps"/],
  ["stage=3", /unknown key "stage", did you mean "stages"/],
  ["stages=many", /"stages".*many/],
  ["stages.first=1", /nothing called "first"/],
  ["stages", /not of the form path=value/],
])("--set %s is refused", (override, message) => {
  expect(() => loadRecipe(file(minimal), [override])).toThrow(InputError);
  expect(() => loadRecipe(file(minimal), [override])).toThrow(message);
});

test("an override can supply what the recipe lacks", () => {
  expect(loadRecipe(file(minimal.replace(/base.*\n/, "")), ["base=x"]).recipe.base).toBe(resolve("x"));
});

test("a file that is not there and a folder in place of a file are told apart", () => {
  expect(() => readYaml("/nowhere/a.yaml")).toThrow(/\/nowhere\/a\.yaml: no such file/);
  expect(() => readText(tmpdir(), "a text")).toThrow(/: a folder, not a file/);
  expect(() => readText(tmpdir(), "a text")).toThrow(InputError);
});

test("YAML that cannot be read is refused with its line", () => {
  expect(() => loadRecipe(file("name: a\n  stages: [\n"))).toThrow(ConfigError);
  expect(() => loadRecipe(file("name: a\n  stages: [\n"))).toThrow(/line \d/);
});
