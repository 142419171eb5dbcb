/**
 * Several evaluations in the paper's layout: a row for each policy, and for each size a pair of columns, acc. (valid) and opt. (optimal), in
 * per cent; the last pair is over all sizes. Published rows may stand below ours, marked as published on other instances.
 */
import { InputError } from "../core/index.js";
import { latexNote, latexTable, latexText } from "./latex.js";
import { PUBLISHED_SOURCE, type PublishedRow, publishedCell } from "./published.js";
import { instanceCount, isPartial, type SetReport } from "./set-report.js";
import { answeredText, failureNote, PARTIAL_MARK, type SetFormat } from "./set-tables.js";
import { csvLines, markdownTable, terminalTable } from "./text-table.js";

/** Marks a published row; PARTIAL_MARK one of ours that is over the boards that were answered alone. */
const MARK = "†";

export interface PaperTable {
  sizes: string[];
  rows: {
    name: string;
    published: boolean;
    /** [acc., opt.] in per cent per size, "all" included; null where a row has no such size. */
    cells: Record<string, readonly [acc: number, opt: number] | null>;
    /** Per size: the instances that were answered, and the samples that failed outside. Of our rows alone. */
    counts: Record<string, readonly [n: number, failed: number]>;
    /** What failed outside, where something did; `partial` where it is so much that the row is marked. */
    failures?: string;
    partial: boolean;
  }[];
  title: string;
}

/** @throws {InputError} for evaluations of different sets or objectives, which do not belong in one table. */
export function paperTable(reports: readonly SetReport[], published: readonly PublishedRow[]): PaperTable {
  const [first] = reports;
  const other = reports.find((r) => r.set_sha256 !== first?.set_sha256 || r.objective !== first.objective);
  if (first === undefined || other !== undefined) {
    throw new InputError({
      message: `${other?.set ?? "nothing"} (${other?.objective ?? ""}) is another set or objective than ${first?.set ?? ""} (${first?.objective ?? ""}), so they do not belong in one table`,
      expected: "evaluations of one set under one objective",
      remedy: "print a table for each set",
    });
  }
  const ours = Object.keys(first.by_size);
  const sizes = [...ours, "all"];
  const own = reports.map((report) => {
    const cells = sizes.map((size) => [size, size === "all" ? report.total : report.by_size[size]] as const);
    const failures = failureNote(report, reports.length > 1);
    return {
      name: report.policy,
      published: false,
      cells: Object.fromEntries(
        cells.map(([size, cell]) => [
          size,
          cell === undefined || cell.n === 0 ? null : ([100 * cell.valid.rate, 100 * cell.optimal.rate] as const),
        ]),
      ),
      counts: Object.fromEntries(
        cells.flatMap(([size, cell]) => (cell === undefined ? [] : [[size, [cell.n, cell.failed] as const] as const])),
      ),
      ...(failures === undefined ? {} : { failures }),
      partial: isPartial(report),
    };
  });
  const theirs = published.map((row) => ({
    name: row.model,
    published: true,
    cells: Object.fromEntries(sizes.map((size) => [size, publishedCell(row, size, ours) ?? null])),
    counts: {},
    partial: false,
  }));
  // Several rows, each with its own failures, are told apart below the table.
  const counted = reports.length > 1 ? `${instanceCount(first)} instances` : answeredText(first);
  const title = `${first.set}: ${counted}, ${first.samples > 1 ? `${first.samples} samples each` : "1 sample each"}, objective ${first.objective}; acc. (valid) and opt. (optimal) in %`;
  return { sizes, rows: [...own, ...theirs], title };
}

export function renderPaperTable(table: PaperTable, format: SetFormat): string {
  const { sizes, rows, title } = table;
  const pairs = sizes.flatMap((size) => [`${size} acc.`, `${size} opt.`]);
  const mark = (row: PaperTable["rows"][number]) => (row.published ? ` ${MARK}` : row.partial ? ` ${PARTIAL_MARK}` : "");
  const shown = rows.map((row) => [`${row.name}${mark(row)}`, ...sizes.flatMap((size) => pairText(row.cells[size]))]);
  const notes = [
    ...rows.flatMap((row) => (row.failures === undefined || (format === "latex" && !row.partial) ? [] : [row.failures])),
    ...(rows.some((row) => row.published) ? [`${MARK} published: ${PUBLISHED_SOURCE}.`] : []),
  ];
  const own = rows.filter((row) => !row.published).length;
  if (format === "csv") {
    const lines = rows.flatMap((row) =>
      sizes.map((size) => [
        row.name,
        row.published ? "published on other instances" : "evaluated",
        size,
        ...(row.cells[size] ?? [null, null]),
        ...(row.counts[size] ?? [null, null]),
      ]),
    );
    return csvLines([["policy", "source", "size", "acc", "opt", "n", "failed"], ...lines]);
  }
  if (format === "latex") {
    const groups = sizes.map((size) => `\\multicolumn{2}{c}{${latexText(size)}}`);
    const rules = sizes.map((_, i) => `\\cmidrule(lr){${2 + 2 * i}-${3 + 2 * i}}`).join("");
    const text = latexTable({
      comment: title,
      columns: `l${"rr".repeat(sizes.length)}`,
      head: [`& ${groups.join(" & ")}`, rules, `policy & ${sizes.map(() => "acc. & opt.").join(" & ")}`],
      groups: [shown.slice(0, own), shown.slice(own)],
    });
    return `${text}${notes.map(latexNote).join("")}`;
  }
  const text = { title, head: ["policy", ...pairs], rows: shown, left: [0] };
  return `${format === "markdown" ? markdownTable(text) : terminalTable(text)}${notes.map((note) => `\n\n${note}`).join("")}`;
}

const pairText = (cell: readonly [number, number] | null | undefined): [string, string] =>
  cell === null || cell === undefined ? ["", ""] : [cell[0].toFixed(1), cell[1].toFixed(1)];
