/**
 * Prioritised planning: agents are planned one after another, each by the cheapest path that keeps clear of those before it (Erdmann and
 * Lozano-Pérez 1987; Silver, "Cooperative pathfinding", AIIDE 2005). Fast, neither complete nor optimal: its plans are upper bounds, and
 * one whose cost meets a lower bound is certified by that.
 *
 * One agent's search is A* over (cell, time) with last-in-first-out buckets. Beyond the time of the last planned move nothing changes any
 * more, so later times are one time.
 */
import { giveUp, spend } from "./budget";
import { byteAt, setByte, setWord, wordAt } from "./bytes";
import { besides, DISTANCES, goalOf, MAX_AGENTS, STRIDE, shortest, startOf, UNREACHABLE, waitForbidden } from "./grid";

/** No agent is planned past this time. */
const HORIZON: i32 = 192;
const SPACE_TIME: i32 = HORIZON * STRIDE;

/** paths[agent·HORIZON + t], up to the agent's arrival: cells. */
const PATHS = memory.data(MAX_AGENTS * HORIZON, 16);
const ARRIVALS = memory.data(MAX_AGENTS, 16);

// What the planned agents occupy; all stamped with the plan's number.
const OCCUPANTS = memory.data(SPACE_TIME * 4, 16);
const LAST_USE = memory.data(STRIDE * 4, 16);
const PARKED_FROM = memory.data(STRIDE * 4, 16);
const FOR_EVER: i32 = 1023;
let stamp: i32 = 0;
let quietFrom: i32 = 0;

// The search of one agent: a node is cell, time, parent and the next node in its bucket, the latter two as nodes' numbers or −1.
const VISITED = memory.data(SPACE_TIME * 4, 16);
const NODE: i32 = 12;
/** A cell at a time is reached three times at most: by a wait, a step away and a step closer, in whatever order. */
const MOST_NODES: i32 = 3 * SPACE_TIME + 1;
const NODES = memory.data(MOST_NODES * NODE, 16);
const HEADS = memory.data(HORIZON * 4, 16);
let visit: i32 = 0;

/** Starts an empty plan. */
export function clearPlan(): void {
  if (++stamp >= 1 << 20) {
    stamp = 1;
    memory.fill(OCCUPANTS, 0, SPACE_TIME * 4);
    memory.fill(LAST_USE, 0, STRIDE * 4);
    memory.fill(PARKED_FROM, 0, STRIDE * 4);
  }
  quietFrom = 0;
}

/** Where the path of an agent stands. */
export function pathOf(agent: i32): usize {
  return PATHS + agent * HORIZON;
}

/** The time of the agent's final arrival. */
export function arrivalOf(agent: i32): i32 {
  return byteAt(ARRIVALS + agent);
}

/** The next cell of a path that is known to keep clear of the planned ones, for `endPath`; gives up on one past the horizon. */
export function putCell(agent: i32, t: i32, cell: i32): void {
  if (t >= HORIZON) giveUp();
  setByte(pathOf(agent) + t, cell);
}

/** Adds an agent whose path has been put down up to its final arrival. */
export function endPath(agent: i32, arrival: i32): void {
  const path = pathOf(agent);
  for (let t = 0; t <= arrival; t++) {
    const cell = byteAt(path + t);
    setWord(OCCUPANTS + ((t * STRIDE + cell) << 2), (stamp << 3) | agent);
    const last = wordAt(LAST_USE + (cell << 2));
    if (last >> 10 !== stamp || (last & FOR_EVER) < t) setWord(LAST_USE + (cell << 2), (stamp << 10) | t);
  }
  const goal = byteAt(path + arrival);
  setWord(LAST_USE + (goal << 2), (stamp << 10) | FOR_EVER);
  setWord(PARKED_FROM + (goal << 2), (stamp << 10) | arrival);
  setByte(ARRIVALS + agent, arrival);
  quietFrom = max(quietFrom, arrival + 1);
}

/** Plans an agent around those already planned. The time of its final arrival, or −1 when it cannot arrive by `deadline`. */
export function planAgent(agent: i32, deadline: i32): i32 {
  const table = DISTANCES + agent * STRIDE;
  const start = startOf(agent);
  const goal = goalOf(agent);
  const latest = min(deadline, HORIZON - 1);
  const freeFrom = freeForEver(goal);
  const d0 = shortest(agent);
  if (d0 > latest || freeFrom > latest) return -1;
  const mostSlack = latest - d0;
  nextVisit();
  const quiet = quietFrom;
  const lastDirection = waitForbidden() ? 3 : 4;
  let nodes = 1;
  putNode(0, start, 0, -1, -1);
  setWord(VISITED + (start << 2), visit << 8);
  setWord(HEADS, 0);
  let lastBucket = 0;
  for (let slack = 0; slack <= lastBucket; slack++) {
    const head = HEADS + (slack << 2);
    for (let node = wordAt(head); node >= 0; node = wordAt(head)) {
      setWord(head, linkOf(node));
      const cell = cellOfNode(node);
      const time = timeOf(node);
      if (cell === goal && time >= freeFrom) {
        spend(nodes);
        keepPath(agent, node, time);
        return time;
      }
      const next = time + 1;
      const slice = min(next, quiet) * STRIDE;
      const before = min(time, quiet) * STRIDE;
      const d = byteAt(table + cell);
      // Farther first and nearer last, so that the nearer come off the bucket first.
      for (let direction = lastDirection; direction >= 0; direction--) {
        const beside = direction === 4 ? cell : byteAt(besides(cell) + direction);
        const after = byteAt(table + beside);
        if (after >= UNREACHABLE) continue;
        const used = slack + 1 + after - d;
        if (used > mostSlack) continue;
        // In the quiet time one entry stands for many times, so a cheaper visit may come later.
        const visited = VISITED + ((slice + beside) << 2);
        const known = wordAt(visited);
        if (known >> 8 === visit && (known & 255) <= used) continue;
        if (!isFree(cell, beside, before, slice, next, direction < 4)) continue;
        setWord(visited, (visit << 8) | used);
        while (lastBucket < used) setWord(HEADS + (++lastBucket << 2), -1);
        if (nodes === MOST_NODES) giveUp();
        putNode(nodes, beside, next, node, wordAt(HEADS + (used << 2)));
        setWord(HEADS + (used << 2), nodes++);
      }
    }
  }
  spend(nodes);
  return -1;
}

/**
 * As `planAgent` with the agent's shortest distance for a deadline, and the same path where there is one: the search only ever comes closer to
 * the goal, so a cell has one time. Needs no distances beyond the start's.
 */
export function planOnTime(agent: i32): bool {
  const table = DISTANCES + agent * STRIDE;
  const start = startOf(agent);
  const d0 = shortest(agent);
  if (freeForEver(goalOf(agent)) > d0) return false;
  nextVisit();
  const mark = visit << 8;
  const quiet = quietFrom;
  let nodes = 1;
  putNode(0, start, 0, -1, -1);
  for (let node = 0; node >= 0; ) {
    const cell = cellOfNode(node);
    const d = byteAt(table + cell);
    if (d === 0) {
      spend(nodes);
      keepPath(agent, node, d0);
      return true;
    }
    let open = linkOf(node);
    const time = d0 - d;
    const next = time + 1;
    const slice = min(next, quiet) * STRIDE;
    const before = min(time, quiet) * STRIDE;
    for (let direction = 3; direction >= 0; direction--) {
      const beside = byteAt(besides(cell) + direction);
      if (byteAt(table + beside) !== d - 1) continue;
      const visited = VISITED + (beside << 2);
      if (wordAt(visited) === mark) continue;
      if (!isFree(cell, beside, before, slice, next, true)) continue;
      setWord(visited, mark);
      putNode(nodes, beside, next, node, open);
      open = nodes++;
    }
    node = open;
  }
  spend(nodes);
  return false;
}

/** Whether nobody planned is at the cell `beside` at the time `next`, nor comes the other way. */
function isFree(cell: i32, beside: i32, before: i32, slice: i32, next: i32, moves: bool): bool {
  if (wordAt(OCCUPANTS + ((slice + beside) << 2)) >> 3 === stamp) return false;
  const parked = wordAt(PARKED_FROM + (beside << 2));
  if (parked >> 10 === stamp && (parked & FOR_EVER) <= next) return false;
  if (!moves) return true;
  const other = wordAt(OCCUPANTS + ((before + beside) << 2));
  return other >> 3 !== stamp || wordAt(OCCUPANTS + ((slice + cell) << 2)) !== other;
}

/** From when on nobody planned comes to the cell any more; past the horizon: somebody stays. */
function freeForEver(cell: i32): i32 {
  const last = wordAt(LAST_USE + (cell << 2));
  return last >> 10 === stamp ? (last & FOR_EVER) + 1 : 0;
}

function nextVisit(): void {
  if (++visit < 1 << 22) return;
  visit = 1;
  memory.fill(VISITED, 0, SPACE_TIME * 4);
}

function putNode(node: i32, cell: i32, time: i32, parent: i32, link: i32): void {
  const at = NODES + node * NODE;
  store<u8>(at, <u8>cell);
  store<u8>(at, <u8>time, 1);
  store<i32>(at, parent, 4);
  store<i32>(at, link, 8);
}

function cellOfNode(node: i32): i32 {
  return byteAt(NODES + node * NODE);
}

function timeOf(node: i32): i32 {
  return <i32>load<u8>(NODES + node * NODE, 1);
}

function parentOf(node: i32): i32 {
  return load<i32>(NODES + node * NODE, 4);
}

function linkOf(node: i32): i32 {
  return load<i32>(NODES + node * NODE, 8);
}

function keepPath(agent: i32, node: i32, time: i32): void {
  const path = pathOf(agent);
  for (let n = node, t = time; n >= 0; n = parentOf(n), t--) setByte(path + t, cellOfNode(n));
  endPath(agent, time);
}
