/**
 * Finished cells → the comparison table. Two sources of chance are kept apart: boards (paired differences on the same boards, within a
 * seed; held-out ones where every run has them) and training seeds (the spread of an arm's results over seeds). With few seeds the interval over seeds is a t interval,
 * wide and honest.
 */

import { deviation, mean, type PairedDifference, pairedOutcomes, points, pointsWithin, type ValidationReport } from "../core/index.js";
import { type ArmMeasures, armMeasures, measuresMarkdown } from "./arm-measures.js";
import type { EngineerMeasures } from "./engineer-measures.js";

export interface CellResult {
  arm: string;
  seed: number;
  /** Of the base checkpoint, then of each stage's checkpoint. */
  reports: ValidationReport[];
  /** Completion tokens sampled in training, per stage. */
  tokens: number[];
  /** Outcome of each proposal. */
  proposals: string[];
  /** Base and last checkpoint on boards that no engineer was told about. */
  heldOut?: { base: ValidationReport; last: ValidationReport };
  /** Of its engineer; absent for a run without a proposal. */
  measures?: EngineerMeasures;
}

export interface Estimate {
  mean: number;
  /** 95 % t interval over seeds; undefined for a single seed. */
  interval: [number, number] | undefined;
  values: number[];
}

export interface ArmSummary {
  arm: string;
  seeds: number[];
  /** The set that the next four are measured on: the held-out one where every run has it, else the validation set. */
  set: "held-out" | "validation";
  /** Valid and optimal rate of the last checkpoint. */
  valid: Estimate;
  optimal: Estimate;
  /** Last checkpoint against the base: valid rate, and on boards with a conflict where the family tags them. */
  gain: Estimate;
  /** That gain for a million completion tokens sampled in training; undefined where a run sampled none. */
  gainPerMillionTokens: Estimate | undefined;
  conflictGain: Estimate | undefined;
  /** On the validation set: mean valid rate over the checkpoints of the run: area under the validation curve, over stages. */
  auc: Estimate;
  /** On the validation set: valid rate where every run has sampled as many tokens as the run with the fewest, between two stages by line. */
  atEqualTokens: Estimate;
  /** There against the reference arm, paired by seed. */
  againstAtEqualTokens: Estimate | undefined;
  tokens: Estimate;
  proposals: Record<string, number>;
  /** Of the engineer, means over seeds. */
  measures: ArmMeasures | undefined;
  /** Valid rate against the reference arm: over seeds, and for each seed paired over boards. */
  against: { seeds: Estimate; boards: { seed: number; difference: PairedDifference }[] } | undefined;
}

/** Two-sided 95 % quantiles of Student's t for 1…30 degrees of freedom. */
const T95 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086,
  2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

export function estimate(values: readonly number[]): Estimate {
  const centre = mean(values);
  if (values.length < 2) return { mean: centre, interval: undefined, values: [...values] };
  const t = T95[values.length - 2] ?? 2.04;
  const half = (t * deviation(values)) / Math.sqrt(values.length);
  return { mean: centre, interval: [centre - half, centre + half], values: [...values] };
}

export function summariseArms(results: readonly CellResult[], reference: string): ArmSummary[] {
  const arms = [...new Set(results.map((r) => r.arm))];
  const fewest = Math.min(...results.map((r) => r.tokens.reduce((a, b) => a + b, 0)));
  const set = results.every((r) => r.heldOut !== undefined) ? ("held-out" as const) : ("validation" as const);
  const first = (r: CellResult) => (set === "held-out" ? r.heldOut!.base : r.reports[0]!);
  const last = (r: CellResult) => (set === "held-out" ? r.heldOut!.last : r.reports.at(-1)!);
  const conflict = (report: ValidationReport) => report.by_tag["conflict=true"]?.valid.rate;
  return arms.map((arm) => {
    const own = results.filter((r) => r.arm === arm).sort((a, b) => a.seed - b.seed);
    const pairs = own.flatMap((mine) => {
      const other = results.find((r) => r.arm === reference && r.seed === mine.seed);
      // Boards of two sets have no pairs, and rates on them no difference.
      const isComparable = other !== undefined && arm !== reference && last(other).set_sha256 === last(mine).set_sha256;
      return isComparable ? [{ mine, other }] : [];
    });
    const paired = pairs.map(({ mine, other }) => ({ seed: mine.seed, difference: pairedOutcomes(last(other), last(mine), 0) }));
    const atEqualTokens = pairs.map(({ mine, other }) => validAt(mine, fewest) - validAt(other, fewest));
    const gains = own.map((r) => last(r).total.valid.rate - first(r).total.valid.rate);
    const spent = own.map((r) => r.tokens.reduce((a, b) => a + b, 0));
    const proposals: Record<string, number> = {};
    for (const outcome of own.flatMap((r) => r.proposals)) proposals[outcome] = (proposals[outcome] ?? 0) + 1;
    return {
      arm,
      seeds: own.map((r) => r.seed),
      set,
      valid: estimate(own.map((r) => last(r).total.valid.rate)),
      optimal: estimate(own.map((r) => last(r).total.optimal.rate)),
      gain: estimate(gains),
      gainPerMillionTokens: spent.includes(0) ? undefined : estimate(gains.map((gain, i) => (1e6 * gain) / spent[i]!)),
      conflictGain: own.some((r) => conflict(first(r)) === undefined || conflict(last(r)) === undefined)
        ? undefined
        : estimate(own.map((r) => conflict(last(r))! - conflict(first(r))!)),
      auc: estimate(own.map((r) => mean(r.reports.slice(1).map((v) => v.total.valid.rate)))),
      atEqualTokens: estimate(own.map((r) => validAt(r, fewest))),
      againstAtEqualTokens: atEqualTokens.length === 0 ? undefined : estimate(atEqualTokens),
      tokens: estimate(spent),
      proposals,
      measures: armMeasures(own.flatMap((r) => r.measures ?? [])),
      against: paired.length === 0 ? undefined : { seeds: estimate(paired.map((p) => p.difference.difference)), boards: paired },
    };
  });
}

/** Valid rate on the validation set after `tokens` sampled tokens, on the line between the two checkpoints around them. */
export function validAt(run: Pick<CellResult, "reports" | "tokens">, tokens: number): number {
  let before = 0;
  for (const [stage, sampled] of run.tokens.entries()) {
    const [from, to] = [run.reports[stage]!.total.valid.rate, run.reports[stage + 1]!.total.valid.rate];
    if (before + sampled >= tokens) return sampled === 0 ? to : from + ((to - from) * (tokens - before)) / sampled;
    before += sampled;
  }
  return run.reports.at(-1)!.total.valid.rate;
}

const percent = (x: number) => (100 * x).toFixed(1);

function rate(e: Estimate): string {
  return e.interval === undefined ? percent(e.mean) : `${percent(e.mean)} [${percent(e.interval[0])}, ${percent(e.interval[1])}]`;
}
function change(e: Estimate): string {
  return e.interval === undefined ? points(e.mean) : pointsWithin(e.mean, e.interval);
}

/** The table as Markdown: per cent and points, 95 % t intervals over seeds. */
export function armsMarkdown(arms: readonly ArmSummary[], reference: string): string {
  const lines = [
    `| arm | seeds | valid % | optimal % | gain over base | gain on conflict boards | against ${reference} | mean valid % over stages | valid % at equal tokens | against ${reference} at equal tokens | tokens (M) | gain per M tokens | proposals |`,
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
  ];
  for (const a of arms) {
    const proposals = Object.entries(a.proposals).map(([outcome, n]) => `${n} ${outcome}`);
    const row = [
      a.arm,
      a.seeds.join(", "),
      rate(a.valid),
      rate(a.optimal),
      change(a.gain),
      a.conflictGain === undefined ? "—" : change(a.conflictGain),
      a.against === undefined ? "—" : change(a.against.seeds),
      rate(a.auc),
      rate(a.atEqualTokens),
      a.againstAtEqualTokens === undefined ? "—" : change(a.againstAtEqualTokens),
      (a.tokens.mean / 1e6).toFixed(2),
      a.gainPerMillionTokens === undefined ? "—" : change(a.gainPerMillionTokens),
      proposals.join(", ") || "—",
    ];
    lines.push(`| ${row.join(" | ")} |`);
  }
  const [any] = arms;
  const where =
    any === undefined
      ? ""
      : `\n\nRates and gains on the ${any.set} set; mean over stages and at equal tokens on the validation set. Brackets: 95 % t intervals over seeds.`;
  const measures = measuresMarkdown(arms);
  return lines.join("\n") + where + (measures === "" ? "" : `\n\n${measures}`);
}
