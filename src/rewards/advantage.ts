/**
 * Rewards of one group → group-relative advantages (GRPO; Shao et al., DeepSeekMath, arXiv 2402.03300, section 4.1).
 *
 * A = r − mean, divided by (std + 1e-4) under `group` scaling, with the sample standard deviation (n − 1) as TRL has it. A group whose
 * rewards are all equal carries no information: its advantages are exactly 0, not the rounding error of a mean.
 */
import { deviation, mean, withoutVariance } from "../core/index.js";

const EPSILON = 1e-4;

export function groupAdvantages(rewards: readonly number[], scale: "group" | "none"): { advantages: number[]; zeroVariance: boolean } {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const r of rewards) {
    if (!Number.isFinite(r)) throw new RangeError(`a reward of ${r} cannot be compared`);
    low = Math.min(low, r);
    high = Math.max(high, r);
  }
  if (withoutVariance(low, high)) return { advantages: rewards.map(() => 0), zeroVariance: true };
  const centre = mean(rewards);
  const divisor = scale === "group" ? deviation(rewards) + EPSILON : 1;
  return { advantages: rewards.map((r) => (r - centre) / divisor), zeroVariance: false };
}
