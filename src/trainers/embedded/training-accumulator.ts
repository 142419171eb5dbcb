/** Running totals of a stage's training, per stratum: what module F tells the engineer about training. */
import type { InstanceBase, TrainingSummary } from "../../core/index.js";
import type { ScoredGroup } from "./grpo-step.js";

interface Totals {
  groups: number;
  zeroVariance: number;
  rollouts: number;
  valid: number;
  reward: number;
  accuracy: number;
  length: number;
}

export class TrainingAccumulator {
  private readonly strata = new Map<string, Totals>();
  private tokens = 0;

  add<I extends InstanceBase>(groups: readonly ScoredGroup<I>[]): void {
    for (const group of groups) {
      const t = this.strata.get(group.stratum) ?? { groups: 0, zeroVariance: 0, rollouts: 0, valid: 0, reward: 0, accuracy: 0, length: 0 };
      this.strata.set(group.stratum, t);
      t.groups += 1;
      if (group.score.zeroVariance) t.zeroVariance += 1;
      group.score.completions.forEach((c, i) => {
        t.rollouts += 1;
        t.valid += c.verdict.ok ? 1 : 0;
        t.reward += c.reward.total;
        t.accuracy += c.reward.accuracy;
        t.length += c.reward.length;
        this.tokens += group.samples[i]!.tokens.length;
      });
    }
  }

  summary(steps: number): TrainingSummary {
    const strata: TrainingSummary["strata"] = {};
    let rollouts = 0;
    for (const stratum of [...this.strata.keys()].sort((a, b) => Number(a) - Number(b) || (a < b ? -1 : 1))) {
      const t = this.strata.get(stratum)!;
      rollouts += t.rollouts;
      strata[stratum] = {
        rollouts: t.rollouts,
        valid: t.valid / t.rollouts,
        reward: t.reward / t.rollouts,
        accuracy: t.accuracy / t.rollouts,
        length: t.length / t.rollouts,
        zero_variance: t.zeroVariance / t.groups,
      };
    }
    return { steps, rollouts, completion_tokens: this.tokens, strata };
  }
}
