/** The measures of a run's engineer, from its stored stages: what `envwright report` adds to the rates. They describe and decide nothing. */
import { decimal, failureSummarySchema, mean, pointsWithin } from "../core/index.js";
import {
  areaUnderCurve,
  type Correlation,
  type EngineeringStep,
  evidenceAlignment,
  frontierFocus,
  type Gain,
  gains,
  preservation,
  templateScore,
  validityCounts,
} from "../engineers/index.js";
import { familyByName } from "../environments/index.js";
import type { RunHistory, RunReader, TextTable } from "../evaluation/index.js";

export interface EngineerMeasures {
  /** Outcomes of the proposals. */
  proposals: Record<"accepted" | "repaired" | "rejected", number>;
  /** Knob → rank correlation of the failures it answers with its change. */
  evidence_alignment: Record<string, Correlation>;
  /** Mean over proposals: data share of mastered strata that was kept, and ratios without failures that were kept; null where there were none. */
  preservation: { shares: number | null; ratios: number | null };
  /** How monotone the configs are in difficulty and how little they move: 1 is a template; null where every proposal was rejected. */
  template: { monotone: number; still: number; score: number } | null;
  /** Mean share of proposed data where 20 to 80 % of the answers were valid; null where every proposal was rejected. */
  frontier_focus: number | null;
  /** Mean valid rate over the training tokens (trapezoids); null before the first stage. */
  area_under_curve: number | null;
  /** Of valid rate, from checkpoint to checkpoint and from the base to the last, paired over boards; `total` is null before the first stage. */
  gains: { stages: Gain[]; total: Gain | null };
}

/** Undefined for a run without a proposal. */
export async function measureEngineer(run: RunReader, history: RunHistory): Promise<EngineerMeasures | undefined> {
  const family = familyByName(history.recipe.family);
  const steps: EngineeringStep[] = [];
  for (const { index, config, proposal } of history.stages) {
    if (proposal === undefined || proposal.outcome === "rejected" || !(await run.has(index, "failures.json"))) continue;
    steps.push({
      failures: await run.readRecord(index, "failures.json", failureSummarySchema),
      before: family.knobTable(config.normalised),
      after: family.knobTable(proposal.config),
    });
  }
  const proposals = history.stages.flatMap((s) => s.proposal ?? []);
  if (proposals.length === 0) return undefined;
  const kept = steps.map((step) => preservation(step, family));
  const meanOf = (values: (number | null)[]) => {
    const known = values.flatMap((v) => v ?? []);
    return known.length === 0 ? null : mean(known);
  };
  return {
    proposals: validityCounts(proposals),
    evidence_alignment: evidenceAlignment(steps, family),
    preservation: { shares: meanOf(kept.map((k) => k.shares)), ratios: meanOf(kept.map((k) => k.ratios)) },
    template: steps.length === 0 ? null : templateScore(steps.map((s) => s.after), family), // biome-ignore format: one measure
    frontier_focus: meanOf(steps.map((s) => frontierFocus(s.after, s.failures, family))),
    area_under_curve: areaUnderCurve(validOverTokens(history)),
    gains: gainsOf(history),
  };
}

function validOverTokens(history: RunHistory): { x: number; y: number }[] {
  let x = 0;
  const points = history.base === undefined ? [] : [{ x, y: history.base.total.valid.rate }];
  for (const { training, validation } of history.stages) {
    if (training === undefined || validation === undefined) continue;
    x += training.completion_tokens;
    points.push({ x, y: validation.total.valid.rate });
  }
  return points;
}

/** Over the stages that are validated: a run that goes on has gains so far. */
function gainsOf({ base, stages }: RunHistory): EngineerMeasures["gains"] {
  const done = stages.flatMap(({ validation, training }) => (validation === undefined ? [] : [{ validation, training }]));
  const reports = [...(base === undefined ? [] : [base]), ...done.map((s) => s.validation)];
  return gains(
    reports,
    done.map((s) => s.training?.completion_tokens ?? 0),
  );
}

export function measuresTable(m: EngineerMeasures): TextTable {
  const { accepted, repaired, rejected } = m.proposals;
  return {
    title: "Measures of the engineer",
    head: ["measure", "value", "meaning"],
    rows: [
      ["proposals", `${accepted}/${repaired}/${rejected}`, "accepted / repaired / rejected"],
      ...Object.entries(m.evidence_alignment).map(([knob, { rho, n }]) => [
        `evidence → ${knob}`,
        decimal(rho),
        `rank correlation of the failures it answers with its change (n ${n})`,
      ]),
      ["preservation, shares", decimal(m.preservation.shares), "data share of mastered strata that was kept"],
      ["preservation, ratios", decimal(m.preservation.ratios), "knobs without failures that were kept"],
      ["template", decimal(m.template?.score ?? null), "1: monotone in size and never moving"],
      ["frontier focus", decimal(m.frontier_focus), "data where 20 to 80 % of the answers are valid"],
      ["area under the curve", decimal(m.area_under_curve), "mean valid rate over training tokens"],
      ...m.gains.stages.map((gain, stage) => [
        `gain of stage ${stage}`,
        pointsWithin(gain.difference, gain.interval),
        stage === 0 ? "valid rate from checkpoint to checkpoint, points; 95 % over boards" : "",
      ]),
      ["gain per M tokens", perMillion(m.gains.total), "of valid rate from the base to the last checkpoint, points; 95 % over boards"],
    ],
    left: [0, 2],
  };
}

function perMillion(gain: Gain | null): string {
  if (gain === null || gain.perMillionTokens === null) return "n/a";
  const [low, high] = gain.interval;
  return pointsWithin(gain.perMillionTokens, [(1e6 * low) / gain.tokens, (1e6 * high) / gain.tokens]);
}
