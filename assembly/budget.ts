/** The work one board may cost, in search nodes: never in time, so that the same board ends the same way on every machine. */

/** Given by the host: throws, which ends every search at once. */
declare function exhausted(): void;

let spent: i32 = 0;
let limit: i32 = 0;

export function startBudget(nodes: i32): void {
  spent = 0;
  limit = nodes;
}

export function spentNodes(): i32 {
  return spent;
}

export function budgetLimit(): i32 {
  return limit;
}

export function setBudgetLimit(nodes: i32): void {
  limit = nodes;
}

export function spend(nodes: i32): void {
  spent += nodes;
  if (spent > limit) exhausted();
}

/** For what cannot be represented, such as a path past the planner's horizon: the board stays undecided. */
export function giveUp(): void {
  exhausted();
}
