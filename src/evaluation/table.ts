/**
 * A report as people read it: one plain sentence of what happened, then tables, in the terminal or as Markdown. Rates are in per cent,
 * differences in points. Says "no measurable change" where the interval holds zero.
 */
import { type PairedDifference, points, pointsWithin } from "../core/index.js";
import type { RunComparison } from "./comparison.js";
import type { ReportedRate, ReportedStage, ReportedValidation, RunReport } from "./report.js";
import { markdownTable, type TextTable, terminalTable } from "./text-table.js";

const percent = (x: number) => (100 * x).toFixed(1);
const rate = (r: ReportedRate) => `${percent(r.rate)} [${percent(r.interval[0])}, ${percent(r.interval[1])}]`;
const difference = (d: PairedDifference) => pointsWithin(d.difference, d.interval);

/** "The valid rate rose from a to b: +x points (95 % CI …), paired on n boards." */
export function changeSentence(what: string, from: number, to: number, change: PairedDifference): string {
  const [low, high] = change.interval;
  const verb = low > 0 ? "rose" : high < 0 ? "fell" : "went";
  const doubt = low > 0 || high < 0 ? "" : ": no measurable change";
  return (
    `The ${what} ${verb} from ${percent(from)} % to ${percent(to)} %: ${points(change.difference)} points ` +
    `(95 % CI ${points(low)} to ${points(high)}), paired on ${change.n} boards${doubt}.`
  );
}

export function summarySentences(report: RunReport): string[] {
  const { run, base, gain } = report;
  const last = report.stages.findLast((s) => s.validation !== undefined)?.validation;
  const unfinished = run.stages.finished < run.stages.planned;
  const sentences: string[] = [];
  if (base === undefined) sentences.push("Nothing has been validated yet.");
  else if (last === undefined || gain === undefined) {
    sentences.push(`The base checkpoint is valid on ${percent(base.valid.rate)} % of ${base.n} boards; no stage is finished yet.`);
  } else {
    sentences.push(changeSentence("valid rate on the validation set", base.valid.rate, last.valid.rate, gain.valid));
    sentences.push(changeSentence(`optimal rate (${run.objective})`, base.optimal.rate, last.optimal.rate, gain.optimal));
    sentences.push("The intervals are over boards of this one run; the spread over training seeds is not in them.");
    if (report.best !== undefined && report.best.valid > last.valid.rate) {
      const name = report.best.checkpoint === 0 ? "the base checkpoint" : `the checkpoint of stage ${report.best.checkpoint - 1}`;
      sentences.push(`The best valid rate, ${percent(report.best.valid)} %, is that of ${name}, not of the last one.`);
    }
  }
  if (report.held_out !== undefined) {
    const { base: before, last: after, gain: apart } = report.held_out;
    sentences.push(
      `On ${before.n} held-out boards that the engineer was never told about, ${changeSentence("valid rate", before.valid.rate, after.valid.rate, apart.valid)}`.replace(
        ", The ",
        ", the ",
      ),
    );
  }
  const failed = (base?.failed ?? 0) + report.stages.reduce((sum, s) => sum + (s.validation?.failed ?? 0), 0);
  if (failed > 0) sentences.push(`${failed} completions failed outside of the policy and are left out of the rates.`);
  if (unfinished) {
    sentences.push(
      `${run.stages.finished} of ${run.stages.planned} stages are finished; go on with: envwright run --resume ${report.run.dir}`,
    );
  }
  return sentences;
}

export function reportTables(report: RunReport): TextTable[] {
  return [validationTable(report), configTable(report), codesTable(report), proposalTable(report)].filter((t) => t.rows.length > 0);
}

export function reportText(report: RunReport): string {
  return [heading(report), summarySentences(report).join("\n"), ...reportTables(report).map(terminalTable)].join("\n\n");
}

export function reportMarkdown(report: RunReport): string {
  return [`## ${heading(report)}`, summarySentences(report).join(" "), ...reportTables(report).map(markdownTable)].join("\n\n");
}

export function comparisonSentence(comparison: RunComparison): string {
  const { valid, optimal, a, b } = comparison;
  const word = valid.interval[0] > 0 ? "above" : valid.interval[1] < 0 ? "below" : "not measurably different from";
  return (
    `${b} is ${word} ${a}: valid ${points(valid.difference)} points (95 % CI ${points(valid.interval[0])} to ${points(valid.interval[1])}), ` +
    `optimal ${points(optimal.difference)} (${points(optimal.interval[0])} to ${points(optimal.interval[1])}), ` +
    `last checkpoints, paired on ${valid.n} ${comparison.set} boards.`
  );
}

function heading({ run }: RunReport): string {
  return `${run.name} (${run.family}, engineer ${run.engineer} ${run.variant}, seed ${run.seed}): ${run.stages.finished} of ${run.stages.planned} stages`;
}

function validationTable(report: RunReport): TextTable {
  const sizes = strata(report);
  const row = (name: string, v: ReportedValidation, stage?: ReportedStage) => [
    name,
    rate(v.valid),
    rate(v.optimal),
    stage?.gain === undefined ? "" : difference(stage.gain.valid),
    ...sizes.map((s) => {
      const cell = v.by_size[s];
      return cell === undefined ? "" : `${percent(cell.valid.rate)} / ${percent(cell.optimal.rate)}`;
    }),
    v.tokens.toFixed(1),
    stage?.tokens === undefined ? "" : (stage.tokens.total / 1e6).toFixed(stage.tokens.total < 1e5 ? 4 : 2),
  ];
  const n = (report.base ?? report.stages.find((s) => s.validation)?.validation)?.n ?? 0;
  return {
    title: `Validation on ${n} boards: rate in % with 95 % interval; by ${report.run.stratum} valid / optimal`,
    head: ["stage", "valid", "optimal", "gain over base", ...sizes, "tokens", "sampled, M"],
    rows: [
      ...(report.base === undefined ? [] : [row("base", report.base)]),
      ...report.stages.flatMap((s) => (s.validation === undefined ? [] : [row(String(s.index), s.validation, s)])),
    ],
    left: [0],
  };
}

/** Knobs of each stratum in per cent; an arrow where what was generated differs from what was asked, to the digit shown. */
function configTable(report: RunReport): TextTable {
  const sizes = [...new Set(report.stages.flatMap((s) => Object.keys(s.data)))].sort(byNumber);
  const knobs = [...new Set(report.stages.flatMap((s) => Object.values(s.data).flatMap((d) => Object.keys(d.requested))))];
  const cell = (data: ReportedStage["data"][string] | undefined) => {
    if (data === undefined) return "";
    const shown = knobs.map((knob) => {
      const [asked, made] = [data.requested[knob], data.realised[knob]].map((x) => (x === undefined ? "?" : String(Math.round(100 * x))));
      return asked === made || made === "?" ? asked : `${asked}→${made}`;
    });
    return shown.join("/");
  };
  const names = knobs.map((k) => k.replace(/_ratio$/, "")).join("/");
  return {
    title: `Config of each stage, by ${report.run.stratum}: ${names} in %, asked→made where they differ`,
    head: ["stage", "from", ...sizes],
    rows: report.stages
      .filter((s) => Object.keys(s.data).length > 0)
      .map((s) => [String(s.index), s.provenance.source, ...sizes.map((size) => cell(s.data[size]))]),
    left: [0, 1, ...sizes.map((_, i) => i + 2)],
  };
}

function codesTable(report: RunReport): TextTable {
  const validations = [
    ...(report.base === undefined ? [] : [{ name: "base", v: report.base }]),
    ...report.stages.flatMap((s) => (s.validation === undefined ? [] : [{ name: String(s.index), v: s.validation }])),
  ];
  const total = (code: string) => validations.reduce((sum, { v }) => sum + (v.codes[code] ?? 0), 0);
  const codes = [...new Set(validations.flatMap(({ v }) => Object.keys(v.codes)))]
    .filter((code) => code !== "valid")
    .sort((a, b) => total(b) - total(a) || (a < b ? -1 : 1));
  return {
    title: "Failure codes, % of answers",
    head: ["stage", ...codes],
    rows:
      codes.length === 0
        ? []
        : validations.map(({ name, v }) => [name, ...codes.map((c) => percent((v.codes[c] ?? 0) / Math.max(1, v.n)))]),
    left: [0],
  };
}

function proposalTable(report: RunReport): TextTable {
  return {
    title: "Proposals",
    head: ["after stage", "engineer", "outcome", "asked", "repairs", "guardrails", "reasons"],
    rows: report.stages.flatMap(({ index, proposal }) =>
      proposal === undefined
        ? []
        : [
            [
              String(index),
              `${proposal.engineer} ${proposal.variant}`,
              proposal.outcome,
              String(proposal.attempts),
              String(proposal.repairs),
              proposal.guardrails.join(", "),
              proposal.reasons.join("; "),
            ],
          ],
    ),
    left: [0, 1, 2, 5, 6],
  };
}

function strata(report: RunReport): string[] {
  const validations = [report.base, ...report.stages.map((s) => s.validation)];
  return [...new Set(validations.flatMap((v) => Object.keys(v?.by_size ?? {})))].sort(byNumber);
}

function byNumber(a: string, b: string): number {
  return Number(a) - Number(b) || (a < b ? -1 : a > b ? 1 : 0);
}
