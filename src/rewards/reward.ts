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
import { InputError, type Reward, type RewardOptions, type Verdict } from "../core/index.js";

/** Codes of completions that hold no plan at all: no format credit under the `parsed` gate. */
const UNPARSED = new Set(["parse-error", "truncated"]);

/** @throws {InputError} when a valid plan beats an optimum: the instance's record is wrong, and no score under it means anything. */
export function accuracyTerm(verdict: Verdict, objective: string, vMin: number): number {
  if (!verdict.ok) return 0;
  const cost = verdict.costs?.[objective];
  const optimum = verdict.optima[objective];
  if (cost === undefined || optimum === undefined) throw new RangeError(`the verdict carries no cost under objective "${objective}"`);
  for (const [name, reached] of Object.entries(verdict.costs ?? {})) {
    const recorded = verdict.optima[name];
    if (recorded === undefined || reached >= recorded) continue;
    throw new InputError({
      message: `instance ${verdict.instance}: a valid plan has ${name} ${reached}, below the recorded optimum ${recorded}`,
      value: recorded,
      expected: `an optimum of at most ${reached}`,
      remedy: "leave the optimum out of the instance; it is computed",
    });
  }
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
