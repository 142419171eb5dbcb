/**
 * Measures of an engineer over a run: does it answer the evidence, keep what works, aim where there is something to learn, and what did
 * that bring. They describe; none of them is used to choose anything.
 */
import {
  type EnvironmentFamily,
  type FailureSummary,
  type KnobTable,
  mean,
  type PairedDifference,
  type Proposal,
  pairedOutcomes,
  type ValidationReport,
} from "../core/index.js";
import { totalVariation } from "./guardrails.js";

/** One proposal: the failures it answered, the knobs before, the knobs after. */
export interface EngineeringStep {
  failures: FailureSummary;
  before: KnobTable;
  after: KnobTable;
}

export interface Correlation {
  /** Spearman's rank correlation; null when either side does not vary. */
  rho: number | null;
  n: number;
}

/** For every knob that answers failure codes: share of those codes among a stratum's failures against the knob's change there. */
export function evidenceAlignment(steps: readonly EngineeringStep[], family: EnvironmentFamily): Record<string, Correlation> {
  const result: Record<string, Correlation> = {};
  for (const knob of family.knobs) {
    if (knob.answers.length === 0) continue;
    const shares: number[] = [];
    const changes: number[] = [];
    for (const { failures, before, after } of steps) {
      for (const stratum of Object.keys(after)) {
        const share = failureShare(failures, stratum, knob.answers);
        const [from, to] = [before[stratum]?.[knob.name], after[stratum]?.[knob.name]];
        if (share === undefined || from === undefined || to === undefined) continue;
        shares.push(share);
        changes.push(to - from);
      }
    }
    result[knob.name] = { rho: spearman(shares, changes), n: shares.length };
  }
  return result;
}

/**
 * What a proposal kept of what works, in [0, 1]; null where there was nothing to keep. `shares`: the part of the data ratio of mastered
 * strata that is still there. `ratios`: one less the mean change, on the scale of its range, of knobs whose failures did not occur.
 */
export function preservation(
  { failures, before, after }: EngineeringStep,
  family: EnvironmentFamily,
  mastered = 0.9,
): { shares: number | null; ratios: number | null } {
  let held = 0;
  let kept = 0;
  const changes: number[] = [];
  for (const stratum of Object.keys(before)) {
    const cell = failures.validation[stratum];
    if (cell === undefined || cell.n === 0) continue;
    for (const knob of family.knobs) {
      const from = before[stratum]![knob.name] ?? 0;
      const to = after[stratum]?.[knob.name] ?? from;
      if (knob.kind === "share") {
        if (cell.valid.rate < mastered) continue;
        held += from;
        kept += Math.min(from, to);
      } else if (knob.answers.length > 0 && knob.answers.every((code) => (cell.codes[code] ?? 0) === 0)) {
        changes.push(Math.abs(to - from) / (knob.max - knob.min));
      }
    }
  }
  return { shares: held > 0 ? kept / held : null, ratios: changes.length > 0 ? 1 - mean(changes) : null };
}

/**
 * How much a run's configs look like a template. `monotone`: mean absolute rank correlation of a knob with the order of the strata.
 * `still`: one less the mean change between consecutive configs (total variation of shares, range of ratios). `score`: their product.
 */
export function templateScore(tables: readonly KnobTable[], family: EnvironmentFamily): { monotone: number; still: number; score: number } {
  const correlations: number[] = [];
  const changes: number[] = [];
  tables.forEach((table, i) => {
    const strata = Object.keys(table);
    const previous = tables[i - 1];
    for (const knob of family.knobs) {
      const values = strata.map((s) => table[s]![knob.name] ?? 0);
      correlations.push(
        Math.abs(
          spearman(
            strata.map((_, k) => k),
            values,
          ) ?? 0,
        ),
      );
      if (previous === undefined) continue;
      const before = strata.map((s) => previous[s]?.[knob.name] ?? 0);
      const scale = knob.kind === "share" ? 1 : (2 / Math.max(1, strata.length)) * (1 / (knob.max - knob.min));
      changes.push(totalVariation(before, values) * scale);
    }
  });
  const monotone = mean(correlations);
  const still = 1 - mean(changes);
  return { monotone, still, score: monotone * still };
}

/** Share of the data where the policy succeeds sometimes: valid rate from `low` to `high`. Over the family's first share knob. */
export function frontierFocus(table: KnobTable, failures: FailureSummary, family: EnvironmentFamily, low = 0.2, high = 0.8): number {
  const knob = family.knobs.find((k) => k.kind === "share");
  if (knob === undefined) return 0;
  let focus = 0;
  let all = 0;
  for (const [stratum, row] of Object.entries(table)) {
    const share = row[knob.name] ?? 0;
    const cell = failures.validation[stratum];
    all += share;
    if (cell !== undefined && cell.n > 0 && cell.valid.rate >= low && cell.valid.rate <= high) focus += share;
  }
  return all > 0 ? focus / all : 0;
}

export function validityCounts(proposals: readonly Proposal[]): Record<Proposal["outcome"], number> {
  const counts = { accepted: 0, repaired: 0, rejected: 0 };
  for (const proposal of proposals) counts[proposal.outcome]++;
  return counts;
}

/** Mean height of a curve over its width (trapezoids), e.g. valid rate over training tokens; null for less than two distinct x. */
export function areaUnderCurve(points: readonly { x: number; y: number }[]): number | null {
  const sorted = [...points].sort((a, b) => a.x - b.x);
  const width = (sorted.at(-1)?.x ?? 0) - (sorted[0]?.x ?? 0);
  if (width <= 0) return null;
  let area = 0;
  for (let i = 1; i < sorted.length; i++) area += ((sorted[i]!.x - sorted[i - 1]!.x) * (sorted[i]!.y + sorted[i - 1]!.y)) / 2;
  return area / width;
}

export interface Gain extends PairedDifference {
  /** Completion tokens trained on between the two reports. */
  tokens: number;
  /** Gain for a million training tokens; null without tokens. */
  perMillionTokens: number | null;
}

/**
 * Gain in valid rate from each checkpoint to the next, and from the first to the last, paired over the validation set.
 * @param tokens completion tokens of each stage: one less than there are reports.
 */
export function gains(reports: readonly ValidationReport[], tokens: readonly number[]): { stages: Gain[]; total: Gain | null } {
  const between = (from: number, to: number): Gain => {
    const difference = pairedOutcomes(reports[from]!, reports[to]!, 0);
    const spent = tokens.slice(from, to).reduce((a, b) => a + b, 0);
    return { ...difference, tokens: spent, perMillionTokens: spent > 0 ? (difference.difference * 1e6) / spent : null };
  };
  return {
    stages: reports.slice(1).map((_, i) => between(i, i + 1)),
    total: reports.length < 2 ? null : between(0, reports.length - 1),
  };
}

function failureShare(failures: FailureSummary, stratum: string, answers: readonly string[]): number | undefined {
  const cell = failures.validation[stratum];
  if (cell === undefined || cell.n === 0) return undefined;
  const failed = Object.entries(cell.codes).reduce((sum, [code, count]) => sum + (code === "valid" ? 0 : count), 0);
  const called = answers.reduce((sum, code) => sum + (cell.codes[code] ?? 0), 0);
  return failed === 0 ? 0 : called / failed;
}

/** Spearman's rank correlation, equal values sharing their mean rank; null when it is not defined. */
export function spearman(a: readonly number[], b: readonly number[]): number | null {
  const [x, y] = [ranks(a), ranks(b)];
  const [mx, my] = [mean(x), mean(y)];
  let xy = 0;
  let xx = 0;
  let yy = 0;
  x.forEach((rank, i) => {
    xy += (rank - mx) * (y[i]! - my);
    xx += (rank - mx) ** 2;
    yy += (y[i]! - my) ** 2;
  });
  return xx === 0 || yy === 0 ? null : xy / Math.sqrt(xx * yy);
}

function ranks(values: readonly number[]): number[] {
  const order = values.map((_, i) => i).sort((i, j) => values[i]! - values[j]!);
  const result = new Array<number>(values.length).fill(0);
  for (let start = 0; start < order.length; ) {
    let end = start;
    while (end < order.length && values[order[end]!] === values[order[start]!]) end++;
    for (let k = start; k < end; k++) result[order[k]!] = (start + end - 1) / 2;
    start = end;
  }
  return result;
}
