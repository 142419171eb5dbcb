/**
 * A* over the joint positions of a set of agents, for the least makespan. Agents that are early wait on their goals for free and may step
 * aside again, so the state is the positions alone and the first time at which all stand on their goals is the makespan.
 *
 * The estimate of a position is the largest distance left; with `asksPairs` the largest makespan of two agents alone (pair-makespans.ts).
 *
 * Expansion is partial (see joint-search.ts): a child is made only when time plus its estimate is the priority at
 * hand. Ties are broken last in, first out. Within one estimate a state always has the same time, so the first visit is the best one.
 */
import { spend } from "./budget";
import { byteAt, setByte } from "./bytes";
import { besides, collidesWithEarlier, distance, goalOf, MAX_AGENTS, shortest, startOf } from "./grid";
import { JointNodes } from "./joint-nodes";
import { pairMakespan } from "./pair-makespans";
import { endPath, putCell } from "./planner";
import { packed } from "./position";

const nodes = new JointNodes();
/** The agents of the set. */
const AGENTS = memory.data(MAX_AGENTS, 8);
let size: i32 = 0;
let asksPairs: bool = false;
let goalNode: i32 = -1;
/** The estimate at the root: the first bucket. */
let least: i32 = 0;

// The node under expansion and the child under construction.
let parent: i32 = -1;
let timeOfParent: i32 = 0;
let priority: i32 = 0;
/** The largest estimate a child may have. */
let reach: i32 = 0;
/** Whether children must use it up: the others were made when the node was expanded before. */
let mustUseReach: bool = false;
const CELLS = memory.data(MAX_AGENTS, 8);
const CHILD_CELLS = memory.data(MAX_AGENTS, 8);

/**
 * The least makespan of these agents together, if it is at most `most`; otherwise −1.
 * @param agents bytes, with room for eight
 * @param withPairs costs more than it saves with few agents
 */
export function leastMakespanOf(agents: usize, count: i32, most: i32, withPairs: bool): i32 {
  size = count;
  asksPairs = withPairs;
  store<u64>(AGENTS, load<u64>(agents));
  nodes.reset();
  goalNode = -1;
  parent = -1;
  timeOfParent = -1;
  priority = 0;
  for (let a = 0; a < count; a++) {
    const agent = agentAt(a);
    setByte(CHILD_CELLS + a, startOf(agent));
    priority = max(priority, shortest(agent));
  }
  if (priority > most) return -1;
  least = priority;
  finishChild();
  for (let p = least; p <= nodes.lastBucket + least && p <= most; p++) {
    priority = p;
    for (let node = nodes.pop(p - least); node >= 0 && goalNode < 0; node = nodes.pop(p - least)) expand(node, most);
    if (goalNode >= 0) return p;
  }
  return -1;
}

/** Puts the path of the a-th agent of the set in the solution found last into the plan, up to its final arrival. */
export function placeFromMakespanSearch(a: i32): void {
  const agent = agentAt(a);
  const goal = goalOf(agent);
  let last = goalNode;
  while (nodes.parent(last) >= 0 && nodes.code(nodes.parent(last), a) === goal) last = nodes.parent(last);
  for (let node = last; node >= 0; node = nodes.parent(node)) putCell(agent, nodes.cost(node), nodes.code(node, a));
  endPath(agent, nodes.cost(last));
}

function agentAt(a: i32): i32 {
  return byteAt(AGENTS + a);
}

function expand(node: i32, most: i32): void {
  const time = nodes.cost(node);
  let largest = 0;
  for (let a = 0; a < size; a++) {
    const cell = nodes.code(node, a);
    setByte(CELLS + a, cell);
    largest = max(largest, distance(agentAt(a), cell));
    if (asksPairs) largest = largestWithPairs(CELLS, a, cell, largest, priority - time);
  }
  parent = node;
  timeOfParent = time;
  reach = priority - time - 1;
  mustUseReach = nodes.slice(node) === 1;
  extend(0, false);
  // The estimate grows by at most one a step, since every step can be taken back.
  if (reach <= largest && priority < most) {
    nodes.setSlice(node, 1);
    nodes.push(node, priority + 1 - least);
  }
}

function extend(a: i32, hasUsedReach: bool): void {
  if (goalNode >= 0) return;
  if (a === size) {
    if (!mustUseReach || hasUsedReach) finishChild();
    return;
  }
  const here = byteAt(CELLS + a);
  const agent = agentAt(a);
  for (let direction = 0; direction < 5; direction++) {
    const next = direction === 4 ? here : byteAt(besides(here) + direction);
    const d = distance(agent, next);
    if (d > reach || collidesWithEarlier(CELLS, CHILD_CELLS, a, here, next)) continue;
    const estimate = asksPairs ? largestWithPairs(CHILD_CELLS, a, next, d, reach) : d;
    if (estimate > reach) continue;
    setByte(CHILD_CELLS + a, next);
    extend(a + 1, hasUsedReach || estimate === reach);
  }
}

/** The largest of `largest` and the makespans, up to `cap` + 1, of agent a at `cell` with each of those before it at `cells`. */
function largestWithPairs(cells: usize, a: i32, cell: i32, largest: i32, cap: i32): i32 {
  let found = largest;
  for (let b = 0; b < a && found <= cap; b++) {
    found = max(found, pairMakespan(agentAt(b), agentAt(a), byteAt(cells + b), cell, cap));
  }
  return found;
}

function finishChild(): void {
  const position = packed(CHILD_CELLS, size);
  if (nodes.find(position) >= 0) return;
  let isGoal = true;
  for (let a = 0; a < size; a++) if (byteAt(CHILD_CELLS + a) !== goalOf(agentAt(a))) isGoal = false;
  spend(1);
  const node = nodes.add(position, timeOfParent + 1, parent);
  if (isGoal) goalNode = node;
  nodes.push(node, priority - least);
}
