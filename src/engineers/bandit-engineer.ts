/**
 * `bandit`: a bandit with one arm a stratum. Each arm's value follows its learning gain with a constant step, Q ← αr + (1 − α)Q, and shares
 * are a softmax of the values, exp(Q/τ); ratios stay as they are.
 *
 * Source: self-evolving curriculum (SEC; arXiv 2505.14970), where r is the mean absolute advantage of the arm's rollouts and the arm is
 * chosen for every batch. Deviations: the bandit acts once a stage and sets shares instead of drawing arms; an arm's r is the mean over the
 * whole stage; an arm that was not trained on keeps its value. A summary of a trainer that tells no advantages gives r as the share of
 * groups with variance times 2·√(p(1 − p)) of the training valid rate, which is the mean absolute advantage under normalisation when rewards
 * are valid or not. Values are replayed from the history each time, so nothing has to be saved. The defaults of α and τ are this project's.
 */
import type { TrainingSummary } from "../core/index.js";
import { computingEngineer, type Engineer } from "./engineer.js";
import { withShares } from "./shares.js";

export interface BanditOptions {
  /** α: weight of the newest gain. */
  rate?: number;
  /** τ: the lower, the more the best arm gets. */
  temperature?: number;
}

export function banditEngineer({ rate = 0.5, temperature = 0.3 }: BanditOptions = {}): Engineer {
  return computingEngineer("bandit", ({ context, family }) => {
    const strata = family.strata(context.config);
    const values = strata.map(() => 0);
    for (const { failures } of [...context.history, context]) {
      strata.forEach((stratum, i) => {
        const gain = learningGain(failures.training.strata[stratum]);
        if (gain !== undefined) values[i] = rate * gain + (1 - rate) * values[i]!;
      });
    }
    const highest = Math.max(...values);
    const weights = values.map((q) => Math.exp((q - highest) / temperature));
    const rounded = values.map((q, i) => `${strata[i]}: ${q.toFixed(3)}`).join(", ");
    return { table: withShares(context, family, weights), rationale: `Shares are a softmax of the learning gains (${rounded}).` };
  });
}

function learningGain(trained: TrainingSummary["strata"][string] | undefined): number | undefined {
  if (trained === undefined || trained.rollouts === 0) return undefined;
  return trained.mean_abs_advantage ?? (1 - trained.zero_variance) * 2 * Math.sqrt(trained.valid * (1 - trained.valid));
}
