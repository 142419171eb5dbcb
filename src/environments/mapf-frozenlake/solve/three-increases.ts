/**
 * The least extra cost of three agents alone: the part that larger sets ask about most, nearly always to be told that it fits. So pairs are
 * looked up as a joint move is put together, not all beforehand, and the first joint move that leads on ends the search.
 */
import { DONE, type Grid, STRIDE } from "./grid.js";
import type { NodeBudget } from "./node-budget.js";
import type { PairIncreases } from "./pair-increases.js";
import { exactOf } from "./pair-memory.js";
import type { TupleMemory } from "./tuple-memory.js";

export class ThreeIncreases {
  // The agents at hand, i < j < k, and what is known of their pairs.
  private i = 0;
  private j = 0;
  private k = 0;
  private ofIJ: Int32Array = new Int32Array(0);
  private ofIK: Int32Array = new Int32Array(0);
  private ofJK: Int32Array = new Int32Array(0);
  private set = 0;

  constructor(
    private readonly grid: Grid,
    private readonly pairs: PairIncreases,
    private readonly budget: NodeBudget,
    private readonly memory: TupleMemory,
  ) {}

  /** The agents of the next questions, i < j < k. */
  select(i: number, j: number, k: number): void {
    const { memory } = this.pairs;
    this.i = i;
    this.j = j;
    this.k = k;
    this.ofIJ = memory.of(i, j);
    this.ofIK = memory.of(i, k);
    this.ofJK = memory.of(j, k);
    this.set = (1 << i) | (1 << j) | (1 << k);
  }

  /** Whether the selected agents finish from codes a, b and c with at most `slack` extra. @throws {BudgetExhausted} */
  fits(a: number, b: number, c: number, slack: number): boolean {
    if (a === DONE && b === DONE && c === DONE) return true;
    const { memory, set } = this;
    const low = a | (b << 7) | (c << 14) | (set << 28);
    const high = (set >> 4) << 28;
    const entry = memory.find(low, high);
    if (entry >= 0) {
      if (slack < memory.least(entry)) return false;
      if (slack >= memory.most(entry)) return true;
    }
    this.budget.spend(1);
    const found = this.leadsOn(a, b, c, slack);
    if (found) memory.setMost(low, high, slack);
    else memory.setLeast(low, high, slack + 1);
    return found;
  }

  /** Whether some joint move leads to a position from which the agents finish. */
  private leadsOn(a: number, b: number, c: number, slack: number): boolean {
    const { grid, pairs, i, j, k, ofIJ, ofIK, ofJK } = this;
    const { base } = pairs.memory;
    const cellA = grid.cellOf(i, a);
    const cellB = grid.cellOf(j, b);
    const cellC = grid.cellOf(k, c);
    const firstOfB = grid.firstOption(j, b);
    const firstOfC = grid.firstOption(k, c);
    let u = grid.firstOption(i, a);
    for (const endOfA = grid.optionEnd(i, a, slack); u < endOfA; u++) {
      const moveA = grid.option(u);
      const nextA = (moveA >> 2) & 127;
      const leftA = slack - (moveA & 3);
      const endOfB = grid.optionEnd(j, b, leftA);
      for (let v = firstOfB; v < endOfB; v++) {
        const moveB = grid.option(v);
        const nextB = (moveB >> 2) & 127;
        if (nextA === nextB || (nextA === cellB && nextB === cellA)) continue;
        const leftB = leftA - (moveB & 3);
        let ab = exactOf(ofIJ[(moveA >> 9) * STRIDE + (moveB >> 9)]! - base);
        if (ab < 0) ab = pairs.increaseOf(ofIJ, i, j, moveA >> 9, moveB >> 9, leftB);
        if (ab > leftB) continue;
        const endOfC = grid.optionEnd(k, c, leftB - ab);
        for (let w = firstOfC; w < endOfC; w++) {
          const moveC = grid.option(w);
          const nextC = (moveC >> 2) & 127;
          if (nextA === nextC || (nextA === cellC && nextC === cellA) || nextB === nextC || (nextB === cellC && nextC === cellB)) continue;
          const left = leftB - (moveC & 3);
          let ac = exactOf(ofIK[(moveA >> 9) * STRIDE + (moveC >> 9)]! - base);
          if (ac < 0) ac = pairs.increaseOf(ofIK, i, k, moveA >> 9, moveC >> 9, left);
          if (ac > left) continue;
          let bc = exactOf(ofJK[(moveB >> 9) * STRIDE + (moveC >> 9)]! - base);
          if (bc < 0) bc = pairs.increaseOf(ofJK, j, k, moveB >> 9, moveC >> 9, left);
          // The cover of three: half of all their pairs, where no pair alone is too much.
          if (bc > left || ab + ac + bc > 2 * left) continue;
          if (this.fits(moveA >> 9, moveB >> 9, moveC >> 9, left)) return true;
        }
      }
    }
    return false;
  }
}
