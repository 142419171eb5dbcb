/**
 * Partial-expansion A* over the joint positions of a set of agents, for the least sum of costs (Goldenberg et al., "Enhanced Partial
 * Expansion A*", JAIR 2014): a node is expanded in slices, each with exactly one amount added to the sum of individual costs, so children
 * that cost too much are never made. All costs here are *extra*: above the agents' individual shortest costs.
 *
 * Deviations: the heuristic is the smallest cover of the pairs' exact increases, looked up lazily; a child whose prefix of agents already
 * exceeds the bound is never completed. Ties are broken last in, first out. Nothing is allocated but to grow.
 */
import { spend } from "./budget";
import { byteAt, setByte } from "./bytes";
import { smallestCover } from "./cover";
import {
  addedBy,
  cellAfter,
  cellOf,
  codeAfter,
  collidesWithEarlier,
  done,
  firstOption,
  goalOf,
  MAX_AGENTS,
  optionAt,
  optionCounts,
  optionEnd,
  startOf,
} from "./grid";
import { JointNodes } from "./joint-nodes";
import { pairIncrease } from "./pair-increases";
import { endPath, putCell } from "./planner";
import { packed } from "./position";

/** Pair increases are looked up to this value; beyond it they only slow the search down. */
const LOOK_UP: i32 = 12;

const nodes = new JointNodes();
/** The agents of the set. */
const AGENTS = memory.data(MAX_AGENTS, 8);
let size: i32 = 0;
let bound: i32 = 0;
let goalNode: i32 = -1;
let priority: i32 = 0;

// The node under expansion and the child under construction.
let parent: i32 = -1;
let extraOfParent: i32 = 0;
let leastAdded: i32 = 0;
let mostAdded: i32 = 0;
const CODES = memory.data(MAX_AGENTS, 8);
const CELLS = memory.data(MAX_AGENTS, 8);
/** What agent a and those after it can add at most. */
const REST_MOST = memory.data(MAX_AGENTS + 1, 8);
const CHILD_CODES = memory.data(MAX_AGENTS, 8);
const CHILD_CELLS = memory.data(MAX_AGENTS, 8);
const DELTA = memory.data(MAX_AGENTS * MAX_AGENTS, 8);

/** The least extra cost of these agents together, if it is at most `most`; otherwise −1. @param agents bytes, with room for eight */
export function leastExtraOf(agents: usize, count: i32, most: i32): i32 {
  size = count;
  bound = most;
  store<u64>(AGENTS, load<u64>(agents));
  nodes.reset();
  goalNode = -1;
  leastAdded = 0;
  mostAdded = most;
  parent = -1;
  extraOfParent = 0;
  priority = 0;
  makeRoots(0, 0);
  if (goalNode >= 0 && bound === 0) return 0;
  for (let p = 0; p <= nodes.lastBucket && p <= bound; p++) {
    priority = p;
    for (let node = nodes.pop(p); node >= 0; node = nodes.pop(p)) {
      expand(node);
      if (goalNode >= 0 && bound <= p) return bound;
    }
  }
  return -1;
}

/** Puts the path of the a-th agent of the set in the solution found last into the plan. */
export function placeFromJointSearch(a: i32): void {
  const agent = agentAt(a);
  // The last node before its final arrival, if there is one.
  let last = goalNode;
  while (last >= 0 && nodes.code(last, a) === done()) last = nodes.parent(last);
  let steps = 0;
  for (let node = last; node >= 0; node = nodes.parent(node)) steps++;
  putCell(agent, steps, goalOf(agent));
  for (let node = last, t = steps - 1; node >= 0; node = nodes.parent(node), t--) putCell(agent, t, nodes.code(node, a));
  endPath(agent, steps);
}

function agentAt(a: i32): i32 {
  return byteAt(AGENTS + a);
}

/** An agent that starts on its goal may have arrived already, or may still have to leave and come back (2 extra). */
function makeRoots(a: i32, added: i32): void {
  if (added > bound) return;
  if (a === size) {
    finishChild(added);
    return;
  }
  const agent = agentAt(a);
  const start = startOf(agent);
  setByte(CHILD_CELLS + a, start);
  let more = added;
  if (start === goalOf(agent)) {
    setByte(CHILD_CODES + a, done());
    if (lookUpPairs(a, more)) makeRoots(a + 1, more);
    more += 2;
  }
  setByte(CHILD_CODES + a, start);
  if (lookUpPairs(a, more)) makeRoots(a + 1, more);
}

function expand(node: i32): void {
  const extra = nodes.cost(node);
  if (nodes.find(nodes.position(node)) !== node) return; // reached more cheaply since
  for (let a = 0; a < size; a++) {
    const code = nodes.code(node, a);
    setByte(CODES + a, code);
    setByte(CELLS + a, cellOf(agentAt(a), code));
  }
  setByte(REST_MOST + size, 0);
  for (let a = size - 1; a >= 0; a--) setByte(REST_MOST + a, byteAt(REST_MOST + a + 1) + (byteAt(CODES + a) === done() ? 0 : 2));
  parent = node;
  extraOfParent = extra;
  leastAdded = nodes.slice(node);
  mostAdded = priority - extra;
  extend(0, 0);
  const next = priority - extra + 1;
  if (next <= byteAt(REST_MOST) && priority + 1 <= bound) {
    nodes.setSlice(node, next);
    nodes.push(node, priority + 1);
  }
}

/** Chooses the moves of agent a and those after it; those before have added `added`. */
function extend(a: i32, added: i32): void {
  if (added + byteAt(REST_MOST + a) < leastAdded) return;
  if (a === size) {
    finishChild(added);
    return;
  }
  const agent = agentAt(a);
  const code = byteAt(CODES + a);
  const here = byteAt(CELLS + a);
  const first = firstOption(agent, code);
  const end = optionEnd(first, optionCounts(agent, code), mostAdded - added);
  for (let option = first; option < end; option += 2) {
    const move = optionAt(option);
    const next = cellAfter(move);
    if (collidesWithEarlier(CELLS, CHILD_CELLS, a, here, next)) continue;
    setByte(CHILD_CODES + a, codeAfter(move));
    setByte(CHILD_CELLS + a, next);
    const total = added + addedBy(move);
    if (lookUpPairs(a, total)) extend(a + 1, total);
  }
}

/** Fills δ of agent a with those before it; false when one alone exceeds what is left. */
function lookUpPairs(a: i32, added: i32): bool {
  const left = bound - extraOfParent - added;
  if (left < 0) return false;
  const cap = min(left, LOOK_UP);
  for (let b = 0; b < a; b++) {
    const d = pairIncrease(agentAt(b), agentAt(a), byteAt(CHILD_CODES + b), byteAt(CHILD_CODES + a), cap);
    if (d > left) return false;
    setByte(DELTA + b * MAX_AGENTS + a, d);
  }
  return true;
}

function finishChild(added: i32): void {
  const extra = extraOfParent + added;
  const least = extra + (size > 1 ? smallestCover(DELTA, size) : 0);
  if (least > bound) return;
  let isGoal = true;
  for (let a = 0; a < size; a++) if (byteAt(CHILD_CODES + a) !== done()) isGoal = false;
  const position = packed(CHILD_CODES, size);
  const known = nodes.find(position);
  if (known >= 0 && nodes.cost(known) <= extra) return;
  spend(1);
  const node = nodes.add(position, extra, parent);
  if (isGoal) {
    goalNode = node;
    bound = extra;
  }
  // The heuristic is consistent; the maximum guards against a bucket that has been emptied.
  nodes.push(node, max(least, priority));
}
