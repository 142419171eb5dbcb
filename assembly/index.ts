/** What the host calls and where it reads and writes; all in one instance is one solver's. */
import { startBudget } from "./budget";
import { GOALS, HOLES, NEIGHBOUR_TABLES, STARTS } from "./grid";
import { certifyBoard, RESULTS, spanPlan, sumPlan } from "./solver";

export { budgetLimit, setBudgetLimit, spentNodes } from "./budget";
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

/** By size·512 + cell·4 + direction: to be written before the first board. */
export function neighbourTablesAt(): usize {
  return NEIGHBOUR_TABLES;
}

/** Four words: sum of costs (−1: not found), makespan (−1), sum of shortest distances (−1), and 1 where every optimal plan has a wait. */
export function resultsAt(): usize {
  return RESULTS;
}

/** Of each agent 256 bytes in the plan of least sum of costs: its arrival, then its cells from the start to there. */
export function sumOfCostsPlanAt(): usize {
  return sumPlan.rooms;
}

/** The same for the plan of least makespan; paths may end with waits at the goal. */
export function makespanPlanAt(): usize {
  return spanPlan.rooms;
}

/** A status: 0 unsolvable, 1 solved, 2 above the sum of shortest distances. */
export function certify(size: i32, agents: i32, budget: i32, needMakespan: bool, needWait: bool, stopAboveSic: bool): i32 {
  startBudget(budget);
  return certifyBoard(size, agents, needMakespan, needWait, stopAboveSic);
}
