/**
 * What the expansion of one joint position keeps, a block of bytes for each depth of the search: the agents' options, what every two of them
 * allow and cost, and the joint move under construction.
 */
import { byteAt, setByte } from "./bytes";
import { MAX_AGENTS } from "./grid";
import { Position } from "./position";
import { takeSpace } from "./space";

/** Bytes of one agent's options: five moves, and the goal once as an arrival and once as a cell on the way; room for eight. */
const OPTION_ROW: i32 = 16;
const AT_CELLS: usize = MAX_AGENTS * OPTION_ROW;
const AT_CODES: usize = AT_CELLS + MAX_AGENTS;
const AT_CHOSEN: usize = AT_CODES + MAX_AGENTS;
const AT_ADDED: usize = AT_CHOSEN + MAX_AGENTS;
const AT_UNMOVED: usize = AT_ADDED + MAX_AGENTS;
/** By how many agents have moved: the options left to each, a byte an agent. */
const AT_ALLOWED: usize = AT_UNMOVED + 8;
const AT_DELTA: usize = AT_ALLOWED + (MAX_AGENTS + 1) * 8;
/** Of each agent 64 bytes: what goes with its options, see `setGoesWith` and `goesWith`. */
const AT_GOES: usize = 512;
/** By agent·8 + one before it: where the block of what both moves cost is (pair-moves.ts). */
const AT_MOVES: usize = AT_GOES + MAX_AGENTS * 64;
/** By agent·8 + option: what a half-made joint move with this option is known by (tuples.ts). */
const AT_MARKS: usize = AT_MOVES + MAX_AGENTS * MAX_AGENTS * 4;
/** As much as a frame needs, and a power of two. */
const BYTES: usize = 2048;

/** Where the frames begin; deeper than any plan. */
const MOST_FRAMES: i32 = 2048;
const FRAMES = memory.data(MOST_FRAMES * 4, 16);
let count: i32 = 0;

/** The frame of a depth; 0 beyond the deepest. */
export function frameAt(depth: i32): usize {
  if (depth >= MOST_FRAMES) return 0;
  while (count <= depth) {
    const space = takeSpace(BYTES);
    store<u32>(FRAMES + (count++ << 2), <u32>space);
  }
  return load<u32>(FRAMES + (depth << 2));
}

/** Takes over the options of the a-th agent. */
export function copyOptions(frame: usize, a: i32, options: usize): void {
  const row = frame + a * OPTION_ROW;
  v128.store(row, v128.load(options));
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

/** What a joint move of which so many agents have moved leaves to each: a byte of bits an agent, all ones beyond the last. */
export function allowedIn(frame: usize, moved: i32): u64 {
  return load<u64>(frame + (moved << 3), AT_ALLOWED);
}

export function setAllowed(frame: usize, moved: i32, allowed: u64): void {
  store<u64>(frame + (moved << 3), allowed, AT_ALLOWED);
}

/** Lets everything of the first so many agents go with everything, until `setGoesWith`. */
export function allGoWith(frame: usize, agents: i32): void {
  const all = i64x2.splat(-1);
  for (let at = frame + AT_GOES, end = at + (agents << 6); at < end; at += 16) v128.store(at, all);
}

/** What of agent b's goes with each option of agent a, a byte of bits an option. */
export function setGoesWith(frame: usize, a: i32, b: i32, masks: u64): void {
  store<u64>(frame + ((a << 6) + (b << 3)), masks, AT_GOES);
}

/** Once all of agent a's are set: turns the eight bytes of each agent into eight bytes of each option, for `goesWith`. */
export function turnGoesWith(frame: usize, a: i32): void {
  const at = frame + AT_GOES + (a << 6);
  const of01 = byTurns(v128.load(at));
  const of23 = byTurns(v128.load(at, 16));
  const of45 = byTurns(v128.load(at, 32));
  const of67 = byTurns(v128.load(at, 48));
  const low03 = i16x8.shuffle(of01, of23, 0, 8, 1, 9, 2, 10, 3, 11);
  const low47 = i16x8.shuffle(of45, of67, 0, 8, 1, 9, 2, 10, 3, 11);
  const high03 = i16x8.shuffle(of01, of23, 4, 12, 5, 13, 6, 14, 7, 15);
  const high47 = i16x8.shuffle(of45, of67, 4, 12, 5, 13, 6, 14, 7, 15);
  v128.store(at, i32x4.shuffle(low03, low47, 0, 4, 1, 5));
  v128.store(at, i32x4.shuffle(low03, low47, 2, 6, 3, 7), 16);
  v128.store(at, i32x4.shuffle(high03, high47, 0, 4, 1, 5), 32);
}

/** Two rows of eight bytes, a byte of each in turn. */
// @inline
function byTurns(rows: v128): v128 {
  return i8x16.shuffle(rows, rows, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
}

/** The options that go with the u-th of agent a, which is one of six: a byte of bits for each agent after it, all ones for the others. */
export function goesWith(frame: usize, a: i32, u: i32): u64 {
  return load<u64>(frame + ((a << 6) + (u << 3)), AT_GOES);
}

/** The block of what the moves of agents a < b cost. */
export function setMoves(frame: usize, a: i32, b: i32, moves: usize): void {
  store<u32>(frame + ((b * MAX_AGENTS + a) << 2), <u32>moves, AT_MOVES);
}

/** Where the costs of the moves of agent b with the one that agent a takes stand, by b's option. */
export function costsIn(frame: usize, a: i32, b: i32): usize {
  return load<u32>(frame + ((b * MAX_AGENTS + a) << 2), AT_MOVES) + (chosenIn(frame, a) << 3);
}

/** The row at `costsIn`, less what a's move adds: what each option of b adds and the increase of the two, eight lanes of 16 bits. */
export function increasesIn(frame: usize, a: i32, b: i32): v128 {
  return i16x8.sub(v128.load_ext<u8>(costsIn(frame, a, b)), i16x8.splat(<i16>addedIn(frame, a)));
}

/** What each option of the a-th agent adds, eight lanes of 16 bits. */
export function amountsIn(frame: usize, a: i32): v128 {
  return v128.and(v128.load(frame + a * OPTION_ROW), i16x8.splat(3));
}

/** What a half-made joint move is known by, of the option that the a-th agent takes. */
export function markIn(frame: usize, a: i32): i32 {
  return load<u16>(frame + (((a << 3) + chosenIn(frame, a)) << 1), AT_MARKS);
}

export function setMark(frame: usize, a: i32, u: i32, mark: i32): void {
  store<u16>(frame + (((a << 3) + u) << 1), <u16>mark, AT_MARKS);
}
