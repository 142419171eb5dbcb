/**
 * The least makespan of two agents alone from any two cells, an estimate that is never too large for more agents. Found on demand by
 * depth-first search with memory, asked as "are both on their goals after r steps?"; what is learnt is kept until the next board.
 * O(cells² · 25) steps per pair and r at the most; what is asked reaches a small part of that.
 */
import { MAX_AGENTS } from "../instance.js";
import { type Grid, STRIDE } from "./grid.js";
import type { NodeBudget } from "./node-budget.js";

const TABLE = STRIDE * STRIDE;
const UNPROVEN = 255;

export class PairMakespans {
  /** By pair of agents i·8 + j, i < j, and cell·STRIDE + cell: the proven least and greatest makespan. */
  private readonly least: (Uint8Array | undefined)[] = new Array(MAX_AGENTS * MAX_AGENTS);
  private readonly most: (Uint8Array | undefined)[] = new Array(MAX_AGENTS * MAX_AGENTS);
  private readonly isReady = new Uint8Array(MAX_AGENTS * MAX_AGENTS);

  // The pair at hand.
  private leastOf: Uint8Array = new Uint8Array(0);
  private mostOf: Uint8Array = new Uint8Array(0);
  private tableOfFirst = 0;
  private tableOfSecond = 0;

  constructor(
    private readonly grid: Grid,
    private readonly budget: NodeBudget,
  ) {}

  /** Forgets everything: for another board. */
  reset(): void {
    this.isReady.fill(0);
  }

  /** The lesser of the makespan of agents i ≠ j from cells a and b, and `cap` + 1. @throws {BudgetExhausted} */
  makespan(i: number, j: number, a: number, b: number, cap: number): number {
    if (i > j) return this.makespan(j, i, b, a, cap);
    this.select(i, j);
    const key = a * STRIDE + b;
    let least = this.leastOf[key]!;
    while (least <= cap && !this.fits(a, b, least)) least = this.leastOf[key]!;
    return least <= cap ? least : cap + 1;
  }

  private select(i: number, j: number): void {
    const pair = i * MAX_AGENTS + j;
    let least = this.least[pair];
    let most = this.most[pair];
    if (least === undefined || most === undefined) {
      least = this.least[pair] = new Uint8Array(TABLE);
      most = this.most[pair] = new Uint8Array(TABLE);
    }
    if (this.isReady[pair] === 0) {
      this.isReady[pair] = 1;
      least.fill(0, 0, this.grid.cells * STRIDE);
      most.fill(UNPROVEN, 0, this.grid.cells * STRIDE);
    }
    this.leastOf = least;
    this.mostOf = most;
    this.tableOfFirst = i * STRIDE;
    this.tableOfSecond = j * STRIDE;
  }

  /** Whether the selected pair can be on its goals after r steps from cells a and b. */
  private fits(a: number, b: number, r: number): boolean {
    const { leastOf, mostOf, tableOfFirst, tableOfSecond } = this;
    const { distances, neighbours } = this.grid;
    const key = a * STRIDE + b;
    if (r < leastOf[key]!) return false;
    if (r >= mostOf[key]!) return true;
    const farther = Math.max(distances[tableOfFirst + a]!, distances[tableOfSecond + b]!);
    if (r < farther) {
      leastOf[key] = farther;
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
        mostOf[key] = r;
        return true;
      }
    }
    leastOf[key] = r + 1;
    return false;
  }
}
