/**
 * The least makespan of two agents alone from any two cells, an estimate that is never too large for more agents. Found on demand by
 * depth-first search with memory, asked as "are both on their goals after r steps?"; what is learnt is kept until the next board.
 * O(cells² · 25) steps per pair and r at the most; what is asked reaches a small part of that.
 */
import { type Grid, STRIDE } from "./grid.js";
import type { NodeBudget } from "./node-budget.js";
import { leastOf, mostOf, PairMemory } from "./pair-memory.js";

export class PairMakespans {
  private readonly memory = new PairMemory();

  // The pair at hand.
  private entries: Int32Array = new Int32Array(0);
  private tableOfFirst = 0;
  private tableOfSecond = 0;

  constructor(
    private readonly grid: Grid,
    private readonly budget: NodeBudget,
  ) {}

  /** Forgets everything: for another board. */
  reset(): void {
    this.memory.reset();
  }

  /** The lesser of the makespan of agents i ≠ j from cells a and b, and `cap` + 1. @throws {BudgetExhausted} */
  makespan(i: number, j: number, a: number, b: number, cap: number): number {
    if (i > j) return this.makespan(j, i, b, a, cap);
    const { memory } = this;
    const entries = memory.of(i, j);
    this.entries = entries;
    this.tableOfFirst = i * STRIDE;
    this.tableOfSecond = j * STRIDE;
    const key = a * STRIDE + b;
    let least = leastOf(memory.read(entries, key));
    while (least <= cap && !this.fits(a, b, least)) least = leastOf(memory.read(entries, key));
    return least <= cap ? least : cap + 1;
  }

  /** Whether the pair at hand can be on its goals after r steps from cells a and b. */
  private fits(a: number, b: number, r: number): boolean {
    const { memory, entries, tableOfFirst, tableOfSecond } = this;
    const { distances, neighbours } = this.grid;
    const key = a * STRIDE + b;
    const known = memory.read(entries, key);
    if (r < leastOf(known)) return false;
    if (r >= mostOf(known)) return true;
    const farther = Math.max(distances[tableOfFirst + a]!, distances[tableOfSecond + b]!);
    if (r < farther) {
      memory.setLeast(entries, key, farther);
      return false;
    }
    if (farther === 0) return true;
    this.budget.spend(1);
    for (let u = 0; u < 5; u++) {
      const nextA = u === 4 ? a : neighbours[a * 4 + u]!;
      if (distances[tableOfFirst + nextA]! >= r) continue;
      for (let v = 0; v < 5; v++) {
        const nextB = v === 4 ? b : neighbours[b * 4 + v]!;
        if (nextA === nextB || distances[tableOfSecond + nextB]! >= r || (nextA === b && nextB === a)) continue;
        if (!this.fits(nextA, nextB, r - 1)) continue;
        memory.setMost(entries, key, r);
        return true;
      }
    }
    memory.setLeast(entries, key, r + 1);
    return false;
  }
}
