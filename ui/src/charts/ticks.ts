/** Round values between two bounds, at most `most` of them: 1, 2 or 5 times a power of ten apart. */
export function niceTicks(low: number, high: number, most: number): number[] {
  const least = (high - low) / Math.max(1, most - 1);
  if (!(least > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5, 10].find((s) => s * power >= least - 1e-12 * power) ?? 10);
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step);
  return ticks;
}

/** A tick of a rate, in per cent, with as many places as its neighbours need. */
export function percentTick(tick: number, ticks: readonly number[]): string {
  const step = ticks.length > 1 ? ticks[1]! - ticks[0]! : 1;
  return (100 * tick).toFixed(step < 0.0099 ? 1 : 0);
}
