/** Data ratios from weights: what engineers that choose how much of each stratum is trained on have in common. */
import type { EnvironmentFamily, KnobTable } from "../core/index.js";
import type { EngineerContext } from "./context.js";

/**
 * The knobs of the context's config with every share knob set in proportion to `weights` (one for each stratum, in the family's order).
 * When no weight is positive the config stays as it is: there is no evidence for another.
 */
export function withShares(context: EngineerContext, family: EnvironmentFamily, weights: readonly number[]): KnobTable {
  const previous = family.knobTable(context.config);
  const sum = weights.reduce((total, w) => total + w, 0);
  const shares = family.knobs.filter((k) => k.kind === "share").map((k) => k.name);
  return Object.fromEntries(
    family.strata(context.config).map((stratum, i) => {
      const row = { ...previous[stratum] };
      if (sum > 0) for (const name of shares) row[name] = weights[i]! / sum;
      return [stratum, row];
    }),
  );
}

/** The valid rate of each stratum on the validation set, in the family's order; undefined where nothing was measured. */
export function validRates(
  { failures, config }: Pick<EngineerContext, "failures" | "config">,
  family: EnvironmentFamily,
): (number | undefined)[] {
  return family.strata(config).map((stratum) => {
    const cell = failures.validation[stratum];
    return cell === undefined || cell.n === 0 ? undefined : cell.valid.rate;
  });
}
