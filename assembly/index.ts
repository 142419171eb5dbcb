/** What the host calls and where it reads and writes; all in one instance is one solver's. */
import { startBudget } from "./budget";
import { DISTANCES, GOALS, HOLES, NEIGHBOUR_TABLES, STARTS, sumOfShortest } from "./grid";
import { certifyBoard, foundMakespan, foundSum, foundWait, spanPlan, sumPlan } from "./solver";

export { budgetLimit, setBudgetLimit, spend, spentNodes } from "./budget";
export { deepen } from "./solver";

export function holesAt(): usize {
  return HOLES;
}

export function startsAt(): usize {
  return STARTS;
}

export function goalsAt(): usize {
  return GOALS;
}

/** By agent·128 + cell. */
export function distancesAt(): usize {
  return DISTANCES;
}

/** By size·512 + cell·4 + direction: to be written before the first board. */
export function neighbourTablesAt(): usize {
  return NEIGHBOUR_TABLES;
}

export function certify(size: i32, agents: i32, budget: i32, needMakespan: bool, needWait: bool, stopAboveSic: bool): i32 {
  startBudget(budget);
  return certifyBoard(size, agents, needMakespan, needWait, stopAboveSic);
}

export { foundMakespan, foundSum, foundWait, sumOfShortest };

/** Where the plans' cells stand, from the start to the final arrival. */
export function sumOfCostsPath(agent: i32): usize {
  return sumPlan.path(agent);
}

export function sumOfCostsArrival(agent: i32): i32 {
  return sumPlan.arrival(agent);
}

export function makespanPath(agent: i32): usize {
  return spanPlan.path(agent);
}

export function makespanArrival(agent: i32): i32 {
  return spanPlan.arrival(agent);
}
