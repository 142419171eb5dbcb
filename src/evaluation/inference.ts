/**
 * What a frozen set allows to conclude, beside the plain statistics of core: unbiased pass@k, intervals that resample whole instances, and
 * McNemar's exact test. Everything random is drawn from a seed that is given. Knows neither policies nor files.
 */
import { pairedDifference, type Seed } from "../core/index.js";

/** Resamples of a bootstrap: the ends of a 95 % interval then vary by about a thirtieth of its width from seed to seed. */
export const RESAMPLES = 2000;

/**
 * Unbiased estimate of the chance that at least one of k answers is right, from c right ones among n: 1 − C(n − c, k) / C(n, k)
 * (Chen et al., "Evaluating Large Language Models Trained on Code", 2021, eq. 1). Undefined for k > n: there is no unbiased estimate.
 */
export function passAtK(n: number, c: number, k: number): number | undefined {
  if (k > n || k < 1) return undefined;
  if (n - c < k) return 1;
  let none = 1;
  for (let i = n - c + 1; i <= n; i++) none *= 1 - k / i;
  return 1 - none;
}

/**
 * 95 % percentile intervals of the columns' means under resampling of rows with replacement (Efron's bootstrap; a row is an instance with
 * all its samples, hence a cluster bootstrap). The columns share their draws. NaN marks a row that a column has no value for; a resample
 * without any value for a column is left out there.
 */
export function bootstrapMeans(columns: readonly Float64Array[], seed: Seed, resamples = RESAMPLES): [number, number][] {
  const n = columns[0]?.length ?? 0;
  if (n === 0) return columns.map(() => [0, 1]);
  const means = columns.map(() => [] as number[]);
  const sums = new Float64Array(columns.length);
  const counts = new Float64Array(columns.length);
  for (let r = 0; r < resamples; r++) {
    const random = seed.at(r);
    sums.fill(0);
    counts.fill(0);
    for (let draw = 0; draw < n; draw++) {
      const row = random.below(n);
      for (let c = 0; c < columns.length; c++) {
        const value = columns[c]![row]!;
        if (Number.isNaN(value)) continue;
        sums[c]! += value;
        counts[c]! += 1;
      }
    }
    for (let c = 0; c < columns.length; c++) if (counts[c]! > 0) means[c]!.push(sums[c]! / counts[c]!);
  }
  return means.map((values) => {
    const sorted = Float64Array.from(values).sort();
    return [quantile(sorted, 0.025), quantile(sorted, 0.975)];
  });
}

/** Linear interpolation between order statistics (Hyndman and Fan's type 7, as numpy's default); 0 for an empty list. `sorted` ascends. */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  if (sorted.length === 0) return 0;
  const at = q * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low]! + (at - low) * (sorted[high]! - sorted[low]!);
}

export interface McNemar {
  /** Instances that only the reference, only the other solved. */
  only_reference: number;
  only_other: number;
  /** Exact two-sided p-value: twice the smaller binomial tail of the discordant pairs, at most 1 (McNemar, Psychometrika 1947). */
  p: number;
}

/** @param a the reference's outcomes, each 0 or 1; @param b the other's, of the same instances */
export function mcnemar(a: readonly number[], b: readonly number[]): McNemar {
  let [onlyA, onlyB] = [0, 0];
  for (let i = 0; i < a.length; i++) {
    if (a[i]! > b[i]!) onlyA += 1;
    if (b[i]! > a[i]!) onlyB += 1;
  }
  return { only_reference: onlyA, only_other: onlyB, p: Math.min(1, 2 * lowerTail(Math.min(onlyA, onlyB), onlyA + onlyB)) };
}

/** P(X ≤ k) for X ~ Bin(n, 1/2), summed in logarithms so that thousands of pairs do not underflow. */
function lowerTail(k: number, n: number): number {
  let log = -n * Math.LN2;
  let sum = 0;
  for (let i = 0; i <= k; i++) {
    sum += Math.exp(log);
    log += Math.log((n - i) / (i + 1));
  }
  return sum;
}

export interface PairedOutcome {
  /** Instances that both answered. */
  n: number;
  reference: number;
  other: number;
  /** Mean of other − reference over instances, with its standard error and a bootstrap 95 % interval (where all differ by the same: that of `pairedDifference`). */
  difference: number;
  stderr: number;
  interval: [number, number];
  /** Only where every outcome is right or wrong: null for shares over several samples. */
  mcnemar: McNemar | null;
}

/** Two lists of outcomes over the same instances in the same order; null (no answer from outside) on either side leaves the pair out. */
export function pairOutcomes(a: readonly (number | null)[], b: readonly (number | null)[], seed: Seed): PairedOutcome {
  const both = a.flatMap((x, i) => (x === null || b[i] === null || b[i] === undefined ? [] : [[x, b[i]] as const]));
  const [before, after] = [both.map(([x]) => x), both.map(([, y]) => y)];
  const { difference, stderr, interval, n } = pairedDifference(before, after);
  const binary = both.every(([x, y]) => (x === 0 || x === 1) && (y === 0 || y === 1));
  const average = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / Math.max(1, n);
  return {
    n,
    reference: average(before),
    other: average(after),
    difference,
    stderr,
    interval: stderr === 0 ? interval : bootstrapMeans([Float64Array.from(both, ([x, y]) => y - x)], seed)[0]!,
    mcnemar: binary ? mcnemar(before, after) : null,
  };
}
