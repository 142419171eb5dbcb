/**
 * The smallest integer cover: the least Σ xᵢ with xᵢ + xⱼ ≥ δᵢⱼ for every pair. When each pair of agents alone costs δᵢⱼ extra, all of them
 * together cost at least that: a lower bound. (Weighted vertex cover; compare Li et al., "Improved heuristics for MAPF with CBS", IJCAI 2019.)
 */

const MAX = 8;
const weights = new Int32Array(MAX * MAX);
let count = 0;

/** @param delta delta[i·8 + j] for i < j < agents; 0 for a pair that does not interfere */
export function smallestCover(delta: ArrayLike<number>, agents: number): number {
  let edges = 0;
  let last = 0;
  let sum = 0;
  for (let i = 0; i < agents; i++) {
    for (let j = i + 1; j < agents; j++) {
      const d = delta[i * MAX + j]!;
      weights[i * MAX + j] = weights[j * MAX + i] = d;
      if (d === 0) continue;
      edges++;
      last = d;
      sum += d;
    }
  }
  if (edges <= 1) return last;
  count = agents;
  return branch(0, 0, sum);
}

const chosen = new Int32Array(MAX);

/** Gives agent i each sensible value, given those of the agents before it. */
function branch(i: number, cost: number, best: number): number {
  if (cost >= best) return best;
  if (i === count) return cost;
  let least = 0;
  for (let j = 0; j < i; j++) least = Math.max(least, weights[i * MAX + j]! - chosen[j]!);
  let most = least;
  for (let j = i + 1; j < count; j++) most = Math.max(most, weights[i * MAX + j]!);
  for (let x = least; x <= most; x++) {
    chosen[i] = x;
    best = branch(i + 1, cost + x, best);
  }
  return best;
}
