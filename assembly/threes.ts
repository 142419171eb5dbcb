/**
 * The least extra cost of three agents alone: the part that larger sets ask about most, nearly always to be told that it fits. So pairs are
 * looked up as a joint move is put together, not all beforehand, and the first joint move that leads on ends the search.
 */
import { spend } from "./budget";
import { addedBy, cellAfter, cellOf, codeAfter, collide, done, firstOption, optionAt, optionEnd } from "./grid";
import { increaseAt, pairOf } from "./pair-increases";
import { bitsOfSet, Position, placed } from "./position";
import { PositionTable } from "./position-table";

const known = new PositionTable(2);

// The agents at hand, i < j < k, and what is known of their pairs: looked for when a search begins (0: it has not).
let i: i32 = 0;
let j: i32 = 0;
let k: i32 = 0;
let ofIJ: usize = 0;
let ofIK: usize = 0;
let ofJK: usize = 0;
let bits: Position = 0;

/** Forgets everything: for another board, or for other moves (waits forbidden). */
export function forgetThrees(): void {
  known.reset(true);
}

/** The agents of the next questions, in ascending order. */
export function selectThree(first: i32, second: i32, third: i32): void {
  i = first;
  j = second;
  k = third;
  ofIJ = 0;
  bits = bitsOfSet((1 << first) | (1 << second) | (1 << third));
}

/** Whether the selected agents finish from codes a, b and c with at most `slack` extra. */
// @inline
export function threeFits(a: i32, b: i32, c: i32, slack: i32): bool {
  if (a === done() && b === done() && c === done()) return true;
  const position = bits | placed(a, 0) | placed(b, 1);
  if (slack < known.least(position, c)) return false;
  if (slack >= known.most(position, c)) return true;
  spend(1);
  if (ofIJ === 0) {
    ofIJ = pairOf(i, j);
    ofIK = pairOf(i, k);
    ofJK = pairOf(j, k);
  }
  const found = leadsOn(a, b, c, slack);
  if (found) known.setMost(position, c, slack);
  else known.setLeast(position, c, slack + 1);
  return found;
}

/** Whether some joint move leads to a position from which the agents finish. */
function leadsOn(a: i32, b: i32, c: i32, slack: i32): bool {
  const cellA = cellOf(i, a);
  const cellB = cellOf(j, b);
  const cellC = cellOf(k, c);
  const firstOfA = firstOption(i, a);
  const firstOfB = firstOption(j, b);
  const firstOfC = firstOption(k, c);
  const endOfA = optionEnd(firstOfA, i, a, slack);
  for (let u = firstOfA; u < endOfA; u += 2) {
    const moveA = optionAt(u);
    const nextA = cellAfter(moveA);
    const leftA = slack - addedBy(moveA);
    const endOfB = optionEnd(firstOfB, j, b, leftA);
    for (let v = firstOfB; v < endOfB; v += 2) {
      const moveB = optionAt(v);
      const nextB = cellAfter(moveB);
      if (collide(cellA, nextA, cellB, nextB)) continue;
      const leftB = leftA - addedBy(moveB);
      const ab = increaseAt(ofIJ, i, j, codeAfter(moveA), codeAfter(moveB), leftB);
      if (ab > leftB) continue;
      const endOfC = optionEnd(firstOfC, k, c, leftB - ab);
      for (let w = firstOfC; w < endOfC; w += 2) {
        const moveC = optionAt(w);
        const nextC = cellAfter(moveC);
        if (collide(cellA, nextA, cellC, nextC) || collide(cellB, nextB, cellC, nextC)) continue;
        const left = leftB - addedBy(moveC);
        const ac = increaseAt(ofIK, i, k, codeAfter(moveA), codeAfter(moveC), left);
        if (ac > left) continue;
        const bc = increaseAt(ofJK, j, k, codeAfter(moveB), codeAfter(moveC), left);
        // The cover of three: half of all their pairs, where no pair alone is too much.
        if (bc > left || ab + ac + bc > 2 * left) continue;
        if (threeFits(codeAfter(moveA), codeAfter(moveB), codeAfter(moveC), left)) return true;
      }
    }
  }
  return false;
}
