/**
 * A policy on a frozen set, with one or several samples of each instance. Rates are means over instances of the mean over samples, so that
 * their errors are over boards: binomial with a Wilson interval for one sample, by the spread of the boards' means for several.
 */
import { z } from "zod";
import {
  deviation,
  InputError,
  type InstanceBase,
  mean,
  type PairedDifference,
  pairedDifference,
  rateOf,
  setHash,
  type Verdict,
  wilson,
  Z95,
} from "../core/index.js";
import type { ReportedRate } from "./report.js";
import { markdownTable, type TextTable, terminalTable } from "./text-table.js";

/** All samples of one instance, in order; an outside failure has no verdict and counts in no rate. */
export interface JudgedInstance {
  stratum: string;
  tags: Record<string, string>;
  samples: { verdict: Verdict | undefined; tokens: number }[];
}

const rateSchema = z.strictObject({ rate: z.number(), stderr: z.number(), interval: z.tuple([z.number(), z.number()]) });
const cellSchema = z.strictObject({
  /** Instances with at least one answer. */
  n: z.int(),
  valid: rateSchema,
  optimal: rateSchema,
  /** Instances with at least one valid answer among k samples; null when an instance has fewer than k. */
  pass_at_k: rateSchema.nullable(),
  /** Primary codes over all samples. */
  codes: z.record(z.string(), z.int()),
  /** Mean completion length in tokens. */
  tokens: z.number(),
  /** Mean of (cost − optimum) / optimum over valid answers. */
  gap: z.number(),
});
export type SetCell = z.infer<typeof cellSchema>;

export const setReportSchema = z.strictObject({
  policy: z.string(),
  set: z.string(),
  /** SHA-256 over the instances' hashes in order: only equal sets are compared. */
  set_sha256: z.string(),
  objective: z.string(),
  samples: z.int(),
  total: cellSchema,
  by_size: z.record(z.string(), cellSchema),
  by_tag: z.record(z.string(), cellSchema),
  failed: z.int(),
  /** Mean validity and optimality of every instance, in the set's order: what paired comparisons need. */
  outcomes: z.strictObject({ valid: z.array(z.number().nullable()), optimal: z.array(z.number().nullable()) }),
});
export type SetReport = z.infer<typeof setReportSchema>;

export interface SetReportInput {
  policy: string;
  set: string;
  instances: readonly InstanceBase[];
  objective: string;
  samples: number;
  judged: readonly JudgedInstance[];
}

export function setReport(input: SetReportInput): SetReport {
  const { judged, objective, samples } = input;
  const groups = (names: (item: JudgedInstance) => string[]) => {
    const lists = new Map<string, JudgedInstance[]>();
    for (const item of judged) for (const name of names(item)) lists.set(name, [...(lists.get(name) ?? []), item]);
    const sorted = [...lists].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
    return Object.fromEntries(sorted.map(([name, items]) => [name, setCell(items, objective, samples)]));
  };
  return {
    policy: input.policy,
    set: input.set,
    set_sha256: setHash(input.instances),
    objective,
    samples,
    total: setCell(judged, objective, samples),
    by_size: groups((item) => [item.stratum]),
    by_tag: groups((item) => Object.entries(item.tags).map(([tag, value]) => `${tag}=${value}`)),
    failed: judged.reduce((sum, item) => sum + item.samples.filter((s) => s.verdict === undefined).length, 0),
    outcomes: {
      valid: judged.map((item) => share(item, isValid) ?? null),
      optimal: judged.map((item) => share(item, isOptimal(objective)) ?? null),
    },
  };
}

function setCell(items: readonly JudgedInstance[], objective: string, k: number): SetCell {
  const answered = items.filter((item) => item.samples.some((s) => s.verdict !== undefined));
  const verdicts = answered.flatMap((item) => item.samples.flatMap((s) => s.verdict ?? []));
  const codes: Record<string, number> = {};
  const gaps: number[] = [];
  for (const verdict of verdicts) {
    codes[verdict.code] = (codes[verdict.code] ?? 0) + 1;
    const [cost, optimum] = [verdict.costs?.[objective], verdict.optima[objective]];
    if (verdict.ok && cost !== undefined && optimum !== undefined) gaps.push((cost - optimum) / Math.max(1, optimum));
  }
  const whole = answered.length > 0 && answered.every((item) => item.samples.filter((s) => s.verdict !== undefined).length >= k);
  const passed = answered.map((item) => Number(item.samples.some((s) => s.verdict?.ok === true)));
  return {
    n: answered.length,
    valid: clusteredRate(answered.map((item) => share(item, isValid)!)),
    optimal: clusteredRate(answered.map((item) => share(item, isOptimal(objective))!)),
    pass_at_k: whole ? clusteredRate(passed) : null,
    codes,
    tokens: mean(answered.flatMap((item) => item.samples.flatMap((s) => (s.verdict === undefined ? [] : [s.tokens])))),
    gap: mean(gaps),
  };
}

const isValid = (verdict: Verdict): boolean => verdict.ok;
const isOptimal =
  (objective: string) =>
  (verdict: Verdict): boolean =>
    verdict.ok && verdict.optimal[objective] === true;

/** Share of an instance's answers for which `holds`; undefined without an answer. */
function share(item: JudgedInstance, holds: (verdict: Verdict) => boolean): number | undefined {
  const verdicts = item.samples.flatMap((s) => s.verdict ?? []);
  return verdicts.length === 0 ? undefined : verdicts.filter(holds).length / verdicts.length;
}

function clusteredRate(means: readonly number[]): ReportedRate {
  const n = means.length;
  if (means.every((m) => m === 0 || m === 1)) {
    const rate = rateOf(means.filter((m) => m === 1).length, n);
    return { ...rate, interval: wilson(rate.rate, n) };
  }
  const rate = mean(means);
  const stderr = deviation(means) / Math.sqrt(n);
  return { rate, stderr, interval: [Math.max(0, rate - Z95 * stderr), Math.min(1, rate + Z95 * stderr)] };
}

/** `report` minus `reference`, paired over instances. @throws {InputError} for different sets. */
export function compareSetReports(reference: SetReport, report: SetReport): { valid: PairedDifference; optimal: PairedDifference } {
  if (reference.set_sha256 !== report.set_sha256 || reference.objective !== report.objective) {
    throw new InputError({
      message: `the evaluations are of different sets or objectives (${reference.set}, ${reference.objective}; ${report.set}, ${report.objective}), so their boards cannot be paired`,
      value: [reference.set_sha256, report.set_sha256],
      expected: "two evaluations of the same set with the same limit",
      remedy: "evaluate both policies on one set",
    });
  }
  return {
    valid: pairedShares(reference.outcomes.valid, report.outcomes.valid),
    optimal: pairedShares(reference.outcomes.optimal, report.outcomes.optimal),
  };
}

/** Over the instances that both answered: an outside failure on either side leaves the pair out. */
function pairedShares(a: readonly (number | null)[], b: readonly (number | null)[]): PairedDifference {
  const both = a.flatMap((x, i) => (x === null || b[i] === null || b[i] === undefined ? [] : [[x, b[i]] as const]));
  return pairedDifference(
    both.map(([x]) => x),
    both.map(([, y]) => y),
  );
}

export type SetFormat = "table" | "markdown" | "latex" | "csv";

/** The report by size in one of the text formats; rates in per cent (in CSV as shares, with every field). */
export function renderSetReport(report: SetReport, format: SetFormat): string {
  const cells: [string, SetCell][] = [...Object.entries(report.by_size), ["all", report.total]];
  if (format === "csv") {
    const rates = (r: ReportedRate | null) => (r === null ? ["", "", ""] : [r.rate, r.interval[0], r.interval[1]]);
    const head = [
      "size",
      "n",
      "valid",
      "valid_low",
      "valid_high",
      "optimal",
      "optimal_low",
      "optimal_high",
      "pass_at_k",
      "pass_low",
      "pass_high",
      "tokens",
      "gap",
    ];
    return [head, ...cells.map(([size, c]) => [size, c.n, ...rates(c.valid), ...rates(c.optimal), ...rates(c.pass_at_k), c.tokens, c.gap])].map((row) => row.join(",")).join("\n"); // biome-ignore format: one expression
  }
  const percent = (x: number) => (100 * x).toFixed(1);
  const rate = (r: ReportedRate | null) =>
    r === null ? "n/a" : `${percent(r.rate)} [${percent(r.interval[0])}, ${percent(r.interval[1])}]`;
  const several = report.samples > 1;
  const table: TextTable = {
    title: `${report.policy} on ${report.set}: ${report.total.n} instances, ${report.samples} ${several ? "samples each" : "sample each"}, objective ${report.objective}; % with 95 % interval`,
    head: ["size", "n", "valid", "optimal", ...(several ? [`valid in any of ${report.samples}`] : []), "gap", "tokens"],
    rows: cells.map(([size, c]) => [
      size,
      String(c.n),
      rate(c.valid),
      rate(c.optimal),
      ...(several ? [rate(c.pass_at_k)] : []),
      percent(c.gap),
      c.tokens.toFixed(1),
    ]),
    left: [0],
  };
  if (format === "latex") return latex(table);
  const codes = Object.entries(report.total.codes).sort(([, a], [, b]) => b - a).map(([code, n]) => `${code} ${n}`); // biome-ignore format: one line
  const failed = report.failed > 0 ? `\n${report.failed} completions failed outside of the policy and count in no rate.` : "";
  return `${format === "markdown" ? markdownTable(table) : terminalTable(table)}\n\nCodes: ${codes.join(", ")}${failed}`;
}

function latex(table: TextTable): string {
  const escaped = (cell: string) => cell.replace(/[%&_#$]/g, "\\$&");
  const rows = table.rows.map((row) => `  ${row.map(escaped).join(" & ")} \\\\`);
  return [
    `% ${table.title}`,
    `\\begin{tabular}{${table.head.map((_, c) => (table.left.includes(c) ? "l" : "r")).join("")}}`,
    "  \\toprule",
    `  ${table.head.map(escaped).join(" & ")} \\\\`,
    "  \\midrule",
    ...rows.slice(0, -1),
    "  \\midrule",
    ...rows.slice(-1),
    "  \\bottomrule",
    "\\end{tabular}",
  ].join("\n");
}
