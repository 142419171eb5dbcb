/**
 * The least extra cost of three agents alone: the part that larger sets ask about most, nearly always to be told that it fits. So pairs are
 * looked up as a joint move is put together, not all beforehand, and the first joint move that leads on ends the search.
 */
import { spend } from "./budget";
import { addedBy, cellAfter, cellOf, codeAfter, collide, done, firstOption, optionAt, optionCounts, optionEnd } from "./grid";
import { exactRowOf, increaseIn, pairOf } from "./pair-increases";
import { bitsOfSet, Position, placed } from "./position";
import { PositionTable } from "./position-table";

const known = new PositionTable(2, 2048);

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
  return extraOf(a, b, c, slack) >= 0;
}

/** What some way from there to their goals costs extra, at most `slack`; −1: there is none. */
function extraOf(a: i32, b: i32, c: i32, slack: i32): i32 {
  if (a === done() && b === done() && c === done()) return 0;
  const position = bits | placed(a, 0) | placed(b, 1);
  const part = known.part(c);
  const block = known.find(position, part);
  if (block !== 0) {
    if (slack < known.leastIn(block, part, c)) return -1;
    const most = known.mostIn(block, part, c);
    if (slack >= most) return most;
  }
  return search(position, part, block, a, b, c, slack);
}

/** The same by search. @param found the block of the position and part; 0: there is none yet */
function search(position: Position, part: i32, found: usize, a: i32, b: i32, c: i32, slack: i32): i32 {
  spend(1);
  let block = found !== 0 ? found : known.enter(position, part);
  if (ofIJ === 0) {
    ofIJ = pairOf(i, j);
    ofIK = pairOf(i, k);
    ofJK = pairOf(j, k);
  }
  const moved = known.moved;
  const extra = leadOn(a, b, c, slack);
  if (known.moved !== moved) block = known.enter(position, part);
  if (extra >= 0) known.setMost(block, part, c, extra);
  else known.setLeast(block, part, c, slack + 1);
  return extra;
}

/**
 * The same of the joint moves from there, of which the first that leads on is taken. What is known of the three is asked before their last
 * pair: of ten threes nine have been asked about already.
 */
function leadOn(a: i32, b: i32, c: i32, slack: i32): i32 {
  const cellA = cellOf(i, a);
  const cellB = cellOf(j, b);
  const cellC = cellOf(k, c);
  const firstOfA = firstOption(i, a);
  const firstOfB = firstOption(j, b);
  const firstOfC = firstOption(k, c);
  const countsOfB = optionCounts(j, b);
  const countsOfC = optionCounts(k, c);
  const endOfA = optionEnd(firstOfA, optionCounts(i, a), slack);
  for (let u = firstOfA; u < endOfA; u += 2) {
    const moveA = optionAt(u);
    const nextA = cellAfter(moveA);
    const codeA = codeAfter(moveA);
    const leftA = slack - addedBy(moveA);
    const rowIJ = exactRowOf(ofIJ, codeA);
    const rowIK = exactRowOf(ofIK, codeA);
    const endOfB = optionEnd(firstOfB, countsOfB, leftA);
    for (let v = firstOfB; v < endOfB; v += 2) {
      const moveB = optionAt(v);
      const nextB = cellAfter(moveB);
      if (collide(cellA, nextA, cellB, nextB)) continue;
      const codeB = codeAfter(moveB);
      const leftB = leftA - addedBy(moveB);
      const ab = increaseIn(rowIJ, ofIJ, i, j, codeA, codeB, leftB);
      if (ab > leftB) continue;
      const rowJK = exactRowOf(ofJK, codeB);
      const position = bits | placed(codeA, 0) | placed(codeB, 1);
      const areDone = codeA === done() && codeB === done();
      const endOfC = optionEnd(firstOfC, countsOfC, leftB - ab);
      for (let w = firstOfC; w < endOfC; w += 2) {
        const moveC = optionAt(w);
        const nextC = cellAfter(moveC);
        if (collide(cellA, nextA, cellC, nextC) || collide(cellB, nextB, cellC, nextC)) continue;
        const codeC = codeAfter(moveC);
        const left = leftB - addedBy(moveC);
        const ac = increaseIn(rowIK, ofIK, i, k, codeA, codeC, left);
        if (ac > left) continue;
        const part = known.part(codeC);
        const block = known.find(position, part);
        if (block !== 0) {
          if (left < known.leastIn(block, part, codeC)) continue;
          const most = known.mostIn(block, part, codeC);
          if (left >= most) return slack - left + most;
        }
        const bc = increaseIn(rowJK, ofJK, j, k, codeB, codeC, left);
        // The cover of three: half of all their pairs, where no pair alone is too much.
        if (bc > left || ab + ac + bc > 2 * left) continue;
        if (areDone && codeC === done()) return slack - left;
        const extra = search(position, part, block, codeA, codeB, codeC, left);
        if (extra >= 0) return slack - left + extra;
      }
    }
  }
  return -1;
}
