/** One evaluation as text: a row for each size and one for all, in per cent with intervals, and what failed in columns of its own. */
import { points } from "../core/index.js";
import type { PairedOutcome } from "./inference.js";
import { latexNote, latexTable, latexText } from "./latex.js";
import { PUBLISHED_SOURCE, type PublishedRow, publishedCell } from "./published.js";
import {
  type IntervalRate,
  instanceCount,
  isPartial,
  MOST_FAILED,
  type SetCell,
  type SetComparison,
  type SetReport,
} from "./set-report.js";
import { csvLines, markdownTable, type TextTable, terminalTable } from "./text-table.js";

/** Marks what is over the boards that were answered alone. */
export const PARTIAL_MARK = "‡";
/** In place of a figure about no answer at all. */
const NOTHING = "–";

export type SetFormat = "table" | "markdown" | "latex" | "csv";

/** The report by size; rates in per cent, in CSV as shares with every field. */
export function renderSetReport(report: SetReport, format: SetFormat): string {
  if (format === "csv") return csvLines(setReportRows([report]));
  const table = sizeTable(report);
  if (format === "latex") {
    const head = [table.head.map(latexText).join(" & ")];
    const columns = table.head.map((_, c) => (table.left.includes(c) ? "l" : "r")).join("");
    const text = latexTable({ comment: table.title, columns, head, groups: [table.rows.slice(0, -1), table.rows.slice(-1)] });
    return isPartial(report) ? `${text}${latexNote(failureNote(report)!)}` : text;
  }
  return `${format === "markdown" ? markdownTable(table) : terminalTable(table)}\n\n${setNotes(report)}`;
}

function sizeTable(report: SetReport): TextTable {
  const cells = namedCells(report);
  const several = report.samples > 1;
  const objectives = Object.keys(report.total.objectives);
  const ks = Object.keys(report.total.pass_at);
  const { total } = report;
  const extra: [string, (cell: SetCell) => string][] = [
    ...(total.prompt_tokens === null ? [] : [["prompt", (c: SetCell) => fixed(c.prompt_tokens, 1)] as [string, (cell: SetCell) => string]]),
    ...(total.reasoning_tokens === null ? [] : [["reasoning", (c: SetCell) => fixed(c.reasoning_tokens, 1)] as [string, (cell: SetCell) => string]]), // biome-ignore format: one expression
    ...(total.latency === null ? [] : [["seconds", (c: SetCell) => fixed(c.latency?.mean ?? null, 2)] as [string, (cell: SetCell) => string]]), // biome-ignore format: one expression
    ...(total.price === null ? [] : [["$", (c: SetCell) => fixed(c.price, 4)] as [string, (cell: SetCell) => string]]),
  ];
  return {
    title: `${report.policy} on ${report.set}: ${answeredText(report)}, ${report.samples} ${several ? "samples each" : "sample each"}, objective ${report.objective}; % with 95 % interval`,
    head: [
      "size",
      "n",
      "acc.",
      ...objectives.flatMap((name) => [`opt. ${name}`, `gap ${name}`]),
      ...ks.map((k) => `pass@${k}`),
      "parse-error",
      "truncated",
      "failed",
      "tokens",
      ...extra.map(([name]) => name),
    ],
    rows: cells.map(([size, c]) => {
      const of = (figures: () => string[], count: number) => (c.n === 0 ? Array<string>(count).fill(NOTHING) : figures());
      return [
        isPartial(report) && c.failed_share > MOST_FAILED ? `${size} ${PARTIAL_MARK}` : size,
        String(c.n),
        ...of(
          () => [
            rateText(c.valid),
            ...objectives.flatMap((name) => [rateText(c.objectives[name]!.optimal), percentOf(c.objectives[name]!.gap)]),
            ...ks.map((k) => rateText(c.pass_at[k] ?? null)),
            percentOf((c.codes["parse-error"] ?? 0) / c.answers),
            percentOf((c.codes.truncated ?? 0) / c.answers),
          ],
          3 + 2 * objectives.length + ks.length,
        ),
        percentOf(c.failed_share),
        ...of(() => [c.tokens.toFixed(1), ...extra.map(([, value]) => value(c))], 1 + extra.length),
      ];
    }),
    left: [0],
  };
}

/** "60 instances"; where some were never answered or failed in part, how many of how many. */
export function answeredText(report: SetReport): string {
  const { n, answers, failed } = report.total;
  const all = instanceCount(report);
  const counted = n === all ? `${all} instances` : `${n} of ${all} instances`;
  return failed === 0 ? counted : `${counted} (${failed} of ${failed + answers} samples failed outside)`;
}

/** Codes over all answers, and what failed outside. */
export function setNotes(report: SetReport): string {
  const failed = failureNote(report);
  return `${codesNote(report)}${failed === undefined ? "" : `\n${failed}`}`;
}

/** What failed outside, with the mark of the totals where it is much; undefined where nothing did. @param named with the policy's name */
export function failureNote(report: SetReport, named = false): string | undefined {
  const { n, answers, failed, failed_share } = report.total;
  if (failed === 0) return undefined;
  const counted = `${failed} of ${failed + answers} samples (${percentOf(failed_share)} %) failed outside of the policy and count in no rate`;
  const who = named ? `${report.policy}: ` : "";
  if (!isPartial(report)) return `${who}${counted}.`;
  return `${PARTIAL_MARK} ${who}over what was answered, ${n} of ${instanceCount(report)} boards, and not over the set: ${counted}.`;
}

/** Codes over all answers, the most frequent first. */
export function codesNote(report: SetReport): string {
  const codes = Object.entries(report.total.codes).sort(([, a], [, b]) => b - a).map(([code, n]) => `${code} ${n}`); // biome-ignore format: one line
  return `Codes: ${codes.join(", ")}`;
}

/** Every figure of every size of several evaluations, one row each, with a head; published rows below, marked as such in place of the set. */
export function setReportRows(reports: readonly SetReport[], published: readonly PublishedRow[] = []): (string | number | null)[][] {
  const objectives = Object.keys(reports[0]?.total.objectives ?? {});
  const ks = [...new Set(reports.flatMap((r) => Object.keys(r.total.pass_at)))];
  const rate = (r: IntervalRate | null | undefined) => (r === null || r === undefined ? [null, null, null] : [r.rate, ...r.interval]);
  /** A rate of no board at all is none. */
  const rateOver = (c: SetCell, r: IntervalRate | null | undefined) => rate(c.n === 0 ? null : r);
  const bounds = (name: string) => [name, `${name}_low`, `${name}_high`];
  const head = [
    ...["policy", "set", "objective", "samples", "size", "n", "answers", "failed"],
    ...bounds("valid"),
    ...objectives.flatMap((name) => [...bounds(`optimal_${name}`), `gap_${name}`]),
    ...ks.flatMap((k) => bounds(`pass_at_${k}`)),
    ...[
      "parse_error",
      "truncated",
      "tokens",
      "prompt_tokens",
      "reasoning_tokens",
      "latency_mean",
      "latency_median",
      "latency_p95",
      "price",
    ],
  ];
  const rows = reports.flatMap((report) =>
    namedCells(report).map(([size, c]) => [
      ...[report.policy, report.set, report.objective, report.samples, size, c.n, c.answers, c.failed],
      ...rateOver(c, c.valid),
      ...objectives.flatMap((name) => [...rateOver(c, c.objectives[name]?.optimal), c.objectives[name]?.gap ?? null]),
      ...ks.flatMap((k) => rate(c.pass_at[k])),
      ...[c.codes["parse-error"] ?? 0, c.codes.truncated ?? 0, c.n === 0 ? null : c.tokens, c.prompt_tokens, c.reasoning_tokens],
      ...[c.latency?.mean ?? null, c.latency?.median ?? null, c.latency?.p95 ?? null, c.price],
    ]),
  );
  const sizes = Object.keys(reports[0]?.by_size ?? {});
  const theirs = published.flatMap((row) =>
    [...sizes, "all"].flatMap((size) => {
      const cell = publishedCell(row, size, sizes);
      if (cell === undefined) return [];
      const known: Record<string, string | number> = {
        ...{ policy: row.model, set: `published: ${PUBLISHED_SOURCE}`, objective: reports[0]!.objective, size },
        ...{ valid: share(cell[0]), [`optimal_${reports[0]!.objective}`]: share(cell[1]) },
      };
      return [head.map((name) => known[name] ?? null)];
    }),
  );
  return [head, ...rows, ...theirs];
}

/** Per cent with two digits as a share. */
const share = (percent: number): number => Math.round(percent * 100) / 10_000;

const namedCells = (report: SetReport): [string, SetCell][] => [...Object.entries(report.by_size), ["all", report.total]];

/** A comparison in one line. @param boards of the set: named where not all of them were answered in both */
export function comparisonLine(reference: string, { valid, objectives }: SetComparison, boards = valid.n): string {
  const paired = `Against ${reference}, paired on ${valid.n === boards ? "" : `${valid.n} of `}${boards} instances`;
  if (valid.n === 0) return `${paired}: none was answered in both.`;
  const parts = Object.entries(objectives).map(([name, outcome]) => `optimal (${name}) ${outcomeText(outcome)}`);
  return `${paired}: valid ${outcomeText(valid)}; ${parts.join("; ")}.`;
}

function outcomeText({ difference, interval, mcnemar }: PairedOutcome): string {
  const test = mcnemar === null ? "" : `; McNemar ${mcnemar.only_other} against ${mcnemar.only_reference}, p ${probability(mcnemar.p)}`;
  return `${points(difference)} points (95 % CI ${points(interval[0])} to ${points(interval[1])}${test})`;
}

const probability = (p: number): string => (p < 0.0001 ? "< 0.0001" : `= ${p.toFixed(4)}`);
const fixed = (x: number | null, digits: number): string => (x === null ? "n/a" : x.toFixed(digits));
const percent = (x: number): string => (100 * x).toFixed(1);
const percentOf = (x: number | null): string => (x === null ? "n/a" : percent(x));
const rateText = (r: IntervalRate | null): string =>
  r === null ? "n/a" : `${percent(r.rate)} [${percent(r.interval[0])}, ${percent(r.interval[1])}]`;
