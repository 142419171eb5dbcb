import { describe, expect, it } from "vitest";
import { InputError, rewardOptionsSchema, type Verdict } from "../core/index.js";
import { groupAdvantages } from "./advantage.js";
import { accuracyTerm, accuracyWeight, lengthTerm, rewardOf } from "./reward.js";

const options = rewardOptionsSchema.parse({ v_min: 0.1, length_min: 10, length_max: 30, weight_start: 0.6, weight_end: 1 });

function verdict(code: string, cost?: number, optimum = 8): Verdict {
  const ok = code === "valid";
  return {
    instance: "i",
    ok,
    code,
    reason: "",
    counts: {},
    optima: { makespan: optimum },
    optimal: { makespan: ok && cost === optimum },
    ...(cost === undefined ? {} : { costs: { makespan: cost } }),
  };
}

describe("the reward", () => {
  it("gives an optimal plan 1, a costlier one less, and never less than v_min", () => {
    expect(accuracyTerm(verdict("valid", 8), "makespan", 0.1)).toBe(1);
    expect(accuracyTerm(verdict("valid", 10), "makespan", 0.1)).toBe(0.75);
    expect(accuracyTerm(verdict("valid", 40), "makespan", 0.1)).toBe(0.1);
  });

  it("gives a broken plan nothing for accuracy", () => {
    expect(accuracyTerm(verdict("hole"), "makespan", 0.1)).toBe(0);
  });

  it("does not divide by an optimum of zero", () => {
    expect(accuracyTerm(verdict("valid", 0, 0), "makespan", 0.1)).toBe(1);
    expect(accuracyTerm(verdict("valid", 2, 0), "makespan", 0.1)).toBe(0.1);
  });

  it("refuses a plan that beats the recorded optimum, of whichever objective, and a broken plan never", () => {
    expect(() => accuracyTerm(verdict("valid", 7), "makespan", 0.1)).toThrow(InputError);
    expect(() => rewardOf(verdict("valid", 7), 20, "makespan", 1, options)).toThrow(/makespan 7, below the recorded optimum 8/);
    const other = { ...verdict("valid", 8), costs: { makespan: 8, sum_of_costs: 9 }, optima: { makespan: 8, sum_of_costs: 10 } };
    expect(() => accuracyTerm(other, "makespan", 0.1)).toThrow(/sum_of_costs 9/);
    expect(accuracyTerm({ ...other, optima: { makespan: 8, sum_of_costs: 9 } }, "makespan", 0.1)).toBe(1);
    expect(accuracyTerm(verdict("hole", 7), "makespan", 0.1)).toBe(0);
  });

  it("falls from 1 to 0 between length_min and length_max", () => {
    expect([5, 10, 20, 30, 99].map((tokens) => lengthTerm(verdict("valid", 8), tokens, options))).toEqual([1, 1, 0.5, 0, 0]);
  });

  it("gives no length credit to what cannot be parsed, nor to what ran out of tokens, under the parsed gate", () => {
    expect(lengthTerm(verdict("parse-error"), 10, options)).toBe(0);
    expect(lengthTerm(verdict("truncated"), 10, options)).toBe(0);
    expect(lengthTerm(verdict("hole"), 10, options)).toBe(1);
    expect(lengthTerm(verdict("hole"), 10, { ...options, gate: "valid" })).toBe(0);
    expect(lengthTerm(verdict("parse-error"), 10, { ...options, gate: "always" })).toBe(1);
  });

  it("moves its weight from brevity to accuracy as the valid rate rises", () => {
    expect(accuracyWeight(0, options)).toBeCloseTo(0.6);
    expect(accuracyWeight(0.5, options)).toBeCloseTo(0.8);
    expect(accuracyWeight(1, options)).toBeCloseTo(1);
    expect(rewardOf(verdict("valid", 10), 20, "makespan", 0.8, options)).toEqual({
      total: 0.8 * 0.75 + (1 - 0.8) * 0.5,
      accuracy: 0.75,
      length: 0.5,
      weight: 0.8,
    });
  });
});

describe("group-relative advantages", () => {
  it("are exactly zero when all rewards are equal, 0.1 eight times included", () => {
    const { advantages, zeroVariance } = groupAdvantages(Array(8).fill(0.1), "group");
    expect(advantages).toEqual(Array(8).fill(0));
    expect(zeroVariance).toBe(true);
    expect(groupAdvantages([0.1 + 0.2, 0.3], "group").zeroVariance).toBe(true);
  });

  it("are the hand-computed values with and without scaling", () => {
    // mean 0.25, sample deviation 0.5
    expect(groupAdvantages([1, 0, 0, 0], "none").advantages).toEqual([0.75, -0.25, -0.25, -0.25]);
    const scaled = groupAdvantages([1, 0, 0, 0], "group").advantages;
    expect(scaled[0]).toBeCloseTo(0.75 / 0.5001, 12);
    expect(scaled[1]).toBeCloseTo(-0.25 / 0.5001, 12);
  });

  it("refuse a reward that is not a number", () => {
    expect(() => groupAdvantages([Number.NaN, 1], "group")).toThrow(RangeError);
  });
});
