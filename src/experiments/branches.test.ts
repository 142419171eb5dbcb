import { describe, expect, it } from "vitest";
import { rateOf, recipeSchema, SCHEMA_VERSION, type ValidationReport } from "../core/index.js";
import { type BranchRun, branchMarkdown, branchReport, regretSentence } from "./branches.js";
import { cellKey } from "./cell-key.js";

/** A report on `n` boards of which those in [from, to) are valid. */
function report(from: number, to: number, set = "v", n = 100): ValidationReport {
  const outcomes = Array.from({ length: n }, (_, i) => (i >= from && i < to ? 1 : 0));
  const rate = rateOf(to - from, n);
  const total = { n, valid: rate, optimal: rateOf(0, n), codes: {}, tokens: 1, gap: 0 };
  return { schema_version: SCHEMA_VERSION, stage: 0, objective: "makespan", set_sha256: set, total, by_stratum: {}, by_tag: {}, outcomes, failed: 0 }; // biome-ignore format: one record
}

const run = (branch: string, seed: number, valid: number, heldOut?: number): BranchRun => ({
  branch,
  seed,
  steps: 10,
  tokens: 1000,
  validation: { before: report(0, 50), after: report(0, valid) },
  ...(heldOut === undefined ? {} : { heldOut: { before: report(0, 50, "h"), after: report(0, heldOut, "h") } }),
});
const branches = { taken: ["taken", "self"], rule: ["rule"] };

describe("the report of branches", () => {
  it("finds the best branch and the regret of the one that was taken, paired over boards", () => {
    const { best, regret, branches: rows } = branchReport({ branches, taken: "taken", runs: [run("taken", 1, 55), run("rule", 1, 65)] });
    expect(best).toBe("rule");
    expect(regret).toMatchObject({ taken: "taken", best: "rule", set: "validation", mean: expect.closeTo(0.1) });
    // Ten of a hundred boards won and none lost: error sqrt(0.09 / 99).
    expect(regret!.interval[0]).toBeCloseTo(0.1 - 1.96 * Math.sqrt(0.09 / 99), 4);
    expect(rows[0]).toMatchObject({
      proposals: ["taken", "self"],
      gain: { mean: expect.closeTo(0.05), per_million_tokens: expect.closeTo(50) },
    });
    expect(rows[1]!.against_taken!.mean).toBeCloseTo(0.1);
  });

  it("chooses on the validation set and measures on the held-out one, where the best may lose", () => {
    const runs = [run("taken", 1, 55, 60), run("rule", 1, 65, 58)];
    const result = branchReport({ branches, taken: "taken", runs });
    expect(result.regret).toMatchObject({ best: "rule", set: "held-out", mean: expect.closeTo(-0.02) });
    expect(regretSentence(result)).toMatch(/−2\.0 .*no measurable regret/);
  });

  it("tells the wider interval: seeds that agree by chance do not make one of no width, seeds that differ widen it", () => {
    const same = branchReport({ branches, taken: "taken", runs: [run("taken", 1, 55), run("taken", 2, 55)] }).branches[0]!.gain;
    expect(same.interval[1] - same.interval[0]).toBeGreaterThan(0.05);
    const apart = branchReport({ branches, taken: "taken", runs: [run("taken", 1, 55), run("taken", 2, 75)] }).branches[0]!.gain;
    expect(apart.interval[1] - apart.mean).toBeCloseTo((12.706 * Math.sqrt(0.02)) / Math.sqrt(2), 6);
  });

  it("a branch that changes no board has no interval of no width", () => {
    const { gain } = branchReport({ branches, taken: "taken", runs: [run("taken", 1, 50)] }).branches[0]!;
    // Clopper and Pearson for 0 of 100, two-sided 95 %.
    expect([gain.mean, gain.interval[1]]).toEqual([0, expect.closeTo(0.036217, 6)]);
  });

  it("counts a board once however many seeds were trained: more seeds on the same boards do not narrow the interval by themselves", () => {
    // Every seed moves the same five boards of a hundred from wrong to right: one seed's error, sqrt(0.05 · 0.95 · 100 / 99 / 100).
    const seeds = [1, 2, 3, 4].map((seed) => run("taken", seed, 55));
    const { gain } = branchReport({ branches, taken: "taken", runs: seeds }).branches[0]!;
    expect(gain.mean).toBeCloseTo(0.05);
    expect(gain.interval[1] - gain.mean).toBeCloseTo(1.96 * Math.sqrt((0.05 * 0.95) / 99), 4);
  });

  it("finds the best over the seeds that every branch finished, and none where there is no such seed", () => {
    // Over its own seeds rule has the mean 0.7, for the easy second seed, in which the taken one failed; over the first it loses.
    const runs = [run("taken", 1, 60), run("rule", 1, 55), run("rule", 2, 85)];
    expect(branchReport({ branches, taken: "taken", runs }).best).toBe("taken");
    const apart = branchReport({ branches, taken: "taken", runs: [run("taken", 1, 60), run("rule", 2, 85)] });
    expect(apart.best).toBeUndefined();
    expect(apart).not.toHaveProperty("regret");
    expect(regretSentence(apart)).toMatch(/No seed was finished in every branch/);
    expect(branchMarkdown(apart)).not.toContain("(best)");
  });

  it("has no regret where the taken one is the best, where none was taken, or where it failed", () => {
    expect(regretSentence(branchReport({ branches, taken: "taken", runs: [run("taken", 1, 70), run("rule", 1, 60)] }))).toMatch(
      /no regret/,
    );
    expect(branchReport({ branches: { rule: ["rule"] }, taken: undefined, runs: [run("rule", 1, 60)] })).not.toHaveProperty("regret");
    const failed = branchReport({ branches, taken: "taken", runs: [run("rule", 1, 60)] });
    expect(failed).not.toHaveProperty("regret");
    expect(failed.branches.map((b) => b.branch)).toEqual(["rule"]);
    expect(branchMarkdown(failed)).toContain("| rule (best) | rule | 1 |");
  });
});

describe("the key of a cell", () => {
  const recipe = recipeSchema.parse({ name: "a", stages: 1, instances: 1, config: { x: 1 }, base: "/a/base" });

  it("is the same for another name, place of the base and number of workers, and for a recipe written before an option had a default", () => {
    const key = cellKey(recipe, 1, { base: "abc" });
    expect(cellKey({ ...recipe, name: "b", description: "d", base: "/b/base", workers: 8 }, 1, { base: "abc" })).toBe(key);
    const { variants: _variants, approve: _approve, max_tokens: _max, ...engineer } = recipe.engineer;
    expect(cellKey(recipeSchema.parse({ ...recipe, engineer }), 1, { base: "abc" })).toBe(key);
  });

  it("is another one for another seed, base, config or option", () => {
    const key = cellKey(recipe, 1, { base: "abc" });
    const others = [
      cellKey(recipe, 2, { base: "abc" }),
      cellKey(recipe, 1, { base: "abd" }),
      cellKey({ ...recipe, config: { x: 2 } }, 1, { base: "abc" }),
      cellKey({ ...recipe, engineer: { ...recipe.engineer, variant: "V1" } }, 1, { base: "abc" }),
      cellKey(recipe, 1, { base: undefined }),
    ];
    expect(new Set([key, ...others]).size).toBe(6);
  });

  it("names what an engineer reads by its content, and by its path where that is gone", () => {
    const from = (path: string): typeof recipe => ({ ...recipe, engineer: { ...recipe.engineer, name: "replay", from: path } });
    const key = cellKey(from("/a/run"), 1, { base: "abc", engineer: "123" });
    expect(cellKey(from("/b/run"), 1, { base: "abc", engineer: "123" })).toBe(key);
    expect(cellKey(from("/a/run"), 1, { base: "abc", engineer: "124" })).not.toBe(key);
    expect(cellKey(from("/a/run"), 1, { base: "abc" })).not.toBe(cellKey(from("/b/run"), 1, { base: "abc" }));
    const asks = (policy: string): typeof recipe => ({ ...recipe, engineer: { ...recipe.engineer, name: "llm", policy } });
    const asked = cellKey(asks("/a/policy.yaml"), 1, { base: "abc", policy: "123" });
    expect(cellKey(asks("/b/policy.yaml"), 1, { base: "abc", policy: "123" })).toBe(asked);
    expect(cellKey(asks("/a/policy.yaml"), 1, { base: "abc", policy: "124" })).not.toBe(asked);
  });
});
