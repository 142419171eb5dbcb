/** Learning-rate multipliers. Steps count from 0; every multiplier is in (0, 1]. */

/** Linear warm-up over `warmup` steps, then 1. */
export function warmupScale(step: number, warmup: number): number {
  return warmup <= 0 ? 1 : Math.min(1, (step + 1) / warmup);
}

/** Warm-up, plateau until `decayAfter` of the steps, then linear to `decayTo` at the last step. */
export function trapezoidScale(step: number, steps: number, warmup: number, decayAfter: number, decayTo: number): number {
  const start = steps * decayAfter;
  const decay = step <= start ? 1 : 1 - (1 - decayTo) * ((step - start) / Math.max(1, steps - 1 - start));
  return Math.min(warmupScale(step, warmup), Math.max(decayTo, decay));
}
