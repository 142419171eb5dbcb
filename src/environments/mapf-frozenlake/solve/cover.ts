/**
 * The smallest integer cover: the least Σ xᵢ with xᵢ + xⱼ ≥ δᵢⱼ for every pair. When each pair of agents alone costs δᵢⱼ extra, all of them
 * together cost at least that: a lower bound. (Weighted vertex cover; compare Li et al., "Improved heuristics for MAPF with CBS", IJCAI 2019.)
 *
 * Up to five agents have a closed form, the largest of bounds that every cover keeps to (pairs that share nobody add up; a sum in which
 * everybody counts k times is divided by k and rounded up). That the largest is reached is not proven here but tested against trying every
 * value; were it not, it would still be a lower bound. With more agents, one after another is given each sensible value, which leaves a
 * smaller cover of what its value does not pay for.
 */

const MAX = 8;
const LEVEL = MAX * MAX;
/** The weights that are left at each level, by level·64 + i·8 + j for i < j. */
const weights = new Int32Array(LEVEL * MAX);
const CLOSED = 5;

/** @param delta delta[i·8 + j] for i < j < agents; 0 for a pair that does not interfere */
export function smallestCover(delta: Int32Array, agents: number): number {
  if (agents <= CLOSED) return closedCover(delta, 0, agents);
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
export function coverFits(delta: Int32Array, at: number, agents: number, limit: number): boolean {
  if (agents === 3) return ofThree(delta[at + 1]!, delta[at + 2]!, delta[at + MAX + 2]!) <= limit;
  if (agents === 4) return fourFit(delta, at, limit);
  if (agents <= CLOSED) return closedCover(delta, at, agents) <= limit;
  for (let i = 0; i < agents; i++) {
    for (let j = i + 1; j < agents; j++) {
      const d = delta[at + i * MAX + j]!;
      if (d > limit) return false;
      weights[i * MAX + j] = d;
    }
  }
  return isWithin(0, 0, agents, limit);
}

/** As `closedCover(delta, at, 4) <= limit`, without the bounds that are not needed. */
function fourFit(delta: Int32Array, at: number, limit: number): boolean {
  const ab = delta[at + 1]!;
  const cd = delta[at + 2 * MAX + 3]!;
  if (ab + cd > limit) return false;
  const ac = delta[at + 2]!;
  const bd = delta[at + MAX + 3]!;
  if (ac + bd > limit) return false;
  const ad = delta[at + 3]!;
  const bc = delta[at + MAX + 2]!;
  if (ad + bc > limit) return false;
  const abc = ab + ac + bc;
  const abd = ab + ad + bd;
  const acd = ac + ad + cd;
  const bcd = bc + bd + cd;
  const twice = 2 * limit;
  if (abc > twice || abd > twice || acd > twice || bcd > twice) return false;
  return ofThree(ab, ac, bc) + ofThree(ab, ad, bd) + ofThree(ac, ad, cd) + ofThree(bc, bd, cd) <= 3 * limit;
}

/** The smallest cover of at most five agents, whose weights begin at delta[at]. */
function closedCover(delta: Int32Array, at: number, agents: number): number {
  if (agents < 2) return 0;
  const ab = delta[at + 1]!;
  if (agents === 2) return ab;
  const ac = delta[at + 2]!;
  const bc = delta[at + MAX + 2]!;
  const abc = ofThree(ab, ac, bc);
  if (agents === 3) return abc;
  const ad = delta[at + 3]!;
  const bd = delta[at + MAX + 3]!;
  const cd = delta[at + 2 * MAX + 3]!;
  const abd = ofThree(ab, ad, bd);
  const acd = ofThree(ac, ad, cd);
  const bcd = ofThree(bc, bd, cd);
  const ab_cd = ab + cd;
  const ac_bd = ac + bd;
  const ad_bc = ad + bc;
  const abcd = ofFour(abc, abd, acd, bcd, ab_cd, ac_bd, ad_bc);
  if (agents === 4) return abcd;
  const ae = delta[at + 4]!;
  const be = delta[at + MAX + 4]!;
  const ce = delta[at + 2 * MAX + 4]!;
  const de = delta[at + 3 * MAX + 4]!;
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
  const fours = Math.max(abcd, abce, abde, acde, bcde, (abcd + abce + abde + acde + bcde + 3) >> 2);
  const apart = Math.max(ab + cde, ac + bde, ad + bce, ae + bcd, bc + ade, bd + ace, be + acd, cd + abe, ce + abd, de + abc);
  // Rings of five: the fifth agent between two of the others, and the better way through the remaining two.
  const notAb = Math.max(ac_bd, ad_bc);
  const notAc = Math.max(ab_cd, ad_bc);
  const notAd = Math.max(ab_cd, ac_bd);
  const ring = Math.max(
    cd + notAb + ae + be,
    ab + notAb + ce + de,
    bd + notAc + ae + ce,
    ac + notAc + be + de,
    bc + notAd + ae + de,
    ad + notAd + be + ce,
  );
  return Math.max(fours, apart, (ring + 1) >> 1);
}

/** Of three agents: one pair, or half of all three. */
function ofThree(ab: number, ac: number, bc: number): number {
  return Math.max(ab, ac, bc, (ab + ac + bc + 1) >> 1);
}

/** Of four agents: three of them, two pairs, or a third of all threes. */
function ofFour(abc: number, abd: number, acd: number, bcd: number, ab_cd: number, ac_bd: number, ad_bc: number): number {
  // ⌈x / 3⌉ for x < 2¹⁶.
  const third = ((abc + abd + acd + bcd + 2) * 43_691) >>> 17;
  return Math.max(abc, abd, acd, bcd, ab_cd, ac_bd, ad_bc, third);
}

/** Whether the agents from `first` on have a cover of at most `limit` of the weights at `level`. */
function isWithin(level: number, first: number, agents: number, limit: number): boolean {
  const row = level + first * MAX;
  if (agents - first <= CLOSED) return closedCover(weights, row + first, agents - first) <= limit;
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
