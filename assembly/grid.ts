/**
 * The packed board that every search reads: cells row·size + column, one breadth-first table per goal, and for each (agent, cell) the moves
 * from it with what each adds to the agent's individual shortest cost.
 *
 * Where an agent is takes 7 bits: its cell, or DONE once it is *committed*: it has made its final arrival and holds its goal for ever.
 * An agent commits only by arriving (or at time 0, when it starts on its goal), so an agent that is on its goal and not committed still
 * has to leave and come back. That makes "stay at the goal" exact without counting waits, in a finite space.
 */
import { byteAt, setByte, setWord, wordAt } from "./bytes";

export const MAX_AGENTS: i32 = 8;
export const MAX_SIZE: i32 = 10;
/** Room for one agent's codes: 7 bits. */
export const STRIDE: i32 = 128;
/** The code of an agent that has made its final arrival. */
export const DONE: i32 = 126;
/** The cell that a move off the grid leads to; never free. */
export const OFF_GRID: i32 = 127;
/** Distances from here on mean: not reachable. */
export const UNREACHABLE: i32 = 254;
const BLOCKED: i32 = 255;

/** 1 where there is a hole, by cell; written by the host, as starts and goals are. */
export const HOLES = memory.data(STRIDE, 16);
/** Cells, by agent. */
export const STARTS = memory.data(MAX_AGENTS, 16);
export const GOALS = memory.data(MAX_AGENTS, 16);
/** By size, cell·4 + direction (UP, DOWN, LEFT, RIGHT): the cell beside, OFF_GRID outside. Written by the host once. */
export const NEIGHBOUR_TABLES = memory.data((MAX_SIZE + 1) * STRIDE * 4, 16);
/**
 * By agent·STRIDE + cell: steps to the agent's goal on an otherwise empty board. After `load` cells that are not nearer to the goal than the
 * start is may still be missing (UNREACHABLE) until `completeDistances`.
 */
export const DISTANCES = memory.data(MAX_AGENTS * STRIDE, 16);
/** Of cells of the board UNREACHABLE or BLOCKED; OFF_GRID is BLOCKED, the rest is never asked for. */
export const FREE = memory.data(STRIDE, 16);
/** The agent's distance from its start to its goal. */
const SHORTEST = memory.data(MAX_AGENTS, 16);

// The breadth-first search of each agent stops at its start and goes on when more is asked for.
const QUEUES = memory.data(MAX_AGENTS * STRIDE, 16);
const QUEUE_NEXT = memory.data(MAX_AGENTS, 16);
const QUEUE_END = memory.data(MAX_AGENTS, 16);

/** Options of one agent at one code: eight of two bytes; up to six are used. */
const OPTIONS = memory.data(MAX_AGENTS * STRIDE * 16, 16);
/** How many of them add 0, at most 1 and at most 2: four bits each. */
const OPTION_ENDS = memory.data(MAX_AGENTS * STRIDE * 4, 16);
const OPTION_STAMPS = memory.data(MAX_AGENTS * STRIDE * 4, 16);

let count: i32 = 0;
let neighbours: usize = 0;
let sum: i32 = 0;
let noWaits: bool = false;
let stamp: i32 = 0;

/** Number of agents. */
export function agentCount(): i32 {
  return count;
}

/** SIC: the sum of individual shortest distances; −1 where an agent cannot reach its goal. */
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
export function loadBoard(boardSize: i32, agents: i32): bool {
  const cells = boardSize * boardSize;
  count = agents;
  neighbours = NEIGHBOUR_TABLES + boardSize * STRIDE * 4;
  noWaits = false;
  stamp++;
  setByte(FREE + OFF_GRID, BLOCKED);
  for (let cell = 0; cell < cells; cell++) setByte(FREE + cell, byteAt(HOLES + cell) === 0 ? UNREACHABLE : BLOCKED);
  sum = 0;
  for (let agent = 0; agent < agents; agent++) {
    beginDistances(agent, goalOf(agent), cells);
    findDistances(agent, startOf(agent));
    const d = byteAt(DISTANCES + agent * STRIDE + startOf(agent));
    if (d >= UNREACHABLE) {
      sum = -1;
      return false;
    }
    setByte(SHORTEST + agent, d);
    sum += d;
  }
  return true;
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

function beginDistances(agent: i32, goal: i32, cells: i32): void {
  const table = DISTANCES + agent * STRIDE;
  // Whole words: space for a hundred cells is there in any case.
  for (let cell = 0; cell < cells; cell += 8) store<u64>(table + cell, load<u64>(FREE + cell));
  setByte(table + OFF_GRID, BLOCKED);
  setByte(table + goal, 0);
  setByte(QUEUES + agent * STRIDE, goal);
  setByte(QUEUE_NEXT + agent, 0);
  setByte(QUEUE_END + agent, 1);
}

/** Goes on until the cell `last` has been looked at, or to the end. */
function findDistances(agent: i32, last: i32): void {
  const table = DISTANCES + agent * STRIDE;
  const queue = QUEUES + agent * STRIDE;
  if (byteAt(table + last) < UNREACHABLE) return;
  let next = byteAt(QUEUE_NEXT + agent);
  let end = byteAt(QUEUE_END + agent);
  while (next < end) {
    const cell = byteAt(queue + next++);
    const d = byteAt(table + cell) + 1;
    const around = besides(cell);
    for (let direction = 0; direction < 4; direction++) {
      const beside = byteAt(around + direction);
      if (byteAt(table + beside) !== UNREACHABLE) continue;
      setByte(table + beside, d);
      setByte(queue + end++, beside);
    }
    if (last !== OFF_GRID && byteAt(table + last) !== UNREACHABLE) break;
  }
  setByte(QUEUE_NEXT + agent, next);
  setByte(QUEUE_END + agent, end);
}

/** The agent's steps to its goal from a cell, on an otherwise empty board. */
export function distance(agent: i32, cell: i32): i32 {
  return byteAt(DISTANCES + agent * STRIDE + cell);
}

/** The cell an agent with this code stands on. */
export function cellOf(agent: i32, code: i32): i32 {
  return code === DONE ? goalOf(agent) : code;
}

/**
 * Where the moves of an agent from a code stand; they are sorted by what they add (0, 1 or 2) to the agent's least cost. Each takes two bytes:
 * code·512 + cell·4 + added, with the code after the move and the cell it leads to.
 */
export function firstOption(agent: i32, code: i32): usize {
  const key = agent * STRIDE + code;
  if (wordAt(OPTION_STAMPS + (key << 2)) !== stamp) listOptions(agent, code, key);
  return OPTIONS + (key << 4);
}

/** How many of them add at most `added`, which is not negative; `firstOption` has been asked for. */
export function optionCount(agent: i32, code: i32, added: i32): i32 {
  return (wordAt(OPTION_ENDS + ((agent * STRIDE + code) << 2)) >> (4 * min(added, 2))) & 15;
}

/** Where those that add at most `added` end. */
export function optionEnd(first: usize, agent: i32, code: i32, added: i32): usize {
  return first + (optionCount(agent, code, added) << 1);
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

function listOptions(agent: i32, code: i32, key: i32): void {
  const first = OPTIONS + (key << 4);
  setWord(OPTION_STAMPS + (key << 2), stamp);
  if (code === DONE) {
    putOption(first, 0, DONE, goalOf(agent), 0);
    setWord(OPTION_ENDS + (key << 2), 0x111);
    return;
  }
  const d = distance(agent, code);
  let end = 0;
  let ends = 0;
  for (let added = 0; added <= 2; added++) {
    if (added === 1 && !noWaits) putOption(first, end++, code, code, 1);
    for (let direction = 0; direction < 4; direction++) {
      const beside = byteAt(besides(code) + direction);
      const after = distance(agent, beside);
      if (after >= UNREACHABLE) continue;
      if (after === 0) {
        if (added === 0) putOption(first, end++, DONE, beside, 0);
        else if (added === 2) putOption(first, end++, beside, beside, 2);
      } else if (added === (d === 0 || after < d ? 0 : 2)) putOption(first, end++, beside, beside, added);
    }
    ends |= end << (4 * added);
  }
  setWord(OPTION_ENDS + (key << 2), ends);
}

function putOption(first: usize, place: i32, code: i32, cell: i32, added: i32): void {
  store<u16>(first + (place << 1), <u16>((code << 9) | (cell << 2) | added));
}
