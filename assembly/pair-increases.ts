/**
 * The least extra cost of two agents alone, above their individual shortest costs, from any pair of positions: δ of the pair. Found on
 * demand by depth-first search with memory, asked as "is δ at most b?".
 *
 * The recursion ends: a joint move that adds nothing brings one of the two closer, every other move uses up some of b. What is learnt for
 * a pair of positions (δ above b, δ at most b) is kept until the next board, for all searches of that board.
 */
import { spend } from "./budget";
import { addedBy, cellAfter, cellOf, codeAfter, collide, done, firstOption, optionAt, optionEnd } from "./grid";
import { leastOf, mostOf, PairTables, wordOf } from "./pair-table";

/** Larger increases are reported as MAX_INCREASE, still a lower bound. */
const MAX_INCREASE: i32 = 60;

const pairs = new PairTables(true);

/** Forgets everything: for another board, or for other moves (waits forbidden). */
export function forgetPairs(): void {
  pairs.reset();
}

/** Where the increases of agents i < j stand, for `increaseAt`. */
export function pairOf(i: i32, j: i32): usize {
  return pairs.of(i, j);
}

/** The lesser of δ and `cap` + 1, for agents i ≠ j standing at codes a and b. */
export function pairIncrease(i: i32, j: i32, a: i32, b: i32, cap: i32): i32 {
  const increase = i < j ? increaseAt(pairs.of(i, j), i, j, a, b, cap) : increaseAt(pairs.of(j, i), j, i, b, a, cap);
  return min(increase, cap + 1);
}

/** For inner loops: δ of agents i < j, whose table is at hand; where it is above `cap`, a lower bound above `cap`. */
// @inline
export function increaseAt(table: usize, i: i32, j: i32, a: i32, b: i32, cap: i32): i32 {
  const exact = pairs.exact(wordOf(table, a, b));
  return exact >= 0 ? exact : findIncrease(table, i, j, a, b, cap);
}

function findIncrease(table: usize, i: i32, j: i32, a: i32, b: i32, cap: i32): i32 {
  const entry = wordOf(table, a, b);
  const most = min(cap, MAX_INCREASE - 1);
  let least = leastOf(pairs.read(entry));
  while (least <= most && !pairFits(table, i, j, a, b, least)) least = leastOf(pairs.read(entry));
  return least;
}

/** Whether the pair can finish from codes a and b with at most `slack` extra. */
function pairFits(table: usize, i: i32, j: i32, a: i32, b: i32, slack: i32): bool {
  const entry = wordOf(table, a, b);
  const known = pairs.read(entry);
  if (slack < leastOf(known)) return false;
  if (slack >= mostOf(known)) return true;
  if (a === done() && b === done()) return true;
  spend(1);
  const cellA = cellOf(i, a);
  const cellB = cellOf(j, b);
  const firstOfA = firstOption(i, a);
  const firstOfB = firstOption(j, b);
  const endOfA = optionEnd(firstOfA, i, a, slack);
  for (let u = firstOfA; u < endOfA; u += 2) {
    const moveA = optionAt(u);
    const nextA = cellAfter(moveA);
    const left = slack - addedBy(moveA);
    const endOfB = optionEnd(firstOfB, j, b, left);
    for (let v = firstOfB; v < endOfB; v += 2) {
      const moveB = optionAt(v);
      const nextB = cellAfter(moveB);
      if (collide(cellA, nextA, cellB, nextB)) continue;
      if (!pairFits(table, i, j, codeAfter(moveA), codeAfter(moveB), left - addedBy(moveB))) continue;
      pairs.setMost(entry, slack);
      return true;
    }
  }
  pairs.setLeast(entry, slack + 1);
  return false;
}
