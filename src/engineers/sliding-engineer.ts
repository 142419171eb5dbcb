/**
 * `sliding`: a range of difficulty that slides up with success. It begins at the easiest stratum; while the hardest stratum in range is
 * mastered the next one joins, and beyond a given width the easiest leaves. Shares are equal inside the range and 0 outside; ratios stay.
 *
 * Source: RLVE (arXiv 2511.07317), one range for each environment, moved when the success rate at its upper end over enough rollouts passes
 * a threshold. Deviations: success is the valid rate on the validation set, checked once a stage, so the range may move by several strata
 * at once. The range is replayed from the history each time, so nothing has to be saved. The defaults are this project's.
 */
import { computingEngineer, type Engineer } from "./engineer.js";
import { validRates, withShares } from "./shares.js";

export interface SlidingOptions {
  /** Valid rate from which the upper end of the range counts as mastered. */
  threshold?: number;
  /** Strata in the range at most. */
  width?: number;
}

export function slidingEngineer({ threshold = 0.9, width = 4 }: SlidingOptions = {}): Engineer {
  return computingEngineer("sliding", ({ context, family }) => {
    const strata = family.strata(context.config);
    let upper = 0;
    for (const stage of [...context.history, context]) {
      const rates = validRates(stage, family);
      while (upper < strata.length - 1 && (rates[upper] ?? 0) >= threshold) upper++;
    }
    const lower = Math.max(0, upper - width + 1);
    const weights = strata.map((_, i) => (i >= lower && i <= upper ? 1 : 0));
    return {
      table: withShares(context, family, weights),
      rationale: `Equal shares from ${family.stratumLabel} ${strata[lower]} to ${strata[upper]}.`,
    };
  });
}
