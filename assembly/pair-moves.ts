/**
 * What every two options of two agents at two codes cost together: what both moves add and the increase of the pair afterwards. A block of 64
 * bytes holds a row of eight for each of the first's six options, for comparing all at once. Found on demand; stamps instead of clearing.
 */
import { giveUp } from "./budget";
import { addedBy, cellAfter, cellOf, codeAfter, collide, firstOption, MAX_AGENTS, MOST_ADDED, optionAt, optionCount, STRIDE } from "./grid";
import { exactRowOf, findIncrease, pairOf } from "./pair-increases";
import { exactIn, PairWords, wordOf } from "./pair-table";
import { takeSpace } from "./space";

const BLOCK: usize = 64;
const ROW: i32 = 8;
const ROWS: i32 = 6;
/** Of a block: whose board it is of, whose moves, and up to what cost it is exact. */
const STAMP: usize = 48;
const KEY: usize = 52;
const EXACT: usize = 56;
/** As a cost: more than what is exact. */
const MORE: i32 = 254;
/** As what a block is exact to: nothing was cut off, and more is never asked. */
const ALL: i32 = 254;
/** Collides, or is no option. */
const NEVER: u64 = 0xffff_ffff_ffff_ffff;

/** By pair and codes: where the block is, if it is still theirs. */
const places = new PairWords();
/** Blocks are taken one after another from chunks: what is asked for lies close together, and stays where it is until the next board. */
const CHUNK: i32 = 1024;
const MOST_CHUNKS: i32 = 1024;
const CHUNKS = memory.data(MOST_CHUNKS * 4, 16);
let chunks: i32 = 0;
let taken: i32 = 0;
let stamp: i32 = 0;

/** Forgets everything: for another board, or for other moves (waits forbidden). */
export function forgetPairMoves(): void {
  places.fit();
  stamp++;
  taken = 0;
}

/** The block of agents i < j at codes a and b, exact up to `slack`. */
export function movesOfPair(i: i32, j: i32, a: i32, b: i32, slack: i32): usize {
  const at = wordOf(places.of(i, j), a, b);
  const key = ((i * MAX_AGENTS + j) * STRIDE + a) * STRIDE + b;
  let block: usize = load<u32>(at);
  if (block === 0 || load<i32>(block, STAMP) !== stamp || load<i32>(block, KEY) !== key) {
    block = nextBlock();
    store<u32>(at, <u32>block);
    store<i32>(block, stamp, STAMP);
    store<i32>(block, key, KEY);
    store<i32>(block, -1, EXACT);
  }
  if (load<i32>(block, EXACT) < slack) fill(block, i, j, a, b, slack);
  return block;
}

function nextBlock(): usize {
  const chunk = taken / CHUNK;
  if (chunk === chunks) {
    if (chunk === MOST_CHUNKS) giveUp();
    const space = takeSpace(CHUNK * <i32>BLOCK);
    store<u32>(CHUNKS + (chunks++ << 2), <u32>space);
  }
  return load<u32>(CHUNKS + (chunk << 2)) + (taken++ % CHUNK) * BLOCK;
}

/** The options of the second, a byte of bits for each option of the first, with which it costs at most `slack`. */
export function allowedBy(block: usize, slack: i32): u64 {
  const most = i8x16.splat(<i8>slack);
  const first = <u64>i8x16.bitmask(i8x16.le_u(v128.load(block), most));
  const second = <u64>i8x16.bitmask(i8x16.le_u(v128.load(block, 16), most));
  const third = <u64>i8x16.bitmask(i8x16.le_u(v128.load(block, 32), most));
  return first | (second << 16) | (third << 32);
}

function fill(block: usize, i: i32, j: i32, a: i32, b: i32, slack: i32): void {
  // Until it is filled: a budget that ends meanwhile leaves a block that is exact to nothing.
  store<i32>(block, -1, EXACT);
  const table = pairOf(i, j);
  const cellA = cellOf(i, a);
  const cellB = cellOf(j, b);
  const firstOfA = firstOption(i, a);
  const firstOfB = firstOption(j, b);
  const countA = optionCount(i, a, slack);
  const countB = optionCount(j, b, slack);
  // With less some options are not even listed.
  let isExact = slack >= MOST_ADDED;
  for (let u = 0; u < ROWS; u++) {
    const row = block + u * ROW;
    store<u64>(row, NEVER);
    if (u >= countA) continue;
    const moveA = optionAt(firstOfA + (u << 1));
    const nextA = cellAfter(moveA);
    const exacts = exactRowOf(table, codeAfter(moveA));
    for (let v = 0; v < countB; v++) {
      const moveB = optionAt(firstOfB + (v << 1));
      const nextB = cellAfter(moveB);
      if (collide(cellA, nextA, cellB, nextB)) continue;
      const added = addedBy(moveA) + addedBy(moveB);
      let increase = exactIn(exacts, codeAfter(moveB));
      if (increase < 0) {
        increase = added > slack ? MORE : findIncrease(table, i, j, codeAfter(moveA), codeAfter(moveB), slack - added);
        if (added + increase > slack) {
          isExact = false;
          increase = MORE - added;
        }
      }
      store<u8>(row + v, <u8>(added + increase));
    }
  }
  store<i32>(block, isExact ? ALL : slack, EXACT);
}
