import { describe, expect, it } from "vitest";
import { tokenWeights } from "./loss-weights.js";

/** Three completions of 2, 4 and 6 tokens; the last is truncated and masked. Per-token losses are written out by hand. */
const losses = [
  [1, 3],
  [2, 2, 2, 6],
  [9, 9, 9, 9, 9, 9],
];
const shape = { lengths: [2, 4, 6], kept: [true, true, false], batchTokens: 12, updates: 2, maxTokens: 10 };
const total = (weights: number[]) => losses.reduce((sum, row, i) => sum + row.reduce((s, l) => s + l * weights[i]!, 0), 0);

describe("the loss types of GRPO, by hand", () => {
  it("grpo is the mean over completions of their token means: (2 + 3) / 2", () => {
    expect(total(tokenWeights("grpo", shape))).toBeCloseTo(2.5, 12);
  });
  it("dr_grpo divides by completions times the token limit: 16 / (2 * 10)", () => {
    expect(total(tokenWeights("dr_grpo", shape))).toBeCloseTo(0.8, 12);
  });
  it("bnpo is the mean over the kept tokens of the step: 16 / 6", () => {
    expect(total(tokenWeights("bnpo", shape))).toBeCloseTo(16 / 6, 12);
  });
  it("dapo divides by the kept tokens of the whole batch, shared by its updates: 16 * 2 / 12", () => {
    expect(total(tokenWeights("dapo", shape))).toBeCloseTo(32 / 12, 12);
  });
  it("gives a masked completion weight 0 and leaves it out of every denominator", () => {
    for (const type of ["grpo", "dr_grpo", "bnpo", "dapo"] as const) {
      expect(tokenWeights(type, shape)[2]).toBe(0);
    }
    expect(tokenWeights("grpo", { ...shape, kept: [true, false, false] })[0]).toBeCloseTo(1 / 2, 12);
  });
  it("gives nothing when every completion is masked", () => {
    expect(tokenWeights("bnpo", { ...shape, kept: [false, false, false] })).toEqual([0, 0, 0]);
  });
});
