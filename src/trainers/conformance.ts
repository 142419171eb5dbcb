/**
 * What every trainer has to keep, as tests: stage in, checkpoint and metrics out; the next stage starts from the last; cancelling ends all
 * that was started and leaves no checkpoint; rollouts come once each, with verdicts. Called from a trainer's test file with a way to open it.
 * Trainers outside of this process have more to show: see `engineConformance`.
 */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type InstanceBase, InterruptedError, type Metrics, type Rollout } from "../core/index.js";
import type { Trainer, TrainStageRequest } from "./trainer.js";

export interface TrainerUnderTest<I extends InstanceBase = InstanceBase> {
  trainer: Trainer<I>;
  /** All of a request but the folders and the listeners; a few seconds of work. */
  request: Omit<TrainStageRequest<I>, "to" | "signal" | "onStep" | "onRollouts" | "onLog" | "onRestart">;
  /** Completions that a stage samples. */
  completions: number;
  close(): Promise<void>;
}

export async function inFolder(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "trainer-"));
  try {
    await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Runs one stage and gathers what it told. */
export async function trained<I extends InstanceBase>(
  { trainer, request }: Pick<TrainerUnderTest<I>, "trainer" | "request">,
  rest: Pick<TrainStageRequest<I>, "to"> & Partial<TrainStageRequest<I>>,
): Promise<{ steps: Metrics[]; rollouts: Rollout[]; log: string[]; restarts: string[] }> {
  const told = { steps: [] as Metrics[], rollouts: [] as Rollout[], log: [] as string[], restarts: [] as string[] };
  await trainer.trainStage({
    ...request,
    onStep: (metrics) => told.steps.push(metrics),
    onRollouts: (groups) => {
      told.rollouts.push(...groups.flat());
    },
    onLog: (line) => told.log.push(line),
    onRestart: (reason) => {
      told.restarts.push(reason);
      told.steps.length = 0;
    },
    ...rest,
  });
  return told;
}

export function trainerConformance(name: string, open: () => Promise<TrainerUnderTest>): void {
  describe(`trainer ${name}`, () => {
    test("a stage gives a checkpoint, metrics of every step and every rollout once", () =>
      inFolder(async (dir) => {
        const subject = await open();
        try {
          const to = join(dir, "checkpoint");
          const { steps, rollouts } = await trained(subject, { to });
          expect(await readdir(to)).toEqual(expect.arrayContaining(["config.json", "model.safetensors", "tokenizer.json"]));
          expect(steps.map((s) => s.step)).toEqual(Array.from({ length: subject.trainer.stepsPerStage }, (_, i) => i));
          for (const step of steps) {
            for (const key of ["reward", "valid", "completions/mean_length", "completion_tokens"])
              expect(step[key], key).toBeTypeOf("number");
          }
          expect(rollouts).toHaveLength(subject.completions);
          expect(new Set(rollouts.map((r) => r.id)).size).toBe(subject.completions);
          const known = new Set(subject.request.instances.map((i) => i.id));
          for (const rollout of rollouts) {
            expect(known.has(rollout.instance)).toBe(true);
            expect(rollout.verdict).toBeDefined();
            expect(rollout.reward).toBeDefined();
          }
        } finally {
          await subject.close();
        }
      }));

    test("the next stage starts from the last one's folder and counts its steps on", () =>
      inFolder(async (dir) => {
        const subject = await open();
        try {
          await trained(subject, { to: join(dir, "first") });
          const { steps } = await trained(subject, { from: join(dir, "first"), to: join(dir, "second"), stage: 1 });
          expect(steps[0]!.step).toBe(subject.trainer.stepsPerStage);
          expect(steps[0]!.stage).toBe(1);
          expect(existsSync(join(dir, "second", "model.safetensors"))).toBe(true);
        } finally {
          await subject.close();
        }
      }));

    test("cancelled, it says so, and leaves no checkpoint", () =>
      inFolder(async (dir) => {
        const subject = await open();
        try {
          const controller = new AbortController();
          const to = join(dir, "checkpoint");
          const stopped = trained(subject, { to, signal: controller.signal, onStep: () => controller.abort() });
          await expect(stopped).rejects.toThrow(InterruptedError);
          expect(existsSync(to)).toBe(false);
          await expect(trained(subject, { to, signal: AbortSignal.abort() })).rejects.toThrow(InterruptedError);
        } finally {
          await subject.close();
        }
      }));
  });
}
