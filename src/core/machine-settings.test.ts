import { expect, test } from "vitest";
import { changedMachineSettings, isMachineSetting, MACHINE_SETTINGS, toldSetting, withoutMachineSettings } from "./machine-settings.js";
import { recipeSchema, trlTrainerSchema, verlTrainerSchema } from "./recipe.js";
import { servingOptionsSchema } from "./serving-options.js";

test("every setting of the machine is an option of some trainer or server", () => {
  const trainer = new Set([trlTrainerSchema, verlTrainerSchema].flatMap((schema) => Object.keys(schema.shape)));
  const serving = new Set(servingOptionsSchema.options.flatMap((schema) => Object.keys(schema.shape)));
  const known = MACHINE_SETTINGS.filter((path) => {
    const [first, second] = path.split(".");
    return second === undefined ? first! in recipeSchema.shape : (first === "trainer" ? trainer : serving).has(second);
  });
  expect(known).toEqual(MACHINE_SETTINGS);
});

test("what is trained, on what and by whom is none of them", () => {
  for (const path of ["seed", "stages", "base", "trainer", "trainer.kind", "trainer.grpo.steps", "serving", "engineer.name", "workersx"])
    expect([path, isMachineSetting(path)]).toEqual([path, false]);
  for (const path of ["workers", "trainer.python", "trainer.environment.CUDA_VISIBLE_DEVICES", "serving.command.0"])
    expect([path, isMachineSetting(path)]).toEqual([path, true]);
});

test("recipes that differ in them alone are the same without them", () => {
  const config = { agents: [2], sizes: { "3": { data_ratio: 1, hole_ratio: 0.11, wait_ratio: 0 } } };
  const recipe = (trainer: object, more: object = {}) =>
    recipeSchema.parse({ name: "r", stages: 1, instances: 4, config, base: "b", trainer: { kind: "trl", ...trainer }, ...more });
  const plain = withoutMachineSettings(recipe({}));
  expect(withoutMachineSettings(recipe({ python: "/venv/bin/python", micro_batch: 2 }, { workers: 4 }))).toEqual(plain);
  expect(withoutMachineSettings(recipe({ dtype: "bfloat16" }))).not.toEqual(plain);
});

test("variables of an environment are told by their names alone", () => {
  const set = ["trainer.environment.HF_TOKEN=hf_secret", 'serving.environment={"KEY": "secret"}', "trainer.micro_batch=2"];
  expect(set.map(toldSetting)).toEqual(["trainer.environment.HF_TOKEN=…", "serving.environment=…", "trainer.micro_batch=2"]);
});

test("what may change the answers is no setting without effect, though a run may go on with another: a server's command, a launcher", () => {
  const config = { agents: [2], sizes: { "3": { data_ratio: 1, hole_ratio: 0.11, wait_ratio: 0 } } };
  const recipe = (trainer: object, serving: object = {}) =>
    recipeSchema.parse({
      ...{ name: "r", stages: 1, instances: 4, config, base: "b" },
      trainer: { kind: "trl", ...trainer },
      serving: { kind: "vllm", ...serving },
    });
  const plain = withoutMachineSettings(recipe({}));
  for (const other of [recipe({ launch: ["accelerate", "launch"] }), recipe({}, { command: ["wrapper"] }), recipe({}, { max_failed: 0.5 })])
    expect(withoutMachineSettings(other)).not.toEqual(plain);
  for (const path of ["serving.extra_args", "serving.max_failed"]) expect(isMachineSetting(path)).toBe(false);
});

test("a cell is gone on with under the settings that its experiment gives now", () => {
  const config = { agents: [2], sizes: { "3": { data_ratio: 1, hole_ratio: 0.11, wait_ratio: 0 } } };
  const recipe = (trainer: object, workers = 0) =>
    recipeSchema.parse({ name: "r", stages: 1, instances: 4, config, base: "b", workers, trainer: { kind: "trl", ...trainer } });
  const begun = recipe({ retries: 0 });
  expect(changedMachineSettings(begun, begun)).toEqual([]);
  // How many workers there are is asked for apart.
  expect(changedMachineSettings(recipe({ python: "/venv/bin/python", micro_batch: 2, retries: 3 }, 4), begun)).toEqual([
    'trainer.python="/venv/bin/python"',
    "trainer.micro_batch=2",
    "trainer.retries=3",
  ]);
});
