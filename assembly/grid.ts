/**
 * The packed board that every search reads: cells row·size + column, one breadth-first table per goal, and for each (agent, cell) the moves
 * from it with what each adds to the agent's individual shortest cost.
 *
 * Where an agent is takes 7 bits: its cell, or `done()` once it is *committed*: it has made its final arrival and holds its goal for ever.
 * An agent commits only by arriving (or at time 0, when it starts on its goal), so an agent that is on its goal and not committed still
 * has to leave and come back. That makes "stay at the goal" exact without counting waits, in a finite space.
 *
 * The board, its distances and its moves share one memory and are one file.
 */
import { byteAt, copyBytes, setByte, setWord, wordAt } from "./bytes";

export const MAX_AGENTS: i32 = 8;
const MAX_SIZE: i32 = 10;
/** Room for one agent's codes: 7 bits. */
export const STRIDE: i32 = 128;
/** The cell that a move off the grid leads to; never free. */
export const OFF_GRID: i32 = 127;
/** Distances from here on mean: not reachable. */
export const UNREACHABLE: i32 = 254;
const BLOCKED: i32 = 255;

/** 1 where there is a hole, by cell; written by the host, as starts and goals are. */
export const HOLES = memory.data(STRIDE, 16);
/** Cells, by agent; in the order of `renumber` once that has been asked for. */
export const STARTS = memory.data(MAX_AGENTS, 16);
export const GOALS = memory.data(MAX_AGENTS, 16);
/** By size, cell·4 + direction (UP, DOWN, LEFT, RIGHT): the cell beside, OFF_GRID outside. Written by the host once. */
export const NEIGHBOUR_TABLES = memory.data((MAX_SIZE + 1) * STRIDE * 4, 16);
/**
 * By agent·STRIDE + cell: steps to the agent's goal on an otherwise empty board. After `loadBoard` cells that are not nearer to the goal than the
 * start is may still be missing (UNREACHABLE) until `completeDistances`.
 */
export const DISTANCES = memory.data(MAX_AGENTS * STRIDE, 16);
/** Of cells of the board UNREACHABLE or BLOCKED; OFF_GRID is BLOCKED, the rest is never asked for. */
const FREE = memory.data(STRIDE, 16);
/** What the host calls each agent. */
const NAMES = memory.data(MAX_AGENTS, 16);
/** For `renumber`. */
const DISTANCES_BEFORE = memory.data(MAX_AGENTS * STRIDE, 16);
/** The agent's distance from its start to its goal. */
const SHORTEST = memory.data(MAX_AGENTS, 16);

// Sets of cells are two words of bits. The breadth-first search of each agent stops at its start and goes on when more is asked for: where it
// has come to, the cells it has not reached, and its steps.
const SET: i32 = 16;
const FRONTIERS = memory.data(MAX_AGENTS * SET, 16);
const UNREACHED = memory.data(MAX_AGENTS * SET, 16);
const STEPS = memory.data(MAX_AGENTS, 16);
/** By size: the cells that have one to their left, and those that have one to their right. */
const HAS_LEFT = memory.data((MAX_SIZE + 1) * SET, 16);
const HAS_RIGHT = memory.data((MAX_SIZE + 1) * SET, 16);
for (let size = 1; size <= MAX_SIZE; size++) {
  for (let cell = 0; cell < size * size; cell++) {
    if (cell % size !== 0) addTo(HAS_LEFT + size * SET, cell);
    if (cell % size !== size - 1) addTo(HAS_RIGHT + size * SET, cell);
  }
}

/** What a move adds at most to its agent's shortest cost. */
export const MOST_ADDED: i32 = 2;
/** Options of one agent at one code: eight of two bytes; up to six are used. */
const OPTIONS = memory.data(MAX_AGENTS * STRIDE * 16, 16);
/** How many of them add 0, at most 1 and at most 2: four bits each. */
const OPTION_COUNTS = memory.data(MAX_AGENTS * STRIDE * 4, 16);
const OPTION_STAMPS = memory.data(MAX_AGENTS * STRIDE * 4, 16);

let size: i32 = 0;
let cells: i32 = 0;
let count: i32 = 0;
let neighbours: usize = 0;
let sum: i32 = 0;
let noWaits: bool = false;
/** Cells without a hole. */
let freeLow: u64 = 0;
let freeHigh: u64 = 0;
let stamp: i32 = 0;

/** Number of agents. */
export function agentCount(): i32 {
  return count;
}

/** Cells on a side. */
export function boardSize(): i32 {
  return size;
}

/** Whether the cell is neither a hole nor outside. */
export function isFree(cell: i32): bool {
  return byteAt(FREE + cell) === UNREACHABLE;
}

/** The code of an agent that has made its final arrival: the one after the last cell. */
export function done(): i32 {
  return cells;
}

/** How many codes there are: cells and `done()`. */
export function codeCount(): i32 {
  return cells + 1;
}

/** SIC: the sum of individual shortest distances. */
export function sumOfShortest(): i32 {
  return sum;
}

export function shortest(agent: i32): i32 {
  return byteAt(SHORTEST + agent);
}

export function startOf(agent: i32): i32 {
  return byteAt(STARTS + agent);
}

export function goalOf(agent: i32): i32 {
  return byteAt(GOALS + agent);
}

/** Where the four cells beside a cell stand. */
export function besides(cell: i32): usize {
  return neighbours + (cell << 2);
}

/** Whether moves exclude WAIT before the final arrival. */
export function waitForbidden(): bool {
  return noWaits;
}

/** Takes in the board that the host has written. False when some agent cannot reach its goal even alone. */
export function loadBoard(side: i32, agents: i32): bool {
  cells = side * side;
  size = side;
  count = agents;
  neighbours = NEIGHBOUR_TABLES + side * STRIDE * 4;
  noWaits = false;
  stamp++;
  takeHoles();
  sum = 0;
  for (let agent = 0; agent < agents; agent++) {
    setByte(NAMES + agent, agent);
    beginDistances(agent, goalOf(agent));
    findDistances(agent, startOf(agent));
    const d = byteAt(DISTANCES + agent * STRIDE + startOf(agent));
    if (d >= UNREACHABLE) return false;
    setByte(SHORTEST + agent, d);
    sum += d;
  }
  return true;
}

/** What the host calls the agent. */
export function nameOf(agent: i32): i32 {
  return byteAt(NAMES + agent);
}

/**
 * Numbers the agents anew, whose distances are complete: from now on the a-th is the one that was the `order`'s a-th (bytes). What else is kept by
 * agents' numbers is not changed.
 */
export function renumber(order: usize): void {
  memory.copy(DISTANCES_BEFORE, DISTANCES, MAX_AGENTS * STRIDE);
  for (let agent = 0; agent < count; agent++) {
    copyBytes(DISTANCES + agent * STRIDE, DISTANCES_BEFORE + byteAt(order + agent) * STRIDE, STRIDE);
  }
  permute(STARTS, order);
  permute(GOALS, order);
  permute(SHORTEST, order);
  permute(NAMES, order);
  stamp++;
}

/** Bytes by agent: from its old number to its new one. */
function permute(bytes: usize, order: usize): void {
  const before = load<u64>(bytes);
  for (let agent = 0; agent < count; agent++) setByte(bytes + agent, <i32>(before >> (byteAt(order + agent) << 3)) & 255);
}

/** From now on moves before the final arrival may, or may not, be waits. */
export function forbidWaits(forbidden: bool): void {
  if (noWaits === forbidden) return;
  noWaits = forbidden;
  stamp++;
}

/** Completes the distances, which reach no farther than the agents' starts at first. */
export function completeDistances(): void {
  for (let agent = 0; agent < count; agent++) findDistances(agent, OFF_GRID);
}

/** Sixteen cells at a time; what is beyond the board's does not matter but to `freeLow` and `freeHigh`. */
function takeHoles(): void {
  setByte(FREE + OFF_GRID, BLOCKED);
  freeLow = 0;
  freeHigh = 0;
  for (let cell = 0; cell < cells; cell += 16) {
    const isEmpty = i8x16.eq(v128.load(HOLES + cell), i8x16.splat(0));
    v128.store(FREE + cell, i8x16.add(i8x16.splat(<i8>BLOCKED), isEmpty));
    const bits = <u64>i8x16.bitmask(isEmpty);
    if (cell < 64) freeLow |= bits << cell;
    else freeHigh |= bits << (cell - 64);
  }
  if (cells < 64) freeLow &= ((<u64>1) << cells) - 1;
  else freeHigh &= ((<u64>1) << (cells - 64)) - 1;
}

function beginDistances(agent: i32, goal: i32): void {
  const table = DISTANCES + agent * STRIDE;
  for (let cell = 0; cell < cells; cell += 16) v128.store(table + cell, v128.load(FREE + cell));
  setByte(table + OFF_GRID, BLOCKED);
  setByte(table + goal, 0);
  setSet(FRONTIERS + agent * SET, 0, 0);
  addTo(FRONTIERS + agent * SET, goal);
  const low = load<u64>(FRONTIERS + agent * SET);
  const high = load<u64>(FRONTIERS + agent * SET, 8);
  setSet(UNREACHED + agent * SET, freeLow & ~low, freeHigh & ~high);
  setByte(STEPS + agent, 0);
}

/** Goes on until the cell `last` has been reached, or to the end: all cells of one distance at a time. */
function findDistances(agent: i32, last: i32): void {
  const table = DISTANCES + agent * STRIDE;
  if (byteAt(table + last) < UNREACHABLE) return;
  let low = load<u64>(FRONTIERS + agent * SET);
  let high = load<u64>(FRONTIERS + agent * SET, 8);
  let restLow = load<u64>(UNREACHED + agent * SET);
  let restHigh = load<u64>(UNREACHED + agent * SET, 8);
  let steps = byteAt(STEPS + agent);
  const hasLeft = HAS_LEFT + size * SET;
  const hasRight = HAS_RIGHT + size * SET;
  while ((low | high) !== 0) {
    // A cell is reached from its left, its right, from above and from below.
    const nextLow =
      ((low << 1) & load<u64>(hasLeft)) |
      (((low >> 1) | (high << 63)) & load<u64>(hasRight)) |
      (low << size) |
      (low >> size) |
      (high << (64 - size));
    const nextHigh =
      (((high << 1) | (low >> 63)) & load<u64>(hasLeft, 8)) |
      ((high >> 1) & load<u64>(hasRight, 8)) |
      (high << size) |
      (low >> (64 - size)) |
      (high >> size);
    low = nextLow & restLow;
    high = nextHigh & restHigh;
    restLow ^= low;
    restHigh ^= high;
    steps++;
    for (let rest = low; rest !== 0; rest &= rest - 1) setByte(table + <i32>ctz(rest), steps);
    for (let rest = high; rest !== 0; rest &= rest - 1) setByte(table + 64 + <i32>ctz(rest), steps);
    if (last !== OFF_GRID && byteAt(table + last) !== UNREACHABLE) break;
  }
  setSet(FRONTIERS + agent * SET, low, high);
  setSet(UNREACHED + agent * SET, restLow, restHigh);
  setByte(STEPS + agent, steps);
}

function setSet(set: usize, low: u64, high: u64): void {
  store<u64>(set, low);
  store<u64>(set, high, 8);
}

function addTo(set: usize, cell: i32): void {
  const word = set + ((cell >> 6) << 3);
  store<u64>(word, load<u64>(word) | ((<u64>1) << (cell & 63)));
}

/** The agent's steps to its goal from a cell, on an otherwise empty board. */
export function distance(agent: i32, cell: i32): i32 {
  return byteAt(DISTANCES + agent * STRIDE + cell);
}

/** The cell an agent with this code stands on. */
export function cellOf(agent: i32, code: i32): i32 {
  return code === done() ? goalOf(agent) : code;
}

/**
 * Where the moves of an agent from a code stand; they are sorted by what they add (0, 1 or 2) to the agent's least cost. Each takes two bytes:
 * code·512 + cell·4 + added, with the code after the move and the cell it leads to.
 */
// @inline
export function firstOption(agent: i32, code: i32): usize {
  const key = agent * STRIDE + code;
  if (wordAt(OPTION_STAMPS + (key << 2)) !== stamp) listOptions(agent, code, key);
  return OPTIONS + (key << 4);
}

/** How many of them add at most `added`, which is not negative; `firstOption` has been asked for. */
export function optionCount(agent: i32, code: i32, added: i32): i32 {
  return countWithin(optionCounts(agent, code), added);
}

/** How many there are by what they add at most, for `optionEnd`; `firstOption` has been asked for. */
export function optionCounts(agent: i32, code: i32): i32 {
  return wordAt(OPTION_COUNTS + ((agent * STRIDE + code) << 2));
}

function countWithin(counts: i32, added: i32): i32 {
  return (counts >> (4 * min(added, MOST_ADDED))) & 15;
}

/** Where those that add at most `added` end. */
export function optionEnd(first: usize, counts: i32, added: i32): usize {
  return first + (countWithin(counts, added) << 1);
}

export function optionAt(at: usize): i32 {
  return <i32>load<u16>(at);
}

/** The code after a move. */
export function codeAfter(move: i32): i32 {
  return move >> 9;
}

/** The cell a move leads to. */
export function cellAfter(move: i32): i32 {
  return (move >> 2) & 127;
}

/** What a move adds. */
export function addedBy(move: i32): i32 {
  return move & 3;
}

/** Whether two agents' steps meet: on one cell, or by an exchange of theirs. */
export function collide(cellA: i32, nextA: i32, cellB: i32, nextB: i32): bool {
  return nextA === nextB || (nextA === cellB && nextB === cellA);
}

/** Whether the step of the a-th agent of a set meets that of one before it. @param cells where they stand, and `nexts`, where they go: bytes */
export function collidesWithEarlier(cells: usize, nexts: usize, a: i32, here: i32, next: i32): bool {
  for (let b = 0; b < a; b++) if (collide(here, next, byteAt(cells + b), byteAt(nexts + b))) return true;
  return false;
}

function listOptions(agent: i32, code: i32, key: i32): void {
  const first = OPTIONS + (key << 4);
  setWord(OPTION_STAMPS + (key << 2), stamp);
  if (code === done()) {
    putOption(first, 0, done(), goalOf(agent), 0);
    setWord(OPTION_COUNTS + (key << 2), 0x111);
    return;
  }
  const d = distance(agent, code);
  let end = 0;
  let counts = 0;
  for (let added = 0; added <= MOST_ADDED; added++) {
    if (added === 1 && !noWaits) putOption(first, end++, code, code, 1);
    for (let direction = 0; direction < 4; direction++) {
      const beside = byteAt(besides(code) + direction);
      const after = distance(agent, beside);
      if (after >= UNREACHABLE) continue;
      if (after === 0) {
        if (added === 0) putOption(first, end++, done(), beside, 0);
        else if (added === 2) putOption(first, end++, beside, beside, 2);
      } else if (added === (d === 0 || after < d ? 0 : 2)) putOption(first, end++, beside, beside, added);
    }
    counts |= end << (4 * added);
  }
  setWord(OPTION_COUNTS + (key << 2), counts);
}

function putOption(first: usize, place: i32, code: i32, cell: i32, added: i32): void {
  store<u16>(first + (place << 1), <u16>((code << 9) | (cell << 2) | added));
}
