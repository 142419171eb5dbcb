/** A recipe small enough for a test, with its base checkpoint: an untrained model, which says nothing right but says it in the language. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pretrainOptionsSchema, Seed } from "../src/core/index.js";
import { familyByName } from "../src/environments/index.js";
import { newModel } from "../src/loop/index.js";
import { writeCheckpoint } from "../src/nn/index.js";

export interface TestBench {
  dir: string;
  /** Path of the recipe; its base lies beside it. */
  recipe: string;
}

export async function untrainedBench(options: { stages: number; steps: number }): Promise<TestBench> {
  const dir = mkdtempSync(join(tmpdir(), "envwright-cli-"));
  const family = familyByName("mapf-frozenlake");
  const model = { hidden_size: 32, layers: 1, heads: 1, kv_heads: 1, head_dim: 32, intermediate_size: 32 };
  const { tokenizer, modelConfig, parameters } = newModel(family, pretrainOptionsSchema.parse({ config: {}, model }), Seed.root("test"));
  await writeCheckpoint(join(dir, "base"), { config: modelConfig, parameters, tokenizer });
  const recipe = {
    name: "test",
    stages: options.stages,
    instances: 12,
    initial: "given",
    config: {
      agents: [2],
      sizes: { 3: { data_ratio: 0.5, hole_ratio: 0.11, wait_ratio: 0.3 }, 4: { data_ratio: 0.5, hole_ratio: 0.13, wait_ratio: 0.3 } },
    },
    base: "base",
    validation: { count: 12, max_tokens: 12 },
    trainer: { kind: "embedded", grpo: { steps: options.steps, prompts: 4, group: 2, max_tokens: 12, replay_every: 2, replay_batch: 2 } },
    workers: 1,
  };
  writeFileSync(join(dir, "test.json"), JSON.stringify(recipe));
  return { dir, recipe: join(dir, "test.json") };
}
