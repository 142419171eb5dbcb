/** What the tests ask of the parts alone; not in the module that is shipped. */
import { startBudget } from "./budget";
import { setByte } from "./bytes";
import { completeDistances, loadBoard, MAX_AGENTS, sumOfShortest } from "./grid";
import { JointNodes } from "./joint-nodes";
import { leastExtraOf } from "./joint-search";
import { forgetPairs } from "./pair-increases";
import { PositionTable } from "./position-table";

export { coverFits, smallestCover } from "./cover";
export { certify, goalsAt, holesAt, neighbourTablesAt, resultsAt, startsAt } from "./index";
export { putCell } from "./planner";
export { askFoursFrom } from "./tuples";

const WEIGHTS = memory.data(MAX_AGENTS * MAX_AGENTS, 8);

/** Room for the weights of a cover. */
export function weightsAt(): usize {
  return WEIGHTS;
}

/** The least sum of costs by A* over the joint positions of all agents; −1: there is no plan. */
export function costByJointSearch(size: i32, agents: i32, nodes: i32, mostExtra: i32): i32 {
  const all = memory.data(MAX_AGENTS, 8);
  for (let agent = 0; agent < agents; agent++) setByte(all + agent, agent);
  startBudget(nodes);
  if (!loadBoard(size, agents)) return -1;
  completeDistances();
  forgetPairs();
  const extra = leastExtraOf(all, agents, mostExtra);
  return extra < 0 ? -1 : sumOfShortest() + extra;
}

const table = new PositionTable(4);

export function resetTable(holdsMost: bool): void {
  table.reset(holdsMost);
}

export function setLeast(position: u64, code: i32, least: i32): void {
  table.setLeast(position, code, least);
}

export function setMost(position: u64, code: i32, most: i32): void {
  table.setMost(position, code, most);
}

export function lookUpLeast(position: u64, code: i32): i32 {
  return table.least(position, code);
}

export function lookUpMost(position: u64, code: i32): i32 {
  return table.most(position, code);
}

const nodes = new JointNodes();

export function resetNodes(): void {
  nodes.reset();
}

/** Adds a node with a position and puts it into a bucket. */
export function addNode(position: u64, bucket: i32): i32 {
  const node = nodes.add(position, bucket, -1);
  nodes.push(node, bucket);
  return node;
}

export function popNode(bucket: i32): i32 {
  return nodes.pop(bucket);
}

export function findNode(position: u64): i32 {
  return nodes.find(position);
}
