/**
 * The work one board may cost is counted in search nodes, never in time, so that the same board ends the same way on every machine. This ends
 * every search at once; it is caught where the searches are put together and turned into the status `budget-exhausted`.
 */
export class BudgetExhausted extends Error {
  constructor() {
    super("the solver's node budget is exhausted");
  }
}
