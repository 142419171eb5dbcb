/**
 * The smallest integer cover: the least Σ xᵢ with xᵢ + xⱼ ≥ δᵢⱼ for every pair. When each pair of agents alone costs δᵢⱼ extra, all of them
 * together cost at least that: a lower bound. (Weighted vertex cover; compare Li et al., "Improved heuristics for MAPF with CBS", IJCAI 2019.)
 *
 * Up to five agents have a closed form, the largest of bounds that every cover keeps to (pairs that share nobody add up; a sum in which
 * everybody counts k times is divided by k and rounded up). That the largest is reached is not proven here but tested against trying every
 * value; were it not, it would still be a lower bound. (Half of a ring of five is no more than a quarter of the fours: of each of these the
 * ring's two outer pairs share nobody.) With more agents, one after another is given each sensible value, which leaves a smaller cover of what
 * its value does not pay for.
 *
 * Weights are bytes at delta + i·8 + j for i < j, at most 61 (pair-increases.ts).
 */
import { byteAt, setByte } from "./bytes";

const MAX: i32 = 8;
const LEVEL: i32 = MAX * MAX;
/** The weights that are left at each level, by level·64 + i·8 + j for i < j. */
const WEIGHTS = memory.data(LEVEL * MAX, 16);
const CLOSED: i32 = 5;

export function weight(delta: usize, i: i32, j: i32): i32 {
  return byteAt(delta + i * MAX + j);
}

export function smallestCover(delta: usize, agents: i32): i32 {
  if (agents <= CLOSED) return closedCover(delta, agents);
  let least = 0;
  for (let i = 0; i < agents; i++) {
    for (let j = i + 1; j < agents; j++) {
      const d = weight(delta, i, j);
      setByte(WEIGHTS + i * MAX + j, d);
      if (d > least) least = d;
    }
  }
  if (least === 0) return 0;
  while (!isWithin(WEIGHTS, 0, agents, least)) least++;
  return least;
}

/** Whether the smallest cover is at most `limit`. */
// @inline
export function coverFits(delta: usize, agents: i32, limit: i32): bool {
  if (agents <= CLOSED) return closedCover(delta, agents) <= limit;
  for (let i = 0; i < agents; i++) {
    for (let j = i + 1; j < agents; j++) {
      const d = weight(delta, i, j);
      if (d > limit) return false;
      setByte(WEIGHTS + i * MAX + j, d);
    }
  }
  return isWithin(WEIGHTS, 0, agents, limit);
}

/** The smallest cover of at most five agents. */
function closedCover(delta: usize, agents: i32): i32 {
  if (agents < 2) return 0;
  const ab = weight(delta, 0, 1);
  if (agents === 2) return ab;
  const ac = weight(delta, 0, 2);
  const bc = weight(delta, 1, 2);
  const abc = ofThree(ab, ac, bc);
  if (agents === 3) return abc;
  const ad = weight(delta, 0, 3);
  const bd = weight(delta, 1, 3);
  const cd = weight(delta, 2, 3);
  const abd = ofThree(ab, ad, bd);
  const acd = ofThree(ac, ad, cd);
  const bcd = ofThree(bc, bd, cd);
  const abcd = ofFour(abc, abd, acd, bcd, ab + cd, ac + bd, ad + bc);
  if (agents === 4) return abcd;
  const ae = weight(delta, 0, 4);
  const be = weight(delta, 1, 4);
  const ce = weight(delta, 2, 4);
  const de = weight(delta, 3, 4);
  const abe = ofThree(ab, ae, be);
  const ace = ofThree(ac, ae, ce);
  const ade = ofThree(ad, ae, de);
  const bce = ofThree(bc, be, ce);
  const bde = ofThree(bd, be, de);
  const cde = ofThree(cd, ce, de);
  const abce = ofFour(abc, abe, ace, bce, ab + ce, ac + be, ae + bc);
  const abde = ofFour(abd, abe, ade, bde, ab + de, ad + be, ae + bd);
  const acde = ofFour(acd, ace, ade, cde, ac + de, ad + ce, ae + cd);
  const bcde = ofFour(bcd, bce, bde, cde, bc + de, bd + ce, be + cd);
  const fours = max(max(max(abcd, abce), max(abde, acde)), max(bcde, (abcd + abce + abde + acde + bcde + 3) >> 2));
  const apartOfA = max(max(ab + cde, ac + bde), max(ad + bce, ae + bcd));
  const apart = max(max(apartOfA, max(bc + ade, bd + ace)), max(max(be + acd, cd + abe), max(ce + abd, de + abc)));
  return max(fours, apart);
}

/** Of three agents: one pair, or half of all three. */
export function ofThree(ab: i32, ac: i32, bc: i32): i32 {
  return max(max(ab, ac), max(bc, (ab + ac + bc + 1) >> 1));
}

/** Of four agents: three of them, two pairs, or a third of all threes. */
export function ofFour(abc: i32, abd: i32, acd: i32, bcd: i32, ab_cd: i32, ac_bd: i32, ad_bc: i32): i32 {
  // ⌈x / 3⌉ for x < 2¹⁵.
  const third = ((abc + abd + acd + bcd + 2) * 43_691) >> 17;
  return max(max(max(abc, abd), max(acd, bcd)), max(max(ab_cd, ac_bd), max(ad_bc, third)));
}

/** Whether the agents from `first` on have a cover of at most `limit` of the weights at `level`. */
function isWithin(level: usize, first: i32, agents: i32, limit: i32): bool {
  const row = level + first * MAX;
  if (agents - first <= CLOSED) return closedCover(row + first, agents - first) <= limit;
  let most = 0;
  for (let j = first + 1; j < agents; j++) most = max(most, byteAt(row + j));
  const below = level + LEVEL;
  for (let x = 0; x <= most; x++) {
    // What the others must pay of their pairs with the first.
    let rest = limit - x;
    for (let j = first + 1; j < agents; j++) rest -= max(0, byteAt(row + j) - x);
    if (rest < 0) continue;
    for (let i = first + 1; i < agents; i++) {
      const owedOfI = max(0, byteAt(row + i) - x);
      for (let j = i + 1; j < agents; j++) {
        const owedOfJ = max(0, byteAt(row + j) - x);
        setByte(below + i * MAX + j, max(0, weight(level, i, j) - owedOfI - owedOfJ));
      }
    }
    if (isWithin(below, first + 1, agents, rest)) return true;
  }
  return false;
}
