/** A difference of shares as people read it: 0.0123 as "+1.2", −0.0123 as "−1.2"; what rounds to nothing has no sign. */
export function points(difference: number): string {
  const size = Math.abs(100 * difference).toFixed(1);
  return size === "0.0" ? size : `${difference < 0 ? "−" : "+"}${size}`;
}

/** The same with its interval: "+1.2 [−0.3, +2.7]". */
export function pointsWithin(difference: number, [low, high]: readonly [number, number]): string {
  return `${points(difference)} [${points(low)}, ${points(high)}]`;
}

/** A measure as people read it, with two decimals. */
export function decimal(x: number | null | undefined): string {
  return x === null || x === undefined ? "n/a" : x.toFixed(2).replace("-", "−");
}
