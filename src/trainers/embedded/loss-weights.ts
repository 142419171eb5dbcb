/**
 * Loss types of GRPO as weights per token. Every type is L = Σ w_it · l_it over completion tokens; only w differs (TRL's definitions,
 * docs of GRPOTrainer, `loss_type`). One mask serves numerator and denominator: a masked completion has weight 0 and is not counted.
 *
 *   grpo     1 / (N · |o_i|)       mean over completions of the mean over tokens (DeepSeekMath, arXiv 2402.03300)
 *   dr_grpo  1 / (N · L_max)       no length bias (arXiv 2503.20783)
 *   bnpo     1 / T_update          mean over the tokens of this optimiser step
 *   dapo     U / T_batch           mean over the tokens of the whole sampled batch, split over its U optimiser steps (arXiv 2503.14476)
 */
import type { LossType } from "../../core/index.js";

export interface BatchShape {
  /** Completion lengths, in tokens, of this optimiser step; masked completions have `false` in `kept`. */
  lengths: readonly number[];
  kept: readonly boolean[];
  /** Kept tokens of the whole sampled batch. */
  batchTokens: number;
  /** Optimiser steps the batch is split over. */
  updates: number;
  maxTokens: number;
}

/** The weight of every token of completion i, one number per completion. */
export function tokenWeights(type: LossType, shape: BatchShape): number[] {
  const { lengths, kept, batchTokens, updates, maxTokens } = shape;
  let sequences = 0;
  let tokens = 0;
  lengths.forEach((length, i) => {
    if (kept[i]) {
      sequences += 1;
      tokens += length;
    }
  });
  const weightOf: Record<LossType, (length: number) => number> = {
    grpo: (length) => 1 / (sequences * length),
    dr_grpo: () => 1 / (sequences * maxTokens),
    bnpo: () => 1 / tokens,
    dapo: () => updates / batchTokens,
  };
  return lengths.map((length, i) => (kept[i] && length > 0 ? weightOf[type](length) : 0));
}
