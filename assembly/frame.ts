/**
 * What the expansion of one joint position keeps, a block of bytes for each depth of the search: options and their number per agent, what
 * every two of them allow and cost, and the joint move under construction.
 */
import { byteAt, setByte } from "./bytes";
import { MAX_AGENTS } from "./grid";
import { Position } from "./position";
import { takeSpace } from "./space";

/** Bytes of one agent's options: five moves, and the goal once as an arrival and once as a cell on the way; room for eight. */
const OPTION_ROW: i32 = 16;
/** Bytes of one pair of agents: for each option of the first the mask of options of the second, then what their moves cost (pair-moves.ts). */
const PAIR: i32 = 16;
const AT_MOVES: usize = 8;
const AT_CELLS: usize = MAX_AGENTS * OPTION_ROW;
const AT_CODES: usize = AT_CELLS + MAX_AGENTS;
const AT_CHOSEN: usize = AT_CODES + MAX_AGENTS;
const AT_ADDED: usize = AT_CHOSEN + MAX_AGENTS;
const AT_UNMOVED: usize = AT_ADDED + MAX_AGENTS;
const AT_MASKS: usize = AT_UNMOVED + 8;
const AT_DELTA: usize = AT_MASKS + (MAX_AGENTS + 1) * MAX_AGENTS;
/** By agent·8 + one before it that has moved: where its row of what both moves cost begins. */
const AT_ROWS: usize = 512;
const AT_PAIRS: usize = AT_ROWS + MAX_AGENTS * MAX_AGENTS * 4;
/** As much as a frame needs, and a power of two. */
const BYTES: usize = 2048;

/** Where the frames begin; deeper than any plan. */
const MOST_FRAMES: i32 = 2048;
const FRAMES = memory.data(MOST_FRAMES * 4, 16);
let count: i32 = 0;

/** The frame of a depth; 0 beyond the deepest. */
export function frameAt(depth: i32): usize {
  if (depth >= MOST_FRAMES) return 0;
  while (count <= depth) store<u32>(FRAMES + (count++ << 2), <u32>takeSpace(BYTES));
  return load<u32>(FRAMES + (depth << 2));
}

/** Takes over the options of the a-th agent. */
export function copyOptions(frame: usize, a: i32, options: usize): void {
  const row = frame + a * OPTION_ROW;
  store<u64>(row, load<u64>(options));
  store<u32>(row, load<u32>(options, 8), 8);
}

/** The u-th option of the a-th agent. */
export function moveIn(frame: usize, a: i32, u: i32): i32 {
  return <i32>load<u16>(frame + (a * OPTION_ROW + (u << 1)));
}

/** Where the agents stand before the joint move. */
export function cellsIn(frame: usize): usize {
  return frame + AT_CELLS;
}

/** Room for the position that a joint move leads to. */
export function codesIn(frame: usize): usize {
  return frame + AT_CODES;
}

/** Increases of the chosen pairs, a·8 + b. */
export function deltaIn(frame: usize): usize {
  return frame + AT_DELTA;
}

/** The codes of those who have not moved when a joint move is half made. */
export function unmovedIn(frame: usize): Position {
  return load<u64>(frame, AT_UNMOVED);
}

export function setUnmoved(frame: usize, unmoved: Position): void {
  store<u64>(frame, unmoved, AT_UNMOVED);
}

/** The option that the a-th agent takes in the joint move under construction. */
function chosenIn(frame: usize, a: i32): i32 {
  return byteAt(frame + AT_CHOSEN + a);
}

/** Chooses its u-th option, which adds so much. */
export function choose(frame: usize, a: i32, u: i32, added: i32): void {
  setByte(frame + AT_CHOSEN + a, u);
  setByte(frame + AT_ADDED + a, added);
}

/** What it adds. */
export function addedIn(frame: usize, a: i32): i32 {
  return byteAt(frame + AT_ADDED + a);
}

/** Its move. */
export function chosenMove(frame: usize, a: i32): i32 {
  return moveIn(frame, a, chosenIn(frame, a));
}

/** The options that are left to agent b after `depth` agents have moved, as bits. */
export function allowedIn(frame: usize, depth: i32, b: i32): i32 {
  return byteAt(frame + AT_MASKS + (depth * MAX_AGENTS + b));
}

export function setAllowed(frame: usize, depth: i32, b: i32, mask: i32): void {
  setByte(frame + AT_MASKS + (depth * MAX_AGENTS + b), mask);
}

/** What is kept of agents a < b. */
export function pairIn(frame: usize, a: i32, b: i32): usize {
  return frame + AT_PAIRS + (b * MAX_AGENTS + a) * PAIR;
}

/** The options of the second that go with the u-th of the first, as bits. */
export function goesWith(pair: usize, u: i32): i32 {
  return byteAt(pair + u);
}

/** All of these at once, a byte for each option of the first. */
export function setGoesWith(pair: usize, masks: u64): void {
  store<u64>(pair, masks);
}

/** Where the costs of the moves of agent b with the one that agent a takes stand, by b's option. */
export function costsIn(frame: usize, a: i32, b: i32): usize {
  return load<u32>(frame + ((b * MAX_AGENTS + a) << 2), AT_ROWS);
}

/** Agent a takes its u-th option: for `costsIn` with agents after it. */
export function takeCosts(frame: usize, a: i32, b: i32, u: i32): void {
  store<u32>(frame + ((b * MAX_AGENTS + a) << 2), load<u32>(pairIn(frame, a, b), AT_MOVES) + (u << 3), AT_ROWS);
}

export function setMoves(pair: usize, moves: usize): void {
  store<u32>(pair, <u32>moves, AT_MOVES);
}
