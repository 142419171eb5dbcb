import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ConfigError, type InstanceBase, Seed, trlTrainerSchema } from "../../core/index.js";
import type { TrainStageRequest } from "../trainer.js";
import { grpoArguments } from "./grpo-arguments.js";
import { TrlAdapter } from "./trl-adapter.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-trl-adapter-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const trl = (over: object) => trlTrainerSchema.parse({ kind: "trl", ...over });

test("grpo_config comes last among the arguments of GRPOConfig", () => {
  const plain = grpoArguments(trl({}), "out", 7);
  const more = { gradient_checkpointing: true, use_vllm: true, vllm_mode: "colocate", bf16: true };
  expect(plain).toMatchObject({ output_dir: "out", seed: 7, gradient_checkpointing: false, bf16: false });
  expect(grpoArguments(trl({ grpo_config: more }), "out", 7)).toEqual({ ...plain, ...more });
});

test("what the run sets itself, or another option says, is refused in grpo_config by name, when the trainer is opened", () => {
  const open = (config: object) => () => new TrlAdapter(trl({ grpo_config: config }), "compact");
  for (const [config, option] of [
    [{ optim: "adafactor" }, "trainer.grpo.optimiser.name"],
    [{ no_cuda: true }, "trainer.device"],
    [{ generation_kwargs: { temperature: 0.1 } }, "trainer.grpo.temperature"],
  ] as const) {
    expect(open(config)).toThrow(`is said by ${option}`);
  }
  expect(open({ generation_kwargs: { top_p: 0.9 } })).not.toThrow();
  expect(open({ use_vllm: true })).not.toThrow();
  expect(open({ output_dir: "elsewhere" })).toThrow(ConfigError);
  expect(open({ output_dir: "elsewhere", max_steps: 3, use_vllm: true })).toThrow(
    /^trainer.grpo_config.output_dir is set by the run itself; trainer.grpo_config.max_steps is said by trainer.grpo.steps$/,
  );
  // All that it passes by itself is its own, but for these.
  const free = new Set(["bf16", "gradient_checkpointing", "report_to", "disable_tqdm", "top_k", "top_p", "lr_scheduler_type"]);
  for (const name of Object.keys(grpoArguments(trl({}), "", 0))) {
    if (!free.has(name) && name !== "dataloader_pin_memory") expect(open({ [name]: 1 }), name).toThrow(name);
  }
});

test("the launcher beside the engine's Python starts the script", async () => {
  mkdirSync(join(dir, "bin"));
  for (const name of ["python", "accelerate"]) writeFileSync(join(dir, "bin", name), "");
  const options = trl({ python: join(dir, "bin/python"), launch: ["accelerate", "launch", "--config_file", "/gpus.yaml"] });
  const request = { seed: Seed.root("trl"), instances: [], from: "base" } as unknown as TrainStageRequest<InstanceBase>;
  const { command } = await new TrlAdapter(options, "compact").prepare(request, dir, { url: "http://127.0.0.1:1", token: "" });
  expect(command.command).toBe(join(dir, "bin/accelerate"));
  expect(command.args).toEqual(["launch", "--config_file", "/gpus.yaml", "-m", "envwright.train_trl", join(dir, "config.json")]);
  expect(JSON.parse(readFileSync(join(dir, "config.json"), "utf8")).grpo).not.toHaveProperty("grpo_config");
});
