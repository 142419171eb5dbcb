import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { BoundaryError, type InstanceBase, Seed } from "../../core/index.js";
import type { TrainStageRequest } from "../trainer.js";
import { type EngineAdapter, EngineTrainer } from "./engine-trainer.js";
import type { RunEngine } from "./run-process.js";

const adapter: EngineAdapter<InstanceBase> = {
  kind: "verl",
  stepsPerStage: 1,
  stepSize: 1,
  retries: 2,
  rewardHost: "127.0.0.1",
  prepare: async (_request, work) => ({
    command: { command: "engine", args: [], cwd: work, env: {} },
    metrics: join(work, "metrics.jsonl"),
    checkpoint: join(work, "checkpoint"),
    discard: join(work, "checkpoint"),
  }),
  readMetrics: () => undefined,
};

async function stage(run: RunEngine): Promise<unknown> {
  const dir = await mkdtemp(join(tmpdir(), "engine-trainer-"));
  try {
    const trainer = new EngineTrainer(
      adapter,
      async () => ({ url: "http://127.0.0.1:1", token: "", emaValid: () => 0, close: async () => {} }),
      run,
    );
    const scorer = { state: () => ({ ema_valid: 0 }), load: () => {} };
    const request = { stage: 0, seed: Seed.root("engine-trainer"), instances: [], prompt: () => "", stratum: () => "", scorer };
    return await trainer
      .trainStage({ ...request, from: dir, to: join(dir, "to") } as unknown as TrainStageRequest<InstanceBase>)
      .catch((error: unknown) => error);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

test("a log that cannot be written fails the stage with its reason, and not as a rejection that nobody handles", async () => {
  const error = await stage(async ({ cwd }, { onLine }) => {
    // A folder in the log's place: appending fails long before the engine ends.
    await mkdir(join(cwd, "log.txt"));
    onLine("a line");
    await sleep(50);
    return { status: 0, ok: true, tail: [] };
  });
  expect((error as NodeJS.ErrnoException).code).toBe("EISDIR");
});

test("an engine's own failure is tried again within the budget; one of another boundary, where it may still be running, never", async () => {
  let runs = 0;
  const failing = (boundary: string): RunEngine => {
    runs = 0;
    return async () => {
      runs++;
      throw new BoundaryError({ boundary, message: "lost" });
    };
  };
  expect(await stage(failing("verl"))).toMatchObject({ boundary: "verl" });
  expect(runs).toBe(3);
  expect(await stage(failing("ray-job"))).toMatchObject({ boundary: "ray-job" });
  expect(runs).toBe(1);
});

test("the log of an attempt that failed stays in front of the next one's", async () => {
  const logs: string[] = [];
  await stage(async ({ cwd }, { onLine }) => {
    onLine(`attempt ${logs.length + 1}`);
    await sleep(50);
    logs.push(readFileSync(join(cwd, "log.txt"), "utf8"));
    throw new BoundaryError({ boundary: "verl", message: "lost" });
  });
  expect(logs).toEqual(["attempt 1\n", "attempt 1\nattempt 2\n", "attempt 1\nattempt 2\nattempt 3\n"]);
});
