/**
 * `rule`: the evidence-based engineer. A pure function of what the compact context shows (levels 0–10), so that a miniature can learn to
 * imitate it exactly. It knows no environment: which failures call for which knob is what the family declares.
 *
 * Shares: learnability p(1 − p) of the valid rate (see learnability-engineer.ts), never below one level, so that nothing is forgotten and
 * a stratum without success is still looked at. A stratum that was not measured keeps its share.
 *
 * Ratios have a target on both sides: two levels above the bottom when none of the failures that call for the knob occur, one level more
 * for each tenth of the failures that they make up, eight at most. A knob moves at most three levels up towards its target and one level
 * down, so what was learned under it is not dropped at once.
 */
import type { EnvironmentFamily, KnobSpec } from "../core/index.js";
import { knobValues, type Level, type LevelTable } from "./compact-language.js";
import { compactView } from "./compact-rendering.js";
import type { CompactView, StratumView } from "./compact-view.js";
import { computingEngineer, type Engineer } from "./engineer.js";

const LEAST_TARGET = 2;
const GREATEST_TARGET = 8;
export const STEP_UP = 3;
const STEP_DOWN = 1;
const LEAST_SHARE = 1;
/** p(1 − p) at a half, in hundredths: the share level 10. */
const GREATEST_VARIANCE = 25;

/** The rule's choice: every knob of every stratum of the view, as levels. Each stratum is judged by itself. */
export function ruleTable(view: Pick<CompactView, "current">, family: Pick<EnvironmentFamily, "knobs">): LevelTable {
  return Object.fromEntries(
    view.current.map((s) => [
      s.stratum,
      Object.fromEntries(family.knobs.map((knob) => [knob.name, knob.kind === "share" ? shareLevel(s, knob) : ratioLevel(s, knob)])),
    ]),
  );
}

function shareLevel({ valid, knobs }: StratumView, knob: KnobSpec): Level {
  const level = valid === null ? (knobs[knob.name] ?? 0) : Math.round((10 * valid * (10 - valid)) / GREATEST_VARIANCE);
  return Math.max(LEAST_SHARE, level);
}

function ratioLevel(s: StratumView, knob: KnobSpec): Level {
  const now = s.knobs[knob.name] ?? 0;
  if (s.valid === null || knob.answers.length === 0) return now;
  const share = knob.answers.reduce((sum, code) => sum + (s.codes[code] ?? 0), 0);
  const target = Math.min(GREATEST_TARGET, LEAST_TARGET + share);
  return Math.min(now + STEP_UP, Math.max(now - STEP_DOWN, target));
}

export function ruleEngineer(): Engineer {
  return computingEngineer("rule", ({ context, variant, family }) => {
    const view = compactView(context, variant, family);
    const strata = view.current.map((s) => s.stratum);
    return {
      table: knobValues(ruleTable(view, family), strata, family.knobs),
      rationale: "Shares follow p(1 - p); each ratio moves toward a target that grows with the share of the failures it answers.",
    };
  });
}
