/**
 * Verdict → reward (paper: an accuracy term from validity and cost gap, a length term against verbosity, adaptive weights that move from
 * brevity to accuracy as the model improves). Knows no environment: it reads verdicts.
 *
 *   r     = w·r_acc + (1 − w)·r_len
 *   r_acc = 0 if not valid, else max(v_min, 1 − (cost − optimum)/optimum)
 *   r_len = clip((L_max − L)/(L_max − L_min), 0, 1) · gate
 *   w     = w_0 + (w_1 − w_0)·ema(valid rate)
 *
 * The paper's summaries give the terms and the direction of the weights; the formulas are this project's.
 */
import type { Reward, RewardOptions, Verdict } from "../core/index.js";

/** Codes of completions that hold no plan at all: no format credit under the `parsed` gate. */
const UNPARSED = new Set(["parse-error", "truncated"]);

export function accuracyTerm(verdict: Verdict, objective: string, vMin: number): number {
  if (!verdict.ok) return 0;
  const cost = verdict.costs?.[objective];
  const optimum = verdict.optima[objective];
  if (cost === undefined || optimum === undefined) throw new RangeError(`the verdict carries no cost under objective "${objective}"`);
  if (optimum === 0) return cost === 0 ? 1 : vMin;
  return Math.max(vMin, 1 - (cost - optimum) / optimum);
}

export function lengthTerm(verdict: Verdict, tokens: number, options: RewardOptions): number {
  const open = options.gate === "always" || (options.gate === "parsed" ? !UNPARSED.has(verdict.code) : verdict.ok);
  if (!open) return 0;
  return Math.min(1, Math.max(0, (options.length_max - tokens) / (options.length_max - options.length_min)));
}

export function accuracyWeight(emaValid: number, options: RewardOptions): number {
  return options.weight_start + (options.weight_end - options.weight_start) * emaValid;
}

/** @param tokens completion length, in tokens. */
export function rewardOf(verdict: Verdict, tokens: number, objective: string, weight: number, options: RewardOptions): Reward {
  const accuracy = accuracyTerm(verdict, objective, options.v_min);
  const length = lengthTerm(verdict, tokens, options);
  return { total: weight * accuracy + (1 - weight) * length, accuracy, length, weight };
}
