/**
 * The least extra cost of two agents alone, above their individual shortest costs, from any pair of positions: δ of the pair. Found on
 * demand by depth-first search with memory, asked as "is δ at most b?".
 *
 * The recursion ends: a joint move that adds nothing brings one of the two closer, every other move uses up some of b. What is learnt for
 * a pair of positions (δ above b, δ at most b) is kept until the next board, for all searches of that board.
 */
import { DONE, type Grid, STRIDE } from "./grid.js";
import type { NodeBudget } from "./node-budget.js";
import { leastOf, mostOf, PairMemory } from "./pair-memory.js";

/** Larger increases are reported as MAX_INCREASE, still a lower bound. */
export const MAX_INCREASE = 60;

export class PairIncreases {
  readonly memory = new PairMemory();

  // The pair at hand.
  private first = 0;
  private second = 0;
  private entries: Int32Array = new Int32Array(0);

  constructor(
    private readonly grid: Grid,
    private readonly budget: NodeBudget,
  ) {}

  /** Forgets everything: for another board, or for other moves (waits forbidden). */
  reset(): void {
    this.memory.reset();
  }

  /** The least of δ and `cap` + 1, for agents i ≠ j standing at codes a and b. */
  increase(i: number, j: number, a: number, b: number, cap: number): number {
    if (i > j) return this.increase(j, i, b, a, cap);
    return Math.min(this.increaseOf(this.memory.of(i, j), i, j, a, b, cap), cap + 1);
  }

  /** For inner loops: δ of agents i < j, whose entries of `memory` are at hand; where it is above `cap`, a lower bound above `cap`. */
  increaseOf(entries: Int32Array, i: number, j: number, a: number, b: number, cap: number): number {
    const known = this.memory.read(entries, a * STRIDE + b);
    const least = leastOf(known);
    return least > cap || least === mostOf(known) ? least : this.find(entries, i, j, a, b, cap);
  }

  private find(entries: Int32Array, i: number, j: number, a: number, b: number, cap: number): number {
    this.first = i;
    this.second = j;
    this.entries = entries;
    const key = a * STRIDE + b;
    const most = Math.min(cap, MAX_INCREASE - 1);
    let least = leastOf(this.memory.read(entries, key));
    while (least <= most && !this.fits(a, b, least)) least = leastOf(this.memory.read(entries, key));
    return least;
  }

  /** Whether the pair at hand can finish from codes a and b with at most `slack` extra. */
  private fits(a: number, b: number, slack: number): boolean {
    const key = a * STRIDE + b;
    const { memory, entries } = this;
    const known = memory.read(entries, key);
    if (slack < leastOf(known)) return false;
    if (slack >= mostOf(known)) return true;
    if (a === DONE && b === DONE) return true;
    this.budget.spend(1);
    const { grid, first, second } = this;
    const cellA = grid.cellOf(first, a);
    const cellB = grid.cellOf(second, b);
    const firstOfB = grid.firstOption(second, b);
    let u = grid.firstOption(first, a);
    for (const endOfA = grid.optionEnd(first, a, slack); u < endOfA; u++) {
      const moveA = grid.option(u);
      const nextA = (moveA >> 2) & 127;
      const left = slack - (moveA & 3);
      const endOfB = grid.optionEnd(second, b, left);
      for (let v = firstOfB; v < endOfB; v++) {
        const moveB = grid.option(v);
        const nextB = (moveB >> 2) & 127;
        if (nextA === nextB || (nextA === cellB && nextB === cellA)) continue;
        if (!this.fits(moveA >> 9, moveB >> 9, left - (moveB & 3))) continue;
        memory.setMost(entries, key, slack);
        return true;
      }
    }
    memory.setLeast(entries, key, slack + 1);
    return false;
  }
}
