/**
 * `learnability`: shares in proportion to p(1 − p), the variance of success at a stratum, and nothing else moves.
 *
 * Source: sampling for learnability (SFL; Rutherford et al., "No Regrets", NeurIPS 2024, arXiv 2408.15099), which scores single levels and
 * trains on the highest-scoring ones mixed with fresh random ones. Deviations: the unit is a stratum, p is its valid rate on the validation
 * set, and sampling is proportional instead of a cut-off, which over a handful of strata would leave one.
 */
import { computingEngineer, type Engineer } from "./engineer.js";
import { validRates, withShares } from "./shares.js";

export function learnabilityEngineer(): Engineer {
  return computingEngineer("learnability", ({ context, family }) => {
    const weights = validRates(context, family).map((p) => (p === undefined ? 0 : p * (1 - p)));
    return { table: withShares(context, family, weights), rationale: "Shares are proportional to p(1 - p) of the valid rate." };
  });
}
