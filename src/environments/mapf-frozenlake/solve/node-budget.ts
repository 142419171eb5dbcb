/** The work one board may cost, in search nodes: never in time, so that the same board ends the same way on every machine. */
export class NodeBudget {
  spent = 0;
  private limit = Number.POSITIVE_INFINITY;

  start(limit: number): void {
    this.spent = 0;
    this.limit = limit;
  }

  /** @throws {BudgetExhausted} */
  spend(nodes: number): void {
    this.spent += nodes;
    if (this.spent > this.limit) throw new BudgetExhausted();
  }

  /** What the search gives, or undefined when it costs more than this many nodes. @throws {BudgetExhausted} when the whole budget ends */
  attempt<T>(nodes: number, search: () => T): T | undefined {
    const whole = this.limit;
    this.limit = Math.min(whole, this.spent + nodes);
    try {
      return search();
    } catch (error) {
      if (error instanceof BudgetExhausted && this.spent <= whole) return undefined;
      throw error;
    } finally {
      this.limit = whole;
    }
  }
}

/** Ends every search at once; caught where the searches are put together and turned into the status `budget-exhausted`. */
export class BudgetExhausted extends Error {
  constructor() {
    super("the solver's node budget is exhausted");
  }
}
