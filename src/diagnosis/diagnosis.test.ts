import { describe, expect, it } from "vitest";
import {
  failureSummarySchema,
  type Rollout,
  Seed,
  shorten,
  trainingSummarySchema,
  type Verdict,
  validationReportSchema,
} from "../core/index.js";
import { drawExamples, type FailureExample, failureSummary } from "./failures.js";
import { TrainingAccumulator } from "./training.js";
import { validationReport } from "./validation.js";

function verdict(code: string, cost = 8, optimum = 8): Verdict {
  const ok = code === "valid";
  const costs = ok ? { costs: { time: cost, distance: cost + 1 } } : {};
  const optimal = { time: ok && cost === optimum, distance: false };
  return { instance: "i", ok, code, reason: "", counts: {}, optima: { time: optimum, distance: optimum }, optimal, ...costs };
}

describe("a validation report", () => {
  const item = (stratum: string, agents: string, v: Verdict | undefined, tokens: number) => ({
    stratum,
    tags: { agents },
    verdict: v,
    tokens,
  });
  const report = validationReport({
    stage: 3,
    objective: "time",
    setSha256: "abc",
    items: [
      item("3", "2", verdict("valid", 8), 10),
      item("3", "2", verdict("valid", 10), 20),
      item("3", "3", verdict("hole"), 30),
      item("3", "3", undefined, 0),
      item("4", "2", verdict("hole"), 40),
      item("4", "3", verdict("lost"), 60),
      item("5", "3", undefined, 0),
    ],
  });

  it("satisfies its schema and counts rates, codes, lengths and gaps in each cell", () => {
    validationReportSchema.parse(report);
    expect(report.by_stratum["3"]).toEqual({
      n: 3,
      valid: { rate: 2 / 3, stderr: expect.closeTo(Math.sqrt(2 / 27), 12) },
      optimal: { rate: 1 / 3, stderr: expect.closeTo(Math.sqrt(2 / 27), 12) },
      codes: { valid: 2, hole: 1 },
      tokens: 20,
      gap: 0.125,
    });
    expect(report.total).toMatchObject({ n: 5, codes: { valid: 2, hole: 2, lost: 1 }, tokens: 32 });
    expect(report.by_tag["agents=3"]).toMatchObject({ n: 2, codes: { hole: 1, lost: 1 }, gap: 0 });
  });

  it("leaves outside failures out of every rate, counts them, and still shows their stratum", () => {
    expect(report.failed).toBe(2);
    expect(report.by_stratum["5"]).toMatchObject({ n: 0, codes: {}, valid: { rate: 0, stderr: 0 } });
  });

  it("holds the outcome of each instance in the set's order: bit 0 valid, bit 1 optimal, −1 where nobody answered", () => {
    expect(report.outcomes).toEqual([3, 1, 0, -1, 0, 0, -1]);
  });

  it("judges optimality and gaps under its objective", () => {
    const one = validationReport({ stage: 0, objective: "distance", setSha256: "", items: [item("3", "2", verdict("valid", 8), 1)] });
    expect(one.total).toMatchObject({ optimal: { rate: 0 }, gap: 0.125 });
  });

  it("takes the gap over an optimum of 0 as over 1, and holds for an empty set", () => {
    const one = validationReport({ stage: 0, objective: "time", setSha256: "", items: [item("3", "2", verdict("valid", 2, 0), 1)] });
    expect(one.total.gap).toBe(2);
    expect(validationReport({ stage: 0, objective: "time", setSha256: "", items: [] }).total).toMatchObject({ n: 0, gap: 0, tokens: 0 });
  });
});

describe("a training summary", () => {
  const rollout = (stratum: string, step: number, total: number, more: Partial<Rollout> = {}): Rollout => ({
    id: "r",
    instance: "i",
    stratum,
    stage: 0,
    step,
    sample: 0,
    completion: "",
    tokens: 10,
    finish_reason: "stop",
    verdict: verdict(total > 0.5 ? "valid" : "hole"),
    reward: { total, accuracy: total, length: 0.5, weight: 0.8 },
    ...more,
  });

  it("means over rollouts and counts groups whose rewards were all equal", () => {
    const sums = new TrainingAccumulator();
    sums.add([rollout("3", 0, 1), rollout("3", 0, 0)]);
    sums.add([rollout("3", 0, 0.1), rollout("3", 0, 0.3 - 0.2)]);
    sums.add([rollout("3", 1, 0.2), rollout("3", 1, 0.2)]);
    sums.add([rollout("4", 1, 1), rollout("4", 1, 0.9)]);
    sums.add([]);
    const summary = trainingSummarySchema.parse(sums.summary());
    expect(summary).toMatchObject({ steps: 2, rollouts: 8, completion_tokens: 80 });
    expect(summary.strata["3"]).toEqual({
      rollouts: 6,
      valid: 1 / 6,
      reward: expect.closeTo(1.6 / 6, 12),
      accuracy: expect.closeTo(1.6 / 6, 12),
      length: 0.5,
      zero_variance: 2 / 3,
    });
    expect(summary.strata["4"]).toMatchObject({ rollouts: 2, zero_variance: 0 });
  });

  it("gives the mean absolute advantage of each stratum, and none where the trainer told none", () => {
    const sums = new TrainingAccumulator();
    sums.add([rollout("3", 0, 1, { advantage: 1.5 }), rollout("3", 0, 0, { advantage: -0.5 })]);
    sums.add([rollout("3", 0, 1, { advantage: 0 }), rollout("3", 0, 1, { advantage: 0 })]);
    sums.add([rollout("4", 0, 1), rollout("4", 0, 0)]);
    const { strata } = trainingSummarySchema.parse(sums.summary());
    expect(strata["3"]!.mean_abs_advantage).toBe(0.5);
    expect(strata["4"]).not.toHaveProperty("mean_abs_advantage");
  });

  it("leaves rollouts that the outside ended out of the means, and a group of nothing else out of the groups", () => {
    const failed = { failure: { boundary: "endpoint", message: "", attempts: 1 }, tokens: 0, verdict: undefined, reward: undefined };
    const sums = new TrainingAccumulator();
    sums.add([rollout("3", 0, 1), rollout("3", 0, 0, failed as Partial<Rollout>)]);
    sums.add([rollout("3", 0, 0, failed as Partial<Rollout>)]);
    expect(sums.summary().strata["3"]).toMatchObject({ rollouts: 1, valid: 1, zero_variance: 1 });
  });

  it("refuses a group of mixed strata and a rollout that was not scored", () => {
    const sums = new TrainingAccumulator();
    expect(() => sums.add([rollout("3", 0, 1), rollout("4", 0, 1)])).toThrow(/stratum "4" in a group of stratum "3"/);
    expect(() => sums.add([rollout("3", 0, 1, { reward: undefined } as unknown as Partial<Rollout>)])).toThrow(/neither a verdict/);
  });
});

describe("a failure summary", () => {
  const candidate = (code: string, i: number): FailureExample => ({
    stratum: "3",
    code,
    prompt: `p${i}`,
    completion: `${code}${i}`,
    reason: "r",
  });
  const candidates = [
    ...Array.from({ length: 9 }, (_, i) => candidate("hole", i)),
    ...[0, 1, 2].map((i) => candidate("lost", i)),
    candidate("swap", 0),
  ];
  const seed = Seed.root("examples");

  it("draws examples over the commonest codes first, by seed", () => {
    expect(drawExamples(candidates, 5, seed).map((e) => e.code)).toEqual(["hole", "lost", "swap", "hole", "lost"]);
    expect(drawExamples(candidates, 2, seed)).toEqual(drawExamples(candidates, 2, seed));
    const firsts = new Set(Array.from({ length: 30 }, (_, i) => drawExamples(candidates, 1, seed.child(i))[0]!.completion));
    expect(firsts.size).toBeGreaterThan(4);
    expect(drawExamples(candidates, 99, seed)).toHaveLength(13);
    expect(drawExamples([], 3, seed)).toEqual([]);
  });

  it("shortens what it quotes and says how much was left out", () => {
    const long = { ...candidate("hole", 0), completion: "x".repeat(100_000) };
    const [shown] = drawExamples([long], 1, seed);
    expect(shown!.completion.length).toBeLessThan(500);
    expect(shown!.completion).toContain("99600 characters left out");
    expect(shorten("short", 10)).toBe("short");
  });

  it("carries validation by stratum, training and environment as they are", () => {
    const report = validationReport({
      stage: 1,
      objective: "time",
      setSha256: "",
      items: [{ stratum: "3", tags: {}, verdict: verdict("hole"), tokens: 4 }],
    });
    const training = new TrainingAccumulator().summary();
    const environment = { requested: { "3": { data_ratio: 1 } }, realised: { "3": { data_ratio: 1 } } };
    const summary = failureSummary({ stage: 1, report, training, environment, examples: { count: 1, seed, candidates } });
    expect(failureSummarySchema.parse(summary)).toMatchObject({
      stage: 1,
      objective: "time",
      validation: report.by_stratum,
      training,
      environment,
    });
    expect(summary.examples).toHaveLength(1);
  });
});
