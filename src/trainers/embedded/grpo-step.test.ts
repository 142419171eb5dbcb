import { describe, expect, it } from "vitest";
import { type GroupScore, type GrpoOptions, grpoOptionsSchema, type Verdict } from "../../core/index.js";
import { optimiserBatches, ratioMetrics, rolloutMetrics, rolloutRecords, type ScoredGroup } from "./grpo-step.js";

const options = (changes: Partial<GrpoOptions> = {}): GrpoOptions => ({
  ...grpoOptionsSchema.parse({ updates: 2, max_tokens: 10 }),
  ...changes,
});

function verdict(ok: boolean): Verdict {
  return { instance: "i", ok, code: ok ? "valid" : "hole", reason: "", counts: {}, optima: { makespan: 3 }, optimal: { makespan: ok } };
}

/** A group whose rewards are given; every completion has `length` tokens and ends as `finish` says. */
function group(
  rewards: number[],
  lengths: number[],
  finish: ("stop" | "length")[] = rewards.map(() => "stop"),
): ScoredGroup<{ id: string; hash: string }> {
  const mean = rewards.reduce((a, b) => a + b, 0) / rewards.length;
  const zeroVariance = rewards.every((r) => r === rewards[0]);
  const score: GroupScore = {
    zeroVariance,
    completions: rewards.map((r) => ({
      verdict: verdict(r > 0),
      reward: { total: r, accuracy: r, length: 0.5, weight: 0.9 },
      advantage: zeroVariance ? 0 : r - mean,
    })),
  };
  return {
    instance: { id: "i", hash: "h" },
    stratum: "4",
    prompt: Int32Array.of(7, 8, 9),
    samples: lengths.map((n, i) => ({
      tokens: new Int32Array(n).fill(i + 1),
      logProbs: new Float32Array(n).fill(-1),
      finishReason: finish[i]!,
    })),
    texts: lengths.map(String),
    score,
  };
}

describe("one GRPO step", () => {
  it("leaves groups without variance out of the optimiser steps and of the normalisation", () => {
    const batches = optimiserBatches([group([1, 1], [4, 4]), group([1, 0], [2, 6])], options({ loss: "dapo", updates: 1 }));
    expect(batches).toHaveLength(1);
    expect(batches[0]).toHaveLength(2);
    // dapo over the 8 tokens of the one group that is left
    expect(batches[0]![0]!.weights[0]).toBeCloseTo(1 / 8, 6);
    const kept = optimiserBatches(
      [group([1, 1], [4, 4]), group([1, 0], [2, 6])],
      options({ loss: "dapo", updates: 1, zero_variance: "keep" }),
    );
    expect(kept[0]).toHaveLength(4);
    expect(kept[0]![0]!.weights[0]).toBeCloseTo(1 / 16, 6);
  });

  it("makes no more optimiser steps than there are groups, and each batch weighs as much as any", () => {
    const batches = optimiserBatches([group([1, 0], [2, 6])], options({ loss: "dapo", updates: 4 }));
    expect(batches).toHaveLength(1);
    const total = batches[0]!.reduce((sum, s) => sum + s.weights.reduce((a, b) => a + b, 0), 0);
    expect(total).toBeCloseTo(1, 6);
    expect(optimiserBatches([group([1, 1], [2, 2])], options({ updates: 4 }))).toEqual([]);
  });

  it("keeps the completions of one group in one optimiser step", () => {
    const batches = optimiserBatches([group([1, 0], [2, 2]), group([0, 1], [3, 3]), group([1, 0], [4, 4])], options());
    expect(batches.map((b) => b.map((s) => s.weights.length))).toEqual([
      [2, 2, 4, 4],
      [3, 3],
    ]);
  });

  it("joins prompt and completion and carries the sampler's log-probabilities and the group's advantage to every token", () => {
    const sequence = optimiserBatches([group([1, 0], [2, 3])], options({ updates: 1 }))[0]![1]!;
    expect([...sequence.tokens]).toEqual([7, 8, 9, 2, 2, 2]);
    expect(sequence.promptLength).toBe(3);
    expect([...sequence.advantages!]).toEqual([-0.5, -0.5, -0.5]);
    expect([...sequence.oldLogProbs!]).toEqual([-1, -1, -1]);
  });

  it("masks truncated completions when told so, and counts them otherwise", () => {
    const groups = [group([1, 0], [2, 10], ["stop", "length"])];
    expect(optimiserBatches(groups, options({ updates: 1, mask_truncated: true }))[0]).toHaveLength(1);
    expect(optimiserBatches(groups, options({ updates: 1 }))[0]).toHaveLength(2);
  });

  it("reports rewards, zero-variance share, lengths and valid rate under the field's names", () => {
    const metrics = rolloutMetrics([group([1, 1], [4, 4]), group([1, 0], [2, 6], ["stop", "length"])], "makespan");
    expect(metrics).toMatchObject({
      reward: 0.75,
      frac_reward_zero_std: 0.5,
      valid: 0.75,
      "valid/4": 0.75,
      "completions/mean_length": 4,
      "completions/max_length": 6,
      "completions/clipped_ratio": 0.25,
      completion_tokens: 16,
    });
    expect(metrics.reward_std).toBeCloseTo(Math.SQRT1_2 / 2, 9);
  });

  it("counts a ratio as clipped only where the clip takes the gradient away", () => {
    const sequences = optimiserBatches([group([1, 0], [2, 2])], options({ updates: 1 }))[0]!;
    // Both completions twice as likely as when they were sampled: only the one with positive advantage is clipped.
    const doubled = sequences.map((s) => new Float32Array(s.weights.length).fill(-1 + Math.log(2)));
    const flat = sequences.map((s) => new Float32Array(s.weights.length).fill(0.5));
    const m = ratioMetrics(sequences, doubled, flat, options());
    expect(m["clip_ratio/high_mean"]).toBe(0.5);
    expect(m["clip_ratio/low_mean"]).toBe(0);
    expect(m.kl_to_sampler).toBeCloseTo(2 - 1 - Math.log(2), 6);
    expect(m.entropy).toBeCloseTo(0.5, 6);
  });

  it("gives every rollout its own id", () => {
    const records = rolloutRecords([group([1, 0], [2, 2]), group([1, 0], [2, 2])], 3, 17).flat();
    expect(records.map((r) => r.id)).toEqual(["3/train/17/0/0", "3/train/17/0/1", "3/train/17/1/0", "3/train/17/1/1"]);
  });
});
