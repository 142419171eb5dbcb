/**
 * The least extra cost of two agents alone, above their individual shortest costs, from any pair of positions: δ of the pair. Found on
 * demand by depth-first search with memory, asked as "is δ at most b?".
 *
 * The recursion ends: a joint move that adds nothing brings one of the two closer, every other move uses up some of b. What is learnt for
 * a pair of positions (δ above b, δ at most b) is kept until the next board, for all searches of that board.
 */
import { MAX_AGENTS } from "../instance.js";
import { DONE, type Grid, OFF_GRID, STRIDE } from "./grid.js";
import type { NodeBudget } from "./node-budget.js";

/** Larger increases are reported as MAX_INCREASE, still a lower bound. */
export const MAX_INCREASE = 60;

const TABLE = STRIDE * STRIDE;

export class PairIncreases {
  /** Per pair of agents, by code·STRIDE + code: the proven least δ, and the proven greatest, 255 where nothing is proven. */
  private readonly low: (Uint8Array | undefined)[] = new Array(MAX_AGENTS * MAX_AGENTS);
  private readonly high: (Uint8Array | undefined)[] = new Array(MAX_AGENTS * MAX_AGENTS);
  private readonly isReady = new Uint8Array(MAX_AGENTS * MAX_AGENTS);

  // The pair at hand.
  private first = 0;
  private second = 0;
  /** Those of the selected pair. */
  lowOf: Uint8Array = new Uint8Array(0);
  highOf: Uint8Array = new Uint8Array(0);

  constructor(
    private readonly grid: Grid,
    private readonly budget: NodeBudget,
  ) {}

  /** Forgets everything: for another board, or for other moves (waits forbidden). */
  reset(): void {
    this.isReady.fill(0);
  }

  /** The least of δ and `cap` + 1, for agents i ≠ j standing at codes a and b. */
  increase(i: number, j: number, a: number, b: number, cap: number): number {
    if (i > j) return this.increase(j, i, b, a, cap);
    this.select(i, j);
    return this.selectedIncrease(a, b, cap);
  }

  /** As `increase`, for the pair selected last. */
  selectedIncrease(a: number, b: number, cap: number): number {
    const key = a * STRIDE + b;
    const most = cap < MAX_INCREASE ? cap : MAX_INCREASE - 1;
    let least = this.lowOf[key]!;
    while (least <= most && !this.fits(a, b, least)) least = this.lowOf[key]!;
    return least <= most ? least : most + 1;
  }

  /** Makes `lowOf` and `highOf` those of agents i < j. */
  select(i: number, j: number): void {
    const pair = i * MAX_AGENTS + j;
    this.first = i;
    this.second = j;
    let low = this.low[pair];
    let high = this.high[pair];
    if (low === undefined || high === undefined) {
      low = this.low[pair] = new Uint8Array(TABLE);
      high = this.high[pair] = new Uint8Array(TABLE);
    }
    if (this.isReady[pair] === 0) {
      this.isReady[pair] = 1;
      const { cells } = this.grid;
      low.fill(0, 0, cells * STRIDE);
      low.fill(0, DONE * STRIDE, OFF_GRID * STRIDE);
      high.fill(255, 0, cells * STRIDE);
      high.fill(255, DONE * STRIDE, OFF_GRID * STRIDE);
    }
    this.lowOf = low;
    this.highOf = high;
  }

  /** Whether the selected pair can finish from codes a and b with at most `slack` extra. */
  private fits(a: number, b: number, slack: number): boolean {
    const key = a * STRIDE + b;
    if (slack < this.lowOf[key]!) return false;
    if (slack >= this.highOf[key]!) return true;
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
        this.highOf[key] = slack;
        return true;
      }
    }
    this.lowOf[key] = slack + 1;
    return false;
  }
}
