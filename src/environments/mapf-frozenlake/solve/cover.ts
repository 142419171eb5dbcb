/**
 * The smallest integer cover: the least Σ xᵢ with xᵢ + xⱼ ≥ δᵢⱼ for every pair. When each pair of agents alone costs δᵢⱼ extra, all of them
 * together cost at least that: a lower bound. (Weighted vertex cover; compare Li et al., "Improved heuristics for MAPF with CBS", IJCAI 2019.)
 *
 * Three agents have a closed form: the largest weight or half the sum of the three, rounded up. With more, one agent after another is given
 * each sensible value, which leaves a smaller cover of what its value does not pay for.
 */

import { hashPosition } from "./packed-position.js";

const MAX = 8;
const LEVEL = MAX * MAX;
/** The weights that are left at each level, by level·64 + i·8 + j for i < j. */
const weights = new Int32Array(LEVEL * MAX);

/** @param delta delta[i·8 + j] for i < j < agents; 0 for a pair that does not interfere */
export function smallestCover(delta: ArrayLike<number>, agents: number): number {
  let least = 0;
  for (let i = 0; i < agents; i++) {
    for (let j = i + 1; j < agents; j++) {
      const d = delta[i * MAX + j]!;
      weights[i * MAX + j] = d;
      if (d > least) least = d;
    }
  }
  if (least === 0) return 0;
  while (!isWithin(0, 0, agents, least)) least++;
  return least;
}

/** Whether the smallest cover of the weights that begin at delta[at] is at most `limit`. */
export function coverFits(delta: ArrayLike<number>, at: number, agents: number, limit: number): boolean {
  for (let i = 0; i < agents; i++) {
    for (let j = i + 1; j < agents; j++) {
      const d = delta[at + i * MAX + j]!;
      if (d > limit) return false;
      weights[i * MAX + j] = d;
    }
  }
  return isWithin(0, 0, agents, limit);
}

/** Weights below this fit into five bits. */
export const PACKED_LIMIT = 32;
/** Covers that are remembered: a table by hash, in which the last one stays. */
const REMEMBERED = 1 << 16;
const lowOf = new Int32Array(REMEMBERED).fill(-1);
const highOf = new Int32Array(REMEMBERED);
const coverOf = new Uint8Array(REMEMBERED);

/**
 * The smallest cover of four or five agents, remembered: the same few weights are asked for again and again.
 * @param low the weights of the pairs (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), five bits each from the lowest
 * @param high in the same way those of the fifth agent with the others; 0 for four agents
 */
export function packedCover(low: number, high: number, agents: number): number {
  const slot = hashPosition(low, high) & (REMEMBERED - 1);
  if (lowOf[slot] === low && highOf[slot] === high) return coverOf[slot]!;
  let least = 0;
  for (let j = 1, pair = 0; j < agents; j++) {
    for (let i = 0; i < j; i++, pair++) {
      const d = (pair < 6 ? low >> (5 * pair) : high >> (5 * (pair - 6))) & (PACKED_LIMIT - 1);
      weights[i * MAX + j] = d;
      if (d > least) least = d;
    }
  }
  while (!isWithin(0, 0, agents, least)) least++;
  lowOf[slot] = low;
  highOf[slot] = high;
  coverOf[slot] = least;
  return least;
}

/** Whether the agents from `first` on have a cover of at most `limit` of the weights at `level`. */
function isWithin(level: number, first: number, agents: number, limit: number): boolean {
  const row = level + first * MAX;
  const left = agents - first;
  if (left <= 3) {
    if (left < 2) return limit >= 0;
    const a = weights[row + first + 1]!;
    if (left === 2) return a <= limit;
    const b = weights[row + first + 2]!;
    const c = weights[row + MAX + first + 2]!;
    return a <= limit && b <= limit && c <= limit && a + b + c <= 2 * limit;
  }
  let most = 0;
  for (let j = first + 1; j < agents; j++) if (weights[row + j]! > most) most = weights[row + j]!;
  const below = level + LEVEL;
  for (let x = 0; x <= most; x++) {
    // What the others must pay of their pairs with the first.
    let rest = limit - x;
    for (let j = first + 1; j < agents; j++) {
      const owed = weights[row + j]! - x;
      if (owed > 0) rest -= owed;
    }
    if (rest < 0) continue;
    for (let i = first + 1; i < agents; i++) {
      const owedOfI = weights[row + i]! > x ? weights[row + i]! - x : 0;
      for (let j = i + 1; j < agents; j++) {
        const owedOfJ = weights[row + j]! > x ? weights[row + j]! - x : 0;
        const open = weights[level + i * MAX + j]! - owedOfI - owedOfJ;
        weights[below + i * MAX + j] = Math.max(open, 0);
      }
    }
    if (isWithin(below, first + 1, agents, rest)) return true;
  }
  return false;
}
