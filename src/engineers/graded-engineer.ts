/**
 * `graded`: as `rule` where a stratum has success, and easier where it hardly has any: below the threshold its ratios go down as fast as
 * the rule would take them up, whatever fails. A group of answers without a single success teaches nothing, and more of the failure it is
 * answered with makes such groups commoner.
 *
 * Source: automatic domain randomization (OpenAI et al., "Solving Rubik's Cube with a Robot Hand", 2019, arXiv 1910.07113), which widens a
 * parameter's range where performance is above one threshold and narrows it below another. Deviations: a ratio is a value and not a range,
 * it widens by the rule's evidence, and the threshold is the rate at which nine of ten groups of eight answers have a success.
 */
import { knobValues } from "./compact-language.js";
import { compactView } from "./compact-rendering.js";
import { computingEngineer, type Engineer } from "./engineer.js";
import { ruleTable, STEP_UP } from "./rule-engineer.js";

/** Valid rates in tenths: 1 − (1 − p)⁸ = 0.9 at p = 0.25. */
const LEAST_VALID = 2.5;

export function gradedEngineer(): Engineer {
  return computingEngineer("graded", ({ context, variant, family }) => {
    const view = compactView(context, variant, family);
    const table = ruleTable(view, family);
    for (const { stratum, valid, knobs } of view.current) {
      if (valid === null || valid >= LEAST_VALID) continue;
      for (const { name, kind, answers } of family.knobs) {
        // A ratio that no failure calls for has no easier end.
        if (kind === "ratio" && answers.length > 0) table[stratum]![name] = Math.max(0, (knobs[name] ?? 0) - STEP_UP);
      }
    }
    const strata = view.current.map((s) => s.stratum);
    return {
      table: knobValues(table, strata, family.knobs),
      rationale: "As the rule where a quarter succeeds; below that every ratio goes down, so that there is success to learn from.",
    };
  });
}
