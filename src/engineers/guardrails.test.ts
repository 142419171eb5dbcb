import { describe, expect, it } from "vitest";
import { engineerOptionsSchema, Seed, type ValidationReport } from "../core/index.js";
import { applyGuardrails, shouldRollback, totalVariation } from "./guardrails.js";
import { proposeNext } from "./propose.js";
import { createEngineer } from "./registry.js";
import { cell, deliveryContext } from "./test-context.js";
import { deliveryConfig, deliveryFamily as family } from "./test-family.js";
import { variantNamed } from "./variants.js";

const context = { ...deliveryContext(), config: deliveryConfig() };
context.failures.validation = { "2": cell({ valid: 95, lost: 5 }), "4": cell({ valid: 50, lost: 50 }), "8": cell({ lost: 100 }) };
const guard = (loads: number[], guardrails: Record<string, number>) => {
  const table = Object.fromEntries(["2", "4", "8"].map((s, i) => [s, { load: loads[i]!, fog: 0.1, traffic: 0.1 }]));
  const result = applyGuardrails(table, context, family, engineerOptionsSchema.parse({ guardrails }).guardrails);
  return { loads: Object.values(result.table).map((row) => row.load!), actions: result.actions };
};
const close = (got: number[], expected: number[]) =>
  expected.forEach((e, i) => {
    expect(got[i]).toBeCloseTo(e, 12);
  });

describe("guardrails", () => {
  it("are off by default: nothing is changed or logged", () => {
    expect(guard([0, 0, 1], {})).toEqual({ loads: [0, 0, 1], actions: [] });
  });

  it("limit the total variation of the shares, moving part of the way, and log it", () => {
    const { loads, actions } = guard([0, 0, 1], { max_change: 0.2 });
    close(loads, [0.375, 0.225, 0.4]);
    expect(totalVariation([0.5, 0.3, 0.2], loads)).toBeCloseTo(0.2, 12);
    expect(actions).toEqual([
      {
        guardrail: "max_change",
        reason: "load: a change of 0.800 is more than 0.2",
        from: { "2": 0, "4": 0, "8": 1 },
        to: expect.objectContaining({ "8": expect.closeTo(0.4) }),
      },
    ]);
    expect(guard([0.4, 0.3, 0.3], { max_change: 0.2 }).actions).toEqual([]);
  });

  it("keep a least share for mastered strata, paid for by the others in proportion, and log it", () => {
    const { loads, actions } = guard([0, 0.5, 0.5], { min_mastered_share: 0.1 });
    close(loads, [0.1, 0.45, 0.45]);
    expect(actions.map((a) => [a.guardrail, a.reason])).toEqual([["min_mastered_share", "load: mastered 2 keeps at least 0.1"]]);
    expect(guard([0.1, 0.4, 0.5], { min_mastered_share: 0.1 }).actions).toEqual([]);
  });

  it("push no other mastered stratum below its least share by paying for one", () => {
    const both = structuredClone(context);
    both.failures.validation["4"] = cell({ valid: 99, lost: 1 });
    const table = { "2": { load: 0 }, "4": { load: 0.21 }, "8": { load: 0.79 } };
    const { guardrails } = engineerOptionsSchema.parse({ guardrails: { min_mastered_share: 0.2 } });
    const result = applyGuardrails(table, both, family, guardrails);
    close(
      Object.values(result.table).map((row) => row.load!),
      [0.2, 0.2, 0.6],
    );
  });

  it("ask for no more than an equal part when the least shares do not fit", () => {
    const { loads } = guard([0, 0.5, 0.5], { min_mastered_share: 0.9 });
    close(loads, [1 / 3, 1 / 3, 1 / 3]);
  });

  it("let the limit on change win over the least share, and log both", () => {
    const { loads, actions } = guard([0, 0, 1], { min_mastered_share: 0.3, max_change: 0.1 });
    expect(actions.map((a) => a.guardrail)).toEqual(["min_mastered_share", "max_change"]);
    expect(totalVariation([0.5, 0.3, 0.2], loads)).toBeCloseTo(0.1, 12);
  });

  it("stand on the proposal when they act", async () => {
    const options = engineerOptionsSchema.parse({ guardrails: { max_change: 0.1 } });
    const engineer = createEngineer("hardest");
    const proposal = await proposeNext({ engineer, context, variant: variantNamed("V6"), family, options, seed: Seed.root("guard") });
    expect(proposal).toMatchObject({ outcome: "accepted", guardrails: [{ guardrail: "max_change" }] });
    expect(family.configSchema.parse(proposal.config).streets["8"].load).toBeCloseTo(0.3, 9);
  });
});

describe("the decision to roll back", () => {
  const report = (valid: boolean[], set = "a"): ValidationReport => ({
    schema_version: 1,
    stage: 0,
    objective: "time",
    set_sha256: set,
    total: cell({ valid: valid.filter(Boolean).length, lost: valid.filter((v) => !v).length }),
    by_stratum: {},
    by_tag: {},
    outcomes: valid.map((v) => (v ? 1 : 0)),
    failed: 0,
  });
  const first = (n: number) => Array.from({ length: 100 }, (_, i) => i < n);

  it("is taken when validity fell below the best by more than the standard error of the paired difference", () => {
    // 70 → 64 on nested successes: difference −0.06, its error 0.024.
    expect(shouldRollback([report(first(50)), report(first(70)), report(first(64))])).toMatchObject({ to: 1 });
  });

  it("is not taken within the error, for the best itself, or for less than two reports", () => {
    // The same fall of 0.06, but by 37 instances lost and 31 won: its error is 0.083.
    const swapped = Array.from({ length: 100 }, (_, i) => (i < 70 ? i >= 37 : i < 101 && i - 70 < 31));
    expect(swapped.filter(Boolean).length).toBe(63);
    expect(shouldRollback([report(first(70)), report(swapped)])).toBeUndefined();
    expect(shouldRollback([report(first(50)), report(first(60))])).toBeUndefined();
    expect(shouldRollback([report(first(50))])).toBeUndefined();
    expect(shouldRollback([])).toBeUndefined();
  });

  it("is refused for reports of different sets", () => {
    expect(() => shouldRollback([report(first(50), "a"), report(first(50), "b")])).toThrow(/different sets/);
  });
});
