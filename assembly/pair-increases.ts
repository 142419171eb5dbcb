/**
 * The least extra cost of two agents alone, above their individual shortest costs, from any pair of positions: δ of the pair. Found on
 * demand by depth-first search with memory, asked as "is δ at most b?".
 *
 * The recursion ends: a joint move that adds nothing brings one of the two closer, every other move uses up some of b. What is learnt for
 * a pair of positions (δ above b, δ at most b) is kept until the next board, for all searches of that board.
 */
import { spend } from "./budget";
import { addedBy, cellAfter, cellOf, codeAfter, collide, done, firstOption, optionAt, optionCounts, optionEnd } from "./grid";
import { exactIn, leastOf, mostOf, PairTables, wordOf } from "./pair-table";

/** Larger increases are reported as MAX_INCREASE, still a lower bound. */
const MAX_INCREASE: i32 = 60;

const pairs = new PairTables(true);

/** Forgets everything: for another board, or for other moves (waits forbidden). */
export function forgetPairs(): void {
  pairs.reset();
}

/** The table of agents i < j, for `exactRowOf`, `increaseIn` and `findIncrease`. */
export function pairOf(i: i32, j: i32): usize {
  return pairs.of(i, j);
}

/** The lesser of δ and `cap` + 1, for agents i ≠ j standing at codes a and b. */
export function pairIncrease(i: i32, j: i32, a: i32, b: i32, cap: i32): i32 {
  const increase = i < j ? increaseAt(pairs.of(i, j), i, j, a, b, cap) : increaseAt(pairs.of(j, i), j, i, b, a, cap);
  return min(increase, cap + 1);
}

/** δ of agents i < j, whose table is at hand; where it is above `cap`, a lower bound above `cap`. */
// @inline
function increaseAt(table: usize, i: i32, j: i32, a: i32, b: i32, cap: i32): i32 {
  return increaseIn(exactRowOf(table, a), table, i, j, a, b, cap);
}

/** Where δ stands that is exact, of i at code a, for `increaseIn` and `exactIn`. */
export function exactRowOf(table: usize, a: i32): usize {
  return pairs.exactRow(table, a);
}

/** For inner loops: as `increaseAt`, with the row of i's code a at hand as well. */
// @inline
export function increaseIn(row: usize, table: usize, i: i32, j: i32, a: i32, b: i32, cap: i32): i32 {
  const exact = exactIn(row, b);
  return exact >= 0 ? exact : findIncrease(table, i, j, a, b, cap);
}

/** The same where it is not exact yet. */
export function findIncrease(table: usize, i: i32, j: i32, a: i32, b: i32, cap: i32): i32 {
  const entry = wordOf(table, a, b);
  const most = min(cap, MAX_INCREASE - 1);
  let least = leastOf(pairs.read(entry));
  while (least <= most && !pairFits(entry, table, i, j, a, b, least)) least = leastOf(pairs.read(entry));
  return least;
}

/** Whether the pair can finish from codes a and b, whose entry is at hand, with at most `slack` extra. */
// @inline
function pairFits(entry: usize, table: usize, i: i32, j: i32, a: i32, b: i32, slack: i32): bool {
  const known = pairs.read(entry);
  if (slack < leastOf(known)) return false;
  return slack >= mostOf(known) || (a === done() && b === done()) || leadsOn(entry, table, i, j, a, b, slack);
}

/** The same where it is not known yet: whether some joint move leads on. */
function leadsOn(entry: usize, table: usize, i: i32, j: i32, a: i32, b: i32, slack: i32): bool {
  spend(1);
  const cellA = cellOf(i, a);
  const cellB = cellOf(j, b);
  const firstOfA = firstOption(i, a);
  const firstOfB = firstOption(j, b);
  const countsOfB = optionCounts(j, b);
  const endOfA = optionEnd(firstOfA, optionCounts(i, a), slack);
  for (let u = firstOfA; u < endOfA; u += 2) {
    const moveA = optionAt(u);
    const nextA = cellAfter(moveA);
    const codeA = codeAfter(moveA);
    const leftA = slack - addedBy(moveA);
    const words = wordOf(table, codeA, 0);
    const endOfB = optionEnd(firstOfB, countsOfB, leftA);
    for (let v = firstOfB; v < endOfB; v += 2) {
      const moveB = optionAt(v);
      const nextB = cellAfter(moveB);
      if (collide(cellA, nextA, cellB, nextB)) continue;
      const codeB = codeAfter(moveB);
      if (!pairFits(words + (codeB << 2), table, i, j, codeA, codeB, leftA - addedBy(moveB))) continue;
      pairs.setMost(entry, slack);
      return true;
    }
  }
  pairs.setLeast(entry, slack + 1);
  return false;
}
