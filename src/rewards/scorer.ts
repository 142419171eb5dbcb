/** The scorer of a run: the family's verifier, the reward and the group statistics behind one function. */
import type {
  EnvironmentFamily,
  FinishReason,
  GroupScore,
  InstanceBase,
  Rendering,
  RewardOptions,
  Scorer,
  ScorerState,
} from "../core/index.js";
import { groupAdvantages } from "./advantage.js";
import { accuracyWeight, rewardOf } from "./reward.js";

export interface ScorerOptions {
  objective: string;
  rendering: Rendering;
  reward: RewardOptions;
  scale: "group" | "none";
}

export class FamilyScorer<I extends InstanceBase> implements Scorer<I> {
  private emaValid = 0;

  constructor(
    private readonly family: EnvironmentFamily<unknown, I>,
    private readonly options: ScorerOptions,
  ) {}

  scoreGroup(instance: I, completions: readonly { text: string; tokens: number; finishReason: FinishReason }[]): GroupScore {
    const { objective, rendering, reward } = this.options;
    const weight = accuracyWeight(this.emaValid, reward);
    const judged = completions.map((c) => {
      const verdict = this.family.verify(instance, c.text, c.finishReason, rendering);
      return { verdict, reward: rewardOf(verdict, c.tokens, objective, weight, reward) };
    });
    const { advantages, zeroVariance } = groupAdvantages(
      judged.map((j) => j.reward.total),
      this.options.scale,
    );
    return { completions: judged.map((j, i) => ({ ...j, advantage: advantages[i]! })), zeroVariance };
  }

  update(validRate: number): void {
    const decay = this.options.reward.ema_decay;
    this.emaValid = decay * this.emaValid + (1 - decay) * validRate;
  }

  state(): ScorerState {
    return { ema_valid: this.emaValid };
  }

  load(state: ScorerState): void {
    this.emaValid = state.ema_valid;
  }
}
