/**
 * One GRPO step, up to the gradient: prompts → groups of completions → scores → weighted training sequences and metrics.
 * (Shao et al., arXiv 2402.03300, section 4.1; clip-higher and dynamic filtering after DAPO, arXiv 2503.14476.)
 *
 * Deliberate deviations: groups without variance are dropped, not resampled; the batch is split by groups, so that one group's
 * completions always meet in one optimiser step.
 */
import { deviation, type GroupScore, type GrpoOptions, type InstanceBase, mean, type Rollout, type Scorer } from "../../core/index.js";
import type { SampleResult, TrainingSequence } from "../../nn/index.js";
import { tokenWeights } from "./loss-weights.js";

export interface ScoredGroup<I extends InstanceBase> {
  instance: I;
  stratum: string;
  prompt: Int32Array;
  samples: SampleResult[];
  texts: string[];
  score: GroupScore;
}

export function scoreGroups<I extends InstanceBase>(groups: readonly Omit<ScoredGroup<I>, "score">[], scorer: Scorer<I>): ScoredGroup<I>[] {
  return groups.map((group) => ({
    ...group,
    score: scorer.scoreGroup(
      group.instance,
      group.samples.map((s, i) => ({ text: group.texts[i]!, tokens: s.tokens.length, finishReason: s.finishReason })),
    ),
  }));
}

/** Training sequences of each optimiser step; empty lists where no group had variance. */
export function optimiserBatches<I extends InstanceBase>(groups: readonly ScoredGroup<I>[], options: GrpoOptions): TrainingSequence[][] {
  const used = options.zero_variance === "drop" ? groups.filter((g) => !g.score.zeroVariance) : [...groups];
  const kept = (s: SampleResult) => !(options.mask_truncated && s.finishReason === "length");
  let batchTokens = 0;
  for (const group of used) for (const s of group.samples) if (kept(s)) batchTokens += s.tokens.length;

  // Fewer groups than optimiser steps: fewer steps, or each would weigh as much as the whole batch.
  const updates = Math.min(options.updates, used.length);
  const parts: ScoredGroup<I>[][] = Array.from({ length: updates }, () => []);
  used.forEach((group, i) => {
    parts[i % updates]!.push(group);
  });
  return parts.map((part) => {
    const rows = part.flatMap((g) => g.samples.map((sample, i) => ({ g, sample, advantage: g.score.completions[i]!.advantage })));
    const weights = tokenWeights(options.loss, {
      lengths: rows.map((r) => r.sample.tokens.length),
      kept: rows.map((r) => kept(r.sample)),
      batchTokens,
      updates,
      maxTokens: options.max_tokens,
    });
    return rows.flatMap(({ g, sample, advantage }, i) => {
      if (weights[i] === 0) return [];
      const tokens = new Int32Array(g.prompt.length + sample.tokens.length);
      tokens.set(g.prompt);
      tokens.set(sample.tokens, g.prompt.length);
      return [
        {
          tokens,
          promptLength: g.prompt.length,
          weights: new Float32Array(sample.tokens.length).fill(weights[i]!),
          advantages: new Float32Array(sample.tokens.length).fill(advantage),
          oldLogProbs: sample.logProbs,
        },
      ];
    });
  });
}

/** TRL's metric names where they exist; `valid/<stratum>` and `rewards/*` beside them. */
export function rolloutMetrics<I extends InstanceBase>(groups: readonly ScoredGroup<I>[], objective: string): Record<string, number> {
  const all = groups.flatMap((g) => g.score.completions);
  const samples = groups.flatMap((g) => g.samples);
  const lengths = samples.map((s) => s.tokens.length);
  const metrics: Record<string, number> = {
    reward: mean(all.map((c) => c.reward.total)),
    reward_std: mean(groups.map((g) => (g.score.zeroVariance ? 0 : deviation(g.score.completions.map((c) => c.reward.total))))),
    frac_reward_zero_std: mean(groups.map((g) => (g.score.zeroVariance ? 1 : 0))),
    "rewards/accuracy": mean(all.map((c) => c.reward.accuracy)),
    "rewards/length": mean(all.map((c) => c.reward.length)),
    accuracy_weight: all[0]?.reward.weight ?? 0,
    valid: mean(all.map((c) => (c.verdict.ok ? 1 : 0))),
    optimal: mean(all.map((c) => (c.verdict.optimal[objective] === true ? 1 : 0))),
    "completions/mean_length": mean(lengths),
    "completions/min_length": Math.min(...lengths),
    "completions/max_length": Math.max(...lengths),
    "completions/clipped_ratio": mean(samples.map((s) => (s.finishReason === "length" ? 1 : 0))),
    completion_tokens: lengths.reduce((a, b) => a + b, 0),
  };
  const strata = [...new Set(groups.map((g) => g.stratum))].sort();
  for (const stratum of strata) {
    const inside = groups.filter((g) => g.stratum === stratum).flatMap((g) => g.score.completions);
    metrics[`valid/${stratum}`] = mean(inside.map((c) => (c.verdict.ok ? 1 : 0)));
  }
  return metrics;
}

export interface RatioMetrics {
  entropy: number;
  clip_ratio: number;
  "clip_ratio/low_mean": number;
  "clip_ratio/high_mean": number;
  /** k3 estimate of KL(sampler ‖ policy) over the tokens of the step. */
  kl_to_sampler: number;
  /** Largest |log p_training − log p_sampler|; on the first optimiser step it is the disagreement of the two graphs. */
  sampling_logp_difference: number;
}

/** Token means over one optimiser step, from the graph's log-probabilities before the step. */
export function ratioMetrics(
  sequences: readonly TrainingSequence[],
  logProbs: readonly Float32Array[],
  entropies: readonly Float32Array[],
  options: GrpoOptions,
): RatioMetrics {
  let tokens = 0;
  let low = 0;
  let high = 0;
  let kl = 0;
  let entropy = 0;
  let worst = 0;
  sequences.forEach((sequence, i) => {
    const old = sequence.oldLogProbs!;
    for (let t = 0; t < old.length; t++) {
      const difference = logProbs[i]![t]! - old[t]!;
      const ratio = Math.exp(difference);
      const advantage = sequence.advantages![t]!;
      if (ratio < 1 - options.clip_low && advantage < 0) low += 1;
      if (ratio > 1 + options.clip_high && advantage > 0) high += 1;
      kl += ratio - 1 - difference;
      entropy += entropies[i]![t]!;
      worst = Math.max(worst, Math.abs(difference));
    }
    tokens += old.length;
  });
  const per = (x: number) => (tokens === 0 ? 0 : x / tokens);
  return {
    entropy: per(entropy),
    clip_ratio: per(low + high),
    "clip_ratio/low_mean": per(low),
    "clip_ratio/high_mean": per(high),
    kl_to_sampler: per(kl),
    sampling_logp_difference: worst,
  };
}

/** The step's rollouts as records, one list per prompt, in the order of prompts and samples. */
export function rolloutRecords<I extends InstanceBase>(groups: readonly ScoredGroup<I>[], stage: number, step: number): Rollout[][] {
  return groups.map((group, p) =>
    group.samples.map((sample, i) => {
      const scored = group.score.completions[i]!;
      return {
        id: `${stage}/train/${step}/${p}/${i}`,
        instance: group.instance.id,
        stratum: group.stratum,
        stage,
        step,
        sample: i,
        completion: group.texts[i]!,
        tokens: sample.tokens.length,
        finish_reason: sample.finishReason,
        verdict: scored.verdict,
        reward: scored.reward,
        advantage: scored.advantage,
      };
    }),
  );
}
