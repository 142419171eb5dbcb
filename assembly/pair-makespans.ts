/**
 * The least makespan of two agents alone from any two cells, an estimate that is never too large for more agents. Found on demand by
 * depth-first search with memory, asked as "are both on their goals after r steps?"; what is learnt is kept until the next board.
 * O(cells² · 25) steps per pair and r at the most; what is asked reaches a small part of that.
 */
import { spend } from "./budget";
import { byteAt } from "./bytes";
import { besides, collide, DISTANCES, STRIDE } from "./grid";
import { leastOf, mostOf, PairTables, wordOf } from "./pair-table";

const pairs = new PairTables(false);

/** Forgets everything: for another board. */
export function forgetPairMakespans(): void {
  pairs.reset();
}

/** The lesser of the makespan of agents i ≠ j from cells a and b, and `cap` + 1. */
export function pairMakespan(i: i32, j: i32, a: i32, b: i32, cap: i32): i32 {
  const makespan = i < j ? find(pairs.of(i, j), i, j, a, b, cap) : find(pairs.of(j, i), j, i, b, a, cap);
  return min(makespan, cap + 1);
}

function find(table: usize, i: i32, j: i32, a: i32, b: i32, cap: i32): i32 {
  const entry = wordOf(table, a, b);
  const toGoalOfI = DISTANCES + i * STRIDE;
  const toGoalOfJ = DISTANCES + j * STRIDE;
  let least = leastOf(pairs.read(entry));
  while (least <= cap && !fits(table, toGoalOfI, toGoalOfJ, a, b, least)) least = leastOf(pairs.read(entry));
  return least;
}

/** Whether the pair can be on its goals after r steps from cells a and b. */
function fits(table: usize, toGoalOfI: usize, toGoalOfJ: usize, a: i32, b: i32, r: i32): bool {
  const entry = wordOf(table, a, b);
  const known = pairs.read(entry);
  if (r < leastOf(known)) return false;
  if (r >= mostOf(known)) return true;
  const farther = max(byteAt(toGoalOfI + a), byteAt(toGoalOfJ + b));
  if (r < farther) {
    pairs.setLeast(entry, farther);
    return false;
  }
  if (farther === 0) return true;
  spend(1);
  for (let u = 0; u < 5; u++) {
    const nextA = u === 4 ? a : byteAt(besides(a) + u);
    if (byteAt(toGoalOfI + nextA) >= r) continue;
    for (let v = 0; v < 5; v++) {
      const nextB = v === 4 ? b : byteAt(besides(b) + v);
      if (byteAt(toGoalOfJ + nextB) >= r || collide(a, nextA, b, nextB)) continue;
      if (!fits(table, toGoalOfI, toGoalOfJ, nextA, nextB, r - 1)) continue;
      pairs.setMost(entry, r);
      return true;
    }
  }
  pairs.setLeast(entry, r + 1);
  return false;
}
