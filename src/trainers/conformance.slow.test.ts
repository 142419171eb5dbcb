import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BoundaryError, grpoOptionsSchema, InterruptedError, trlTrainerSchema, verlTrainerSchema } from "../core/index.js";
import type { Instance } from "../environments/mapf-frozenlake/index.js";
import { Engine, readCheckpoint } from "../nn/index.js";
import { inFolder, type TrainerUnderTest, trained, trainerConformance } from "./conformance.js";
import { EmbeddedTrainer, EngineTrainer, processRunner, TrlAdapter, VerlAdapter } from "./index.js";
import { BASE, lakeStage, newScorer, openReward } from "./testing/lake-stage.js";

const FAKE = join(import.meta.dirname, "testing/fake-engine.mjs");
const grpo = { steps: 2, prompts: 4, group: 2, updates: 2, max_tokens: 24, replay_every: 0 };

const trl = (environment: Record<string, string> = {}, retries = 0) =>
  new EngineTrainer(
    new TrlAdapter<Instance>(trlTrainerSchema.parse({ kind: "trl", python: FAKE, grpo, retries, environment }), "compact"),
    openReward,
    processRunner("trl", 1000),
  );
const verl = () =>
  new EngineTrainer(
    new VerlAdapter<Instance>(verlTrainerSchema.parse({ kind: "verl", python: FAKE, grpo, gpus_per_node: 1, micro_batch: 2, retries: 0 }), {
      family: "mapf-frozenlake",
      rendering: "compact",
    }),
    openReward,
    processRunner("verl", 1000),
  );

trainerConformance("embedded", async () => {
  const { config: model } = await readCheckpoint(BASE);
  const engine = await Engine.start({ config: model, workers: 1 });
  const trainer = new EmbeddedTrainer<Instance>(engine, { grpo: grpoOptionsSchema.parse(grpo), objective: "makespan" });
  return { trainer, request: await lakeStage(), completions: 16, close: () => engine.close() } as unknown as TrainerUnderTest;
});
for (const open of [trl, verl]) {
  trainerConformance(`${open.name}, with an engine process`, async () => {
    const trainer = open();
    return { trainer, request: await lakeStage(), completions: 16, close: () => trainer.close() } as unknown as TrainerUnderTest;
  });
}

describe("an engine process that fails", () => {
  test("is named in the error, with the end of its log, and leaves no checkpoint", () =>
    inFolder(async (dir) => {
      const to = join(dir, "checkpoint");
      const failed = trained({ trainer: trl({ FAKE_FAULT: "crash" }), request: await lakeStage() }, { to });
      const error = await failed.catch((e: unknown) => e);
      expect(error).toBeInstanceOf(BoundaryError);
      expect((error as BoundaryError).boundary).toBe("trl");
      expect((error as BoundaryError).explain()).toContain("CUDA out of memory");
      expect(existsSync(to)).toBe(false);
      expect(readFileSync(join(dir, "checkpoint.trl", "log.txt"), "utf8")).toContain("CUDA out of memory");
    }));

  test("is begun again within the budget, and what the failed attempt told is void", () =>
    inFolder(async (dir) => {
      const trainer = trl({ FAKE_FAULT: "crash", FAKE_ONCE: join(dir, "failed-once") }, 1);
      const { steps, rollouts, restarts } = await trained({ trainer, request: await lakeStage() }, { to: join(dir, "checkpoint") });
      expect(restarts).toHaveLength(1);
      expect(restarts[0]).toContain("attempt 1 of 2");
      expect(steps.map((s) => s.step)).toEqual([0, 1]);
      expect(rollouts).toHaveLength(16);
    }));

  test("that ends well without weights has failed all the same", () =>
    inFolder(async (dir) => {
      const failed = trained({ trainer: trl({ FAKE_FAULT: "empty" }), request: await lakeStage() }, { to: join(dir, "checkpoint") });
      await expect(failed).rejects.toThrow(/left no config.json/);
    }));

  test("whose metrics hold a NaN, or a line that is no JSON, is not one that fails: the stage stands, the line is in the log", () =>
    inFolder(async (dir) => {
      const to = join(dir, "checkpoint");
      const { steps, log } = await trained({ trainer: trl({ FAKE_FAULT: "nan" }), request: await lakeStage() }, { to });
      expect(steps.map((s) => s.step)).toEqual([0, 1]);
      expect(steps.every((s) => !("grad_norm" in s))).toBe(true);
      expect(log.filter((line) => line.includes("cannot be read"))).toHaveLength(2);
      expect(existsSync(to)).toBe(true);
    }));

  test("that cannot be started is named", () =>
    inFolder(async (dir) => {
      const options = trlTrainerSchema.parse({ kind: "trl", python: "no-such-python", grpo, retries: 0 });
      const trainer = new EngineTrainer(new TrlAdapter<Instance>(options, "compact"), openReward, processRunner("trl"));
      await expect(trained({ trainer, request: await lakeStage() }, { to: join(dir, "c") })).rejects.toThrow(
        /no-such-python cannot be started/,
      );
    }));

  test("cancelled, its children end with it", () =>
    inFolder(async (dir) => {
      const controller = new AbortController();
      const stopped = trained(
        { trainer: trl({ FAKE_FAULT: "child" }), request: await lakeStage() },
        { to: join(dir, "checkpoint"), signal: controller.signal, onStep: () => controller.abort() },
      );
      // The child holds the pipes: were it left, the trainer would wait for it.
      await expect(stopped).rejects.toThrow(InterruptedError);
    }));
});

test("the moving average goes with the checkpoint from stage to stage, as the scorer would move it", () =>
  inFolder(async (dir) => {
    const asked = await lakeStage();
    await trained({ trainer: trl(), request: asked }, { to: join(dir, "first") });
    const expected = newScorer();
    // "<next>" keeps both agents where they are and "nothing" is no plan: no answer is valid.
    expected.update(0);
    expected.update(0);
    expect(asked.scorer.state()).toEqual(expected.state());
    expect(JSON.parse(readFileSync(join(dir, "first", "engine_state.json"), "utf8"))).toMatchObject({ global_step: 2 });
  }));

test("options that TRL has no counterpart for are refused when the trainer is opened", () => {
  const open = (over: object) => () => new TrlAdapter(trlTrainerSchema.parse({ kind: "trl", grpo: { ...grpo, ...over } }), "compact");
  expect(open({ optimiser: { name: "muon" } })).toThrow(/muon/);
  expect(open({ tokens: 100 })).toThrow(/tokens/);
  expect(open({ prompts: 5, group: 3 })).toThrow(/ 15,/);
});
