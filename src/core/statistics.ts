/**
 * The statistics that reports are made of. Rates carry binomial standard errors for the record and Wilson intervals for people;
 * differences on the same instances are paired.
 */
import type { Rate, ValidationReport } from "./records.js";

/** Two-sided 95 % normal quantile. */
export const Z95 = 1.959963984540054;

/** A relative spread below it is that of rounding. */
const ROUNDING = 1e-12;

export function rateOf(successes: number, n: number): Rate {
  if (n === 0) return { rate: 0, stderr: 0 };
  const rate = successes / n;
  return { rate, stderr: Math.sqrt((rate * (1 - rate)) / n) };
}

/** Wilson score interval (Wilson, JASA 1927) at 95 %; [0, 1] when n is 0. */
export function wilson(rate: number, n: number): [number, number] {
  if (n === 0) return [0, 1];
  const z2 = Z95 * Z95;
  const centre = (rate + z2 / (2 * n)) / (1 + z2 / n);
  const half = (Z95 / (1 + z2 / n)) * Math.sqrt((rate * (1 - rate)) / n + z2 / (4 * n * n));
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}

export interface PairedDifference {
  /** Mean of b − a over the instances. */
  difference: number;
  stderr: number;
  /** 95 % normal interval; where every instance differs by the same, nearly always by nothing, as `unseen` says. */
  interval: [number, number];
  n: number;
}

/**
 * Most of n instances that could be of a kind of which none was seen, at 95 % two-sided: Clopper and Pearson's bound for 0 of n (Biometrika
 * 1934). A spread of zero would call a difference certain because a sample was small.
 */
export function unseen(n: number): number {
  return n === 0 ? 1 : 1 - 0.025 ** (1 / n);
}

/** Half of a 95 % normal interval; of `unseen` where n instances show no spread. */
export function halfWidth(stderr: number, n: number): number {
  return stderr > 0 ? Z95 * stderr : unseen(n);
}

/** Difference of two outcome lists over the same instances, in the same order. @throws {RangeError} when the lengths differ. */
export function pairedDifference(a: readonly number[], b: readonly number[]): PairedDifference {
  if (a.length !== b.length) throw new RangeError(`paired lists of ${a.length} and ${b.length} outcomes`);
  const n = a.length;
  const differences = a.map((x, i) => b[i]! - x);
  const difference = mean(differences);
  const stderr = n > 1 ? deviation(differences) / Math.sqrt(n) : 0;
  const half = halfWidth(stderr, n);
  const interval: [number, number] = [difference - half, difference + half];
  return { difference, stderr, interval: stderr > 0 ? interval : [Math.max(-1, interval[0]), Math.min(1, interval[1])], n };
}

/**
 * Valid (bit 0) or optimal (bit 1) of two reports over the boards that both answered: an outside failure on either side leaves the pair out,
 * and `n` says how many are left. @throws {RangeError} reports of different sets, or for bit 1 under different objectives.
 */
export function pairedOutcomes(a: ValidationReport, b: ValidationReport, bit: 0 | 1): PairedDifference {
  requirePaired(a, b, bit);
  const both = a.outcomes.flatMap((outcome, i) => (outcome < 0 || b.outcomes[i]! < 0 ? [] : [i]));
  const of = (report: ValidationReport) => both.map((i) => (report.outcomes[i]! >> bit) & 1);
  return pairedDifference(of(a), of(b));
}

/**
 * The same over several pairs of reports on one set of boards (training seeds): a board's difference is its mean over the pairs in which both
 * answered it, and the error is over boards. Boards count once however many pairs there are: they are the same boards.
 */
export function pairedOverBoards(pairs: readonly (readonly [ValidationReport, ValidationReport])[], bit: 0 | 1): PairedDifference {
  const [first] = pairs;
  for (const [a, b] of pairs) {
    requirePaired(a, b, bit);
    requirePaired(first![0], a, bit);
  }
  const differences = (first?.[0].outcomes ?? []).flatMap((_, i) => {
    const both = pairs.filter(([a, b]) => a.outcomes[i]! >= 0 && b.outcomes[i]! >= 0);
    return both.length === 0 ? [] : mean(both.map(([a, b]) => ((b.outcomes[i]! >> bit) & 1) - ((a.outcomes[i]! >> bit) & 1)));
  });
  return pairedDifference(new Array<number>(differences.length).fill(0), differences);
}

function requirePaired(a: ValidationReport, b: ValidationReport, bit: 0 | 1): void {
  if (a.set_sha256 !== b.set_sha256) throw new RangeError("reports of different sets cannot be paired");
  if (bit === 1 && a.objective !== b.objective)
    throw new RangeError(`optimal under ${a.objective} and under ${b.objective} cannot be paired`);
}

export function mean(values: readonly number[]): number {
  let sum = 0;
  for (const v of values) sum += v;
  return values.length === 0 ? 0 : sum / values.length;
}

/** Sample standard deviation (n − 1). */
export function deviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const m = mean(values);
  let sum = 0;
  for (const v of values) sum += (v - m) ** 2;
  const spread = Math.sqrt(sum / (values.length - 1));
  // Equal values whose mean is rounded: 1/3, say.
  return spread < ROUNDING * Math.max(1, Math.abs(m)) ? 0 : spread;
}
