/** What the tests ask of the parts alone; not in the module that is shipped. */
import { startBudget } from "./budget";
import { setByte } from "./bytes";
import { completeDistances, firstOption, loadBoard, MAX_AGENTS, MOST_ADDED, optionAt, optionCount, sumOfShortest } from "./grid";
import { JointNodes } from "./joint-nodes";
import { leastExtraOf } from "./joint-search";
import { fiveFit, fourFit, threeFit } from "./option-covers";
import { forgetPairs } from "./pair-increases";
import { forgetPairMoves } from "./pair-moves";
import { PositionTable } from "./position-table";

export { coverFits, smallestCover } from "./cover";
export { certify, goalsAt, holesAt, neighbourTablesAt, resultsAt, spentNodes, startsAt } from "./index";
export { pairIncrease } from "./pair-increases";
export { movesOfPair } from "./pair-moves";
export { putCell } from "./planner";
export { beginWithBlocks } from "./position-table";
export { endSpaceAfter } from "./space";
export { askFoursFrom } from "./tuples";

const WEIGHTS = memory.data(MAX_AGENTS * MAX_AGENTS, 8);

/** Eight options of an agent: what each adds, then for each agent before it eight bytes of what each option adds and the increase. */
const OPTIONS = memory.data(8 * MAX_AGENTS, 16);

export function optionsAt(): usize {
  return OPTIONS;
}

/** The options with which three to five agents have a cover of at most `limit`, as bits; the weights are those before the last one's. */
export function optionsThatFit(agents: i32, limit: i32, alive: i32): i32 {
  const added = v128.load_ext<u8>(OPTIONS);
  const first = v128.load_ext<u8>(OPTIONS + 8);
  const second = v128.load_ext<u8>(OPTIONS + 16);
  if (agents === 3) return alive & threeFit(WEIGHTS, first, second, added, limit);
  const third = v128.load_ext<u8>(OPTIONS + 24);
  if (agents === 4) return alive & fourFit(WEIGHTS, first, second, third, added, limit);
  return fiveFit(WEIGHTS, first, second, third, v128.load_ext<u8>(OPTIONS + 32), added, limit, alive);
}

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

/** Takes in a board for questions about its pairs; false where an agent cannot reach its goal even alone. */
export function beginPairs(size: i32, agents: i32): bool {
  startBudget(i32.MAX_VALUE);
  if (!loadBoard(size, agents)) return false;
  completeDistances();
  forgetPairs();
  forgetPairMoves();
  return true;
}

/** The u-th option of an agent at a code, as in grid.ts; −1 where there is none. */
export function optionOf(agent: i32, code: i32, u: i32): i32 {
  const first = firstOption(agent, code);
  return u < optionCount(agent, code, MOST_ADDED) ? optionAt(first + (u << 1)) : -1;
}

/** How far the space that was ever taken reaches. */
export function spaceEnd(): usize {
  return heap.alloc(0);
}

const table = new PositionTable(4);

export function resetTable(holdsMost: bool): void {
  table.reset(holdsMost);
}

export function setLeast(position: u64, code: i32, least: i32): void {
  const part = table.part(code);
  table.setLeast(table.enter(position, part), part, code, least);
}

export function setMost(position: u64, code: i32, most: i32): void {
  const part = table.part(code);
  table.setMost(table.enter(position, part), part, code, most);
}

export function lookUpLeast(position: u64, code: i32): i32 {
  const part = table.part(code);
  const block = table.find(position, part);
  return block === 0 ? 0 : table.leastIn(block, part, code);
}

export function lookUpMost(position: u64, code: i32): i32 {
  const part = table.part(code);
  const block = table.find(position, part);
  return block === 0 ? 255 : table.mostIn(block, part, code);
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
