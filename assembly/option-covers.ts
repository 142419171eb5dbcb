/**
 * Whether the smallest cover (cover.ts) fits, for all options of the agent that moves last at once: eight lanes of 16 bits.
 *
 * A lane's increases are taken with what its option adds: added + δ. Each bound of the closed form counts every agent as often as it is
 * divided by, so that what an option adds comes out of all bounds alike, and all lanes are compared with what was left before it.
 *
 * `delta` holds the increases among those before, by i·8 + j for i < j.
 */
import { ofFour, ofThree, weight } from "./cover";

// @inline
function plus(x: v128, y: i32): v128 {
  return i16x8.add(x, i16x8.splat(<i16>y));
}

/** Bits of the lanes that are at most `limit`. */
// @inline
function atMost(x: v128, limit: i32): i32 {
  return i16x8.bitmask(i16x8.le_s(x, i16x8.splat(<i16>limit)));
}

// @inline
function most(x: v128, y: v128): v128 {
  return i16x8.max_s(x, y);
}

/** `ofThree`, where the third's option adds so much. */
// @inline
function lanesOfThree(ab: i32, ac: v128, bc: v128, added: v128): v128 {
  return most(most(plus(added, ab), ac), most(bc, i16x8.avgr_u(plus(ac, ab), bc)));
}

/** `ofFour`, where the fourth's option adds so much. */
// @inline
function lanesOfFour(
  abc: i32,
  ab: i32,
  ac: i32,
  bc: i32,
  ad: v128,
  bd: v128,
  cd: v128,
  abd: v128,
  acd: v128,
  bcd: v128,
  added: v128,
): v128 {
  const threes = most(most(plus(added, abc), abd), most(acd, bcd));
  const pairs = most(most(plus(cd, ab), plus(bd, ac)), plus(ad, bc));
  // ⌈x / 3⌉ is (x + 1) / 3 rounded.
  const third = i16x8.q15mulr_sat_s(plus(i16x8.add(i16x8.add(abd, acd), bcd), abc + 1), i16x8.splat(10_923));
  return most(most(threes, pairs), third);
}

/** The lanes in which three agents fit. */
// @inline
export function threeFit(delta: usize, ac: v128, bc: v128, added: v128, limit: i32): i32 {
  return atMost(lanesOfThree(weight(delta, 0, 1), ac, bc, added), limit);
}

/** The lanes in which four agents fit. */
// @inline
export function fourFit(delta: usize, ad: v128, bd: v128, cd: v128, added: v128, limit: i32): i32 {
  const ab = weight(delta, 0, 1);
  const ac = weight(delta, 0, 2);
  const bc = weight(delta, 1, 2);
  const abc = ofThree(ab, ac, bc);
  const abd = lanesOfThree(ab, ad, bd, added);
  const acd = lanesOfThree(ac, ad, cd, added);
  const bcd = lanesOfThree(bc, bd, cd, added);
  return atMost(lanesOfFour(abc, ab, ac, bc, ad, bd, cd, abd, acd, bcd, added), limit);
}

/** The lanes in which five agents fit, of those in `alive`. */
export function fiveFit(delta: usize, ae: v128, be: v128, ce: v128, de: v128, added: v128, limit: i32, alive: i32): i32 {
  const ab = weight(delta, 0, 1);
  const ac = weight(delta, 0, 2);
  const bc = weight(delta, 1, 2);
  const ad = weight(delta, 0, 3);
  const bd = weight(delta, 1, 3);
  const cd = weight(delta, 2, 3);
  const abc = ofThree(ab, ac, bc);
  const abd = ofThree(ab, ad, bd);
  const acd = ofThree(ac, ad, cd);
  const bcd = ofThree(bc, bd, cd);
  const apartOfPair = most(most(plus(ae, bcd), plus(be, acd)), most(plus(ce, abd), plus(de, abc)));
  if ((atMost(apartOfPair, limit) & alive) === 0) return 0;
  const abe = lanesOfThree(ab, ae, be, added);
  const ace = lanesOfThree(ac, ae, ce, added);
  const ade = lanesOfThree(ad, ae, de, added);
  const bce = lanesOfThree(bc, be, ce, added);
  const bde = lanesOfThree(bd, be, de, added);
  const cde = lanesOfThree(cd, ce, de, added);
  const apartOfThree = most(
    most(most(plus(cde, ab), plus(bde, ac)), most(plus(ade, bc), plus(bce, ad))),
    most(plus(ace, bd), plus(abe, cd)),
  );
  let fits = atMost(most(apartOfPair, apartOfThree), limit) & alive;
  if (fits === 0) return 0;
  const abcd = ofFour(abc, abd, acd, bcd, ab + cd, ac + bd, ad + bc);
  const abce = lanesOfFour(abc, ab, ac, bc, ae, be, ce, abe, ace, bce, added);
  const abde = lanesOfFour(abd, ab, ad, bd, ae, be, de, abe, ade, bde, added);
  const acde = lanesOfFour(acd, ac, ad, cd, ae, ce, de, ace, ade, cde, added);
  const bcde = lanesOfFour(bcd, bc, bd, cd, be, ce, de, bce, bde, cde, added);
  fits &= atMost(most(most(most(abce, abde), most(acde, bcde)), plus(added, abcd)), limit);
  return fits & atMost(plus(i16x8.add(i16x8.add(abce, abde), i16x8.add(acde, bcde)), abcd), 4 * limit);
}
