/** From a distribution over tokens and one uniform number to a token. All of these are pure; ties go to the lowest id. */

export function softmaxInto(logits: Float32Array, out: Float32Array): void {
  let top = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < logits.length; i++) top = Math.max(top, logits[i]!);
  let sum = 0;
  for (let i = 0; i < logits.length; i++) {
    const e = Math.exp(logits[i]! - top);
    out[i] = e;
    sum += e;
  }
  for (let i = 0; i < logits.length; i++) out[i] = out[i]! / sum;
}

/** log softmax(logits)[token] of the `size` logits at `offset`. */
export function logProbAt(logits: Float32Array, offset: number, size: number, token: number): number {
  let top = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < size; i++) top = Math.max(top, logits[offset + i]!);
  let sum = 0;
  for (let i = 0; i < size; i++) sum += Math.exp(logits[offset + i]! - top);
  return logits[offset + token]! - top - Math.log(sum);
}

export function pickGreedy(probabilities: Float32Array, offset: number, size: number): number {
  let best = 0;
  for (let i = 1; i < size; i++) if (probabilities[offset + i]! > probabilities[offset + best]!) best = i;
  return best;
}

/** Inverse of the cumulative distribution at `uniform` in [0, 1). */
export function pickSampled(probabilities: Float32Array, offset: number, size: number, uniform: number): number {
  let cumulative = 0;
  let last = 0;
  for (let i = 0; i < size; i++) {
    const p = probabilities[offset + i]!;
    if (p <= 0) continue;
    cumulative += p;
    last = i;
    if (uniform < cumulative) return i;
  }
  return last; // The probabilities sum to 1 up to rounding.
}

/** Nucleus sampling (Holtzman et al., arXiv 1904.09751): the smallest set of likeliest tokens whose mass reaches topP. */
export function pickNucleus(probabilities: Float32Array, offset: number, size: number, topP: number, uniform: number): number {
  // All tokens below this together are less than what the nucleus leaves out: they need not be sorted.
  const least = (1 - topP) / (2 * size);
  const order: number[] = [];
  for (let i = 0; i < size; i++) if (probabilities[offset + i]! >= least) order.push(i);
  order.sort((a, b) => probabilities[offset + b]! - probabilities[offset + a]! || a - b);
  let mass = 0;
  let count = 0;
  while (count < order.length && mass < topP) mass += probabilities[offset + order[count++]!]!;
  let cumulative = 0;
  for (let i = 0; i < count; i++) {
    cumulative += probabilities[offset + order[i]!]!;
    if (uniform * mass < cumulative) return order[i]!;
  }
  return order[count - 1]!;
}

/** Among `allowed` only, by their logits: sampled with a uniform number, greedy without one. */
export function pickAllowed(logits: Float32Array, offset: number, allowed: readonly number[], uniform: number | undefined): number {
  let best = allowed[0]!;
  for (const token of allowed) {
    const difference = logits[offset + token]! - logits[offset + best]!;
    if (difference > 0 || (difference === 0 && token < best)) best = token;
  }
  if (uniform === undefined) return best;
  const top = logits[offset + best]!;
  const weights = allowed.map((token) => Math.exp(logits[offset + token]! - top));
  const total = weights.reduce((a, b) => a + b, 0);
  let cumulative = 0;
  for (let i = 0; i < allowed.length; i++) {
    cumulative += weights[i]!;
    if (uniform * total < cumulative) return allowed[i]!;
  }
  return best;
}
