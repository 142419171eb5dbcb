import fc from "fast-check";
import { expect, test } from "vitest";
import { Seed } from "../core/index.js";
import { bootstrapMeans, mcnemar, pairOutcomes, passAtK, quantile } from "./inference.js";

const seed = Seed.root("test");

test("pass@k equals 1 − C(n − c, k) / C(n, k) as Python's integers give it", () => {
  // 1 - math.comb(n - c, k) / math.comb(n, k)
  expect(passAtK(8, 3, 4)).toBeCloseTo(0.9285714285714286, 12);
  expect(passAtK(100, 7, 10)).toBeCloseTo(0.5332595856827855, 12);
  expect(passAtK(20, 1, 5)).toBeCloseTo(0.25, 12);
});

test("pass@k with k above n has no value, whatever was right", () => {
  fc.assert(
    fc.property(fc.nat(20), fc.nat(20), fc.integer({ min: 1, max: 10 }), (n, c, more) => {
      expect(passAtK(n, Math.min(c, n), n + more)).toBeUndefined();
    }),
  );
});

test("pass@k is the share of k-subsets that hold a right answer", () => {
  const subsets = (items: boolean[], k: number): boolean[][] =>
    k === 0 ? [[]] : items.flatMap((item, i) => subsets(items.slice(i + 1), k - 1).map((rest) => [item, ...rest]));
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }), fc.integer({ min: 1, max: 7 }), (answers, k) => {
      fc.pre(k <= answers.length);
      const all = subsets(answers, k);
      expect(passAtK(answers.length, answers.filter(Boolean).length, k)).toBeCloseTo(
        all.filter((s) => s.includes(true)).length / all.length,
        12,
      );
    }),
  );
});

test("McNemar's exact p is that of statsmodels, also with thousands of discordant pairs", () => {
  const outcomes = (b: number, c: number): [number[], number[]] => [
    [...Array(b).fill(1), ...Array(c).fill(0), 1, 0],
    [...Array(b).fill(0), ...Array(c).fill(1), 1, 0],
  ];
  // statsmodels.stats.contingency_tables.mcnemar([[10, b], [c, 10]], exact=True).pvalue
  const recorded: [number, number, number][] = [
    [3, 11, 0.057373046875],
    [0, 5, 0.0625],
    [7, 7, 1],
    [40, 71, 0.004195534185394861],
    [900, 1100, 8.45708953550381e-6],
  ];
  for (const [b, c, p] of recorded) {
    const result = mcnemar(...outcomes(b, c));
    expect(result).toMatchObject({ only_reference: b, only_other: c });
    expect(result.p / p).toBeCloseTo(1, 9);
  }
});

test("quantiles interpolate as numpy's do", () => {
  expect([0.025, 0.5, 0.975].map((q) => quantile([1, 3, 4, 10], q))).toEqual([1.15, 3.5, expect.closeTo(9.55, 12)]);
});

const MEANS = [0, 0.25, 0.5, 0.5, 0.75, 1, 1, 0.25, 0, 0, 0.5, 0.75, 1, 0.25, 0.5, 0.75, 0, 0.25, 1, 0.5];

test("the bootstrap over instances agrees with one of 400,000 resamples in numpy, and repeats with its seed", () => {
  const [interval] = bootstrapMeans([Float64Array.from(MEANS)], seed, 20_000);
  expect(interval![0]).toBeCloseTo(0.3375, 2);
  expect(interval![1]).toBeCloseTo(0.6375, 2);
  expect(bootstrapMeans([Float64Array.from(MEANS)], seed)).toEqual(bootstrapMeans([Float64Array.from(MEANS)], seed));
  expect(bootstrapMeans([Float64Array.from(MEANS)], Seed.root("other"))).not.toEqual(bootstrapMeans([Float64Array.from(MEANS)], seed));
});

test("a row without a value in a column does not move that column's mean", () => {
  const [full] = bootstrapMeans([Float64Array.from([0.5, 0.5, 0.5, Number.NaN, Number.NaN])], seed);
  expect(full).toEqual([0.5, 0.5]);
});

test("pairs with an outside failure on either side are left out, and shares have no McNemar test", () => {
  const paired = pairOutcomes([1, 0, null, 0, 1], [1, 1, 1, null, 0], seed);
  expect(paired).toMatchObject({ n: 3, difference: 0, mcnemar: { only_reference: 1, only_other: 1, p: 1 } });
  expect(pairOutcomes(Array(120).fill(1), Array(120).fill(1), seed).interval[1]).toBeCloseTo(0.0303, 4);
  expect(pairOutcomes([], [], seed).interval).toEqual([-1, 1]);
  expect(pairOutcomes([0.5, 0], [1, 1], seed)).toMatchObject({ n: 2, difference: 0.75, reference: 0.25, mcnemar: null });
});

test("a paired comparison has the difference, error, interval and p of scipy and statsmodels", () => {
  const a = Array.from({ length: 60 }, (_, i) => ((i * 7) % 11 < 5 ? 1 : 0));
  const b = Array.from({ length: 60 }, (_, i) => ((i * 5) % 13 < 8 ? 1 : 0));
  const paired = pairOutcomes(a, b, seed);
  // scipy.stats.sem(b - a); mcnemar(..., exact=True).pvalue; scipy.stats.bootstrap((b - a,), np.mean, method="percentile", n_resamples=400000)
  expect(paired).toMatchObject({ n: 60, mcnemar: { only_reference: 11, only_other: 21 } });
  expect(paired.difference).toBeCloseTo(1 / 6, 12);
  expect(paired.stderr).toBeCloseTo(0.09256747933132445, 12);
  expect(paired.mcnemar!.p).toBeCloseTo(0.11018416518345475, 12);
  expect(paired.interval[0]).toBeCloseTo(-1 / 60, 1);
  expect(paired.interval[1]).toBeCloseTo(0.35, 1);
  const [fine] = bootstrapMeans([Float64Array.from(b, (y, i) => y - a[i]!)], seed, 40_000);
  // The means are multiples of 1/60: a quantile may fall to the next one.
  expect(Math.abs(fine![0] - -1 / 60)).toBeLessThanOrEqual(1 / 60 + 1e-9);
  expect(Math.abs(fine![1] - 0.35)).toBeLessThanOrEqual(1 / 60 + 1e-9);
});

test("the bootstrap of boards with several samples is scipy's over the boards' means", () => {
  const means = Float64Array.from({ length: 40 }, (_, i) => ((i * 3) % 5) / 4);
  // scipy.stats.bootstrap((means,), np.mean, method="percentile", n_resamples=400000): 0.39375 to 0.6125
  const [[low, high]] = bootstrapMeans([means], seed, 40_000) as [[number, number]];
  expect(Math.abs(low - 0.39375)).toBeLessThan(0.007);
  expect(Math.abs(high - 0.6125)).toBeLessThan(0.007);
});

test("the paired bootstrap interval of a difference holds it and turns around with the sides", () => {
  const outcome = fc.constantFrom(0, 0.5, 1);
  fc.assert(
    fc.property(fc.array(fc.tuple(outcome, outcome), { minLength: 2, maxLength: 12 }), (pairs) => {
      const [a, b] = [pairs.map(([x]) => x), pairs.map(([, y]) => y)];
      const [there, back] = [pairOutcomes(a, b, seed), pairOutcomes(b, a, seed)];
      expect(there.interval[0]).toBeLessThanOrEqual(there.difference + 1e-9);
      expect(there.interval[1]).toBeGreaterThanOrEqual(there.difference - 1e-9);
      expect(back.interval[0]).toBeCloseTo(-there.interval[1], 9);
    }),
    { numRuns: 20 },
  );
});
