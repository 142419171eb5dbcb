/**
 * Rewarded rollouts, as they come from the trainer → TrainingSummary. An accumulator, since a stage's rollouts need not fit in memory at
 * once. Rollouts that an outside failure ended are left out of every mean.
 */
import { InputError, type Rollout, type TrainingSummary, withoutVariance } from "../core/index.js";

interface StratumSums {
  groups: number;
  flatGroups: number;
  rollouts: number;
  valid: number;
  reward: number;
  accuracy: number;
  length: number;
  /** Rollouts that carry an advantage, and the sum of its size over them. */
  advantages: number;
  advantage: number;
}

export class TrainingAccumulator {
  private readonly steps = new Set<number>();
  private readonly strata = new Map<string, StratumSums>();
  private rollouts = 0;
  private tokens = 0;

  /**
   * Adds the rollouts of one prompt at one step.
   * @throws {InputError} a rollout of another stratum in the group, or one with neither a verdict and reward nor a failure.
   */
  add(group: readonly Rollout[]): void {
    const first = group[0];
    if (first === undefined) return;
    const sums = this.sumsOf(first.stratum);
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (const rollout of group) {
      if (rollout.stratum !== first.stratum) throw strayRollout(rollout, first);
      this.steps.add(rollout.step);
      this.rollouts++;
      this.tokens += rollout.tokens;
      const { verdict, reward } = rollout;
      if (rollout.failure !== undefined) continue;
      if (verdict === undefined || reward === undefined) throw unscoredRollout(rollout);
      sums.rollouts++;
      if (verdict.ok) sums.valid++;
      sums.reward += reward.total;
      sums.accuracy += reward.accuracy;
      sums.length += reward.length;
      if (rollout.advantage !== undefined) {
        sums.advantages++;
        sums.advantage += Math.abs(rollout.advantage);
      }
      low = Math.min(low, reward.total);
      high = Math.max(high, reward.total);
    }
    if (low > high) return;
    sums.groups++;
    if (withoutVariance(low, high)) sums.flatGroups++;
  }

  summary(): TrainingSummary {
    const strata: TrainingSummary["strata"] = {};
    for (const [stratum, s] of this.strata) {
      const share = (sum: number, n: number) => (n === 0 ? 0 : sum / n);
      strata[stratum] = {
        rollouts: s.rollouts,
        valid: share(s.valid, s.rollouts),
        reward: share(s.reward, s.rollouts),
        accuracy: share(s.accuracy, s.rollouts),
        length: share(s.length, s.rollouts),
        zero_variance: share(s.flatGroups, s.groups),
        ...(s.advantages === 0 ? {} : { mean_abs_advantage: s.advantage / s.advantages }),
      };
    }
    return { steps: this.steps.size, rollouts: this.rollouts, completion_tokens: this.tokens, strata };
  }

  private sumsOf(stratum: string): StratumSums {
    let sums = this.strata.get(stratum);
    if (sums === undefined) {
      sums = { groups: 0, flatGroups: 0, rollouts: 0, valid: 0, reward: 0, accuracy: 0, length: 0, advantages: 0, advantage: 0 };
      this.strata.set(stratum, sums);
    }
    return sums;
  }
}

function strayRollout(rollout: Rollout, first: Rollout): InputError {
  return new InputError({
    message: `rollout ${rollout.id} of stratum "${rollout.stratum}" in a group of stratum "${first.stratum}"`,
    value: rollout.stratum,
    expected: "rollouts of one prompt",
    remedy: "add one group at a time",
  });
}

function unscoredRollout(rollout: Rollout): InputError {
  return new InputError({
    message: `rollout ${rollout.id} has neither a verdict with its reward nor a failure`,
    value: rollout.id,
    expected: "a scored rollout",
    remedy: "score the group before it is summarised",
  });
}
