/** How many engine workers a run has. */
import { availableParallelism } from "node:os";

/** Engine workers for a recipe's `workers`: 0 means one per core, at most eight; results do not depend on it. */
export function workerCount(requested: number): number {
  return requested > 0 ? requested : Math.min(8, availableParallelism());
}
