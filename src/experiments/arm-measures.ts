/** The measures of an arm's engineer: each the mean over its runs that have it. They describe and decide nothing. */
import { decimal, mean } from "../core/index.js";
import { markdownTable } from "../evaluation/index.js";
import type { EngineerMeasures } from "./engineer-measures.js";

export interface ArmMeasures {
  /** Sums over the runs. */
  proposals: EngineerMeasures["proposals"];
  /** Share of the proposals that were taken without a repair. */
  accepted_share: number | null;
  /** Knob → mean rank correlation of the failures that it answers with its change; null where it never varies. */
  evidence_alignment: Record<string, number | null>;
  preservation: { shares: number | null; ratios: number | null };
  template: number | null;
  frontier_focus: number | null;
  /** Mean valid rate over the training tokens. */
  area_under_curve: number | null;
}

export function armMeasures(runs: readonly EngineerMeasures[]): ArmMeasures | undefined {
  if (runs.length === 0) return undefined;
  const proposals = { accepted: 0, repaired: 0, rejected: 0 };
  for (const run of runs) for (const key of Object.keys(proposals) as (keyof typeof proposals)[]) proposals[key] += run.proposals[key];
  const all = proposals.accepted + proposals.repaired + proposals.rejected;
  const meanOf = (value: (m: EngineerMeasures) => number | null | undefined) => {
    const known = runs.flatMap((m) => value(m) ?? []);
    return known.length === 0 ? null : mean(known);
  };
  const knobs = [...new Set(runs.flatMap((m) => Object.keys(m.evidence_alignment)))];
  return {
    proposals,
    accepted_share: all === 0 ? null : proposals.accepted / all,
    evidence_alignment: Object.fromEntries(knobs.map((knob) => [knob, meanOf((m) => m.evidence_alignment[knob]?.rho)])),
    preservation: { shares: meanOf((m) => m.preservation.shares), ratios: meanOf((m) => m.preservation.ratios) },
    template: meanOf((m) => m.template?.score),
    frontier_focus: meanOf((m) => m.frontier_focus),
    area_under_curve: meanOf((m) => m.area_under_curve),
  };
}

/** Empty where no arm has a measure. */
export function measuresMarkdown(arms: readonly { arm: string; measures: ArmMeasures | undefined }[]): string {
  const measured = arms.flatMap(({ arm, measures }) => (measures === undefined ? [] : [{ arm, measures }]));
  if (measured.length === 0) return "";
  const knobs = [...new Set(measured.flatMap(({ measures }) => Object.keys(measures.evidence_alignment)))];
  const percent = (x: number | null) => (x === null ? "n/a" : (100 * x).toFixed(1));
  return markdownTable({
    title: "Measures of the engineers (means over seeds)",
    head: [
      "arm",
      "accepted as written %",
      ...knobs.map((k) => `evidence → ${k}`),
      "kept shares",
      "kept ratios",
      "template",
      "frontier focus",
      "area under the curve %",
    ],
    rows: measured.map(({ arm, measures: m }) => [
      arm,
      percent(m.accepted_share),
      ...knobs.map((k) => decimal(m.evidence_alignment[k])),
      decimal(m.preservation.shares),
      decimal(m.preservation.ratios),
      decimal(m.template),
      decimal(m.frontier_focus),
      percent(m.area_under_curve),
    ]),
    left: [0],
  });
}
