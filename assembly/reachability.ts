/**
 * Whether the agents can reach their goals at all, decided exactly, without a search over labelled positions.
 *
 * Agents without names can go from any set of cells of a connected piece to any other. So name the agents by their places in one base set;
 * the loops through the space of sets (its spanning tree, closed by one more edge) generate the group of those renamings that can be
 * brought about (Schreier's lemma; compare Kornhauser, Miller and Spirakis, FOCS 1984). A board is solvable when, in every piece, the
 * renaming from starts to goals lies in the group. Any joint step is a sequence of single moves into empty cells and of rotations of whole
 * cycles without an empty cell, so these are the edges. As soon as the group is that of all renamings nothing more has to be looked at.
 *
 * On small boards what is found is kept per (piece, agents): there unsolvable boards are so common that deciding them dominates.
 *
 * One algorithm, read from top to bottom.
 */
import { spend } from "./budget";
import { byteAt, setByte, setWord, wordAt } from "./bytes";
import {
  agentCount,
  besides,
  boardSize,
  distance,
  GOALS,
  goalOf,
  isFree,
  MAX_AGENTS,
  OFF_GRID,
  STARTS,
  STRIDE,
  startOf,
  UNREACHABLE,
} from "./grid";
import { JointNodes } from "./joint-nodes";
import { addGenerator, beginGroup, element, groupOrder, identity, image, isGroupFull, isInGroup, taking } from "./permutation-group";
import { codeIn, Position, packed } from "./position";
import { leaveSpace, takeSpace } from "./space";
import { enterWord, slotsFor, wordOfKey } from "./word-table";

/** Pieces with more sets of cells than this are left undecided. */
const MOST_SETS: i32 = 100_000;
/** Boards up to this size have their pieces kept: sixteen cells are bits of a word. */
const KEPT_SIZE: i32 = 4;
const MOST_KEPT: i32 = 20_000;
const MOST_KEPT_SETS: i32 = 3_000;
/** Of all that is kept. */
const MOST_KEPT_BYTES: i32 = 1 << 25;

export const UNDECIDED: i32 = -1;
export const CANNOT: i32 = 0;
export const CAN: i32 = 1;

/** The sets of cells that have been reached, with the origins of their agents as costs: which place of the base set each comes from. */
const sets = new JointNodes();
const MEMBERS = memory.data(MAX_AGENTS, 8);
const IN_PIECE = memory.data(STRIDE, 16);
/** Cells of the set at hand, sorted, and those of the next one. */
const PRESENT = memory.data(MAX_AGENTS, 8);
const CELLS = memory.data(MAX_AGENTS, 8);
const OCCUPIED = memory.data(STRIDE, 16);
/** Cells in order of their distance from a crossing; a few more than there are agents. */
const NEAR = memory.data(MAX_AGENTS + 4, 8);
/** Places of a cycle of the set at hand. */
const CYCLE = memory.data(MAX_AGENTS, 8);
let cycleLength: i32 = 0;
/** Members of the piece at hand. */
let agents: i32 = 0;
/** Sets that have been expanded. */
let expanded: i32 = 0;
/** False where the exploration was given up. */
let isWhole: bool = false;

// What is kept: by piece where its block is, or 2·n + 1 where n expanded sets have shown that every renaming can be brought about.
let keptSlots: i32 = 512;
let kept: usize = takeSpace(512 * 8);
let keptCount: i32 = 0;
let keptBytes: i32 = 0;
// Of a block: its size, expanded sets, slots of the table from sets to origins, slots of the table of renamings; then these tables.
const AT_EXPANDED: usize = 4;
const AT_SET_SLOTS: usize = 8;
const AT_RENAMING_SLOTS: usize = 12;
const TABLES: usize = 16;

/** Whether asking costs next to nothing: small boards, whose pieces are kept. */
export function isSolvableCheap(): bool {
  return boardSize() <= KEPT_SIZE;
}

/** CAN, CANNOT, or UNDECIDED where a piece is too large to decide this way. */
export function solvable(): i32 {
  let seen = 0;
  let answer = CAN;
  for (let first = 0; first < agentCount(); first++) {
    if ((seen >> first) & 1) continue;
    agents = 0;
    for (let agent = first; agent < agentCount(); agent++) {
      if (distance(first, goalOf(agent)) >= UNREACHABLE) continue;
      seen |= 1 << agent;
      setByte(MEMBERS + agents++, agent);
    }
    if (agents === 1) continue;
    const piece = agents === 2 ? canPass() : pieceSolvable();
    if (piece === CANNOT) return CANNOT;
    if (piece === UNDECIDED) answer = UNDECIDED;
  }
  return answer;
}

function member(a: i32): i32 {
  return byteAt(MEMBERS + a);
}

function pieceSolvable(): i32 {
  const cells = boardSize() * boardSize();
  let mask = 0;
  for (let cell = 0; cell < cells; cell++) {
    const isIn = distance(member(0), cell) < UNREACHABLE;
    setByte(IN_PIECE + cell, isIn ? 1 : 0);
    if (isIn) mask |= 1 << (cell & 15);
  }
  const key = mask | (agents << 16) | (boardSize() << 20);
  let block = isSolvableCheap() ? wordOfKey(kept, keptSlots, key) : -1;
  if (block === -1) {
    explore();
    block = isSolvableCheap() ? keep(key) : 0;
  }
  // Kept or not: a board costs the same whatever boards came before it.
  spend((block & 1) !== 0 ? block >> 1 : block !== 0 ? wordAt(<usize>block + AT_EXPANDED) : expanded);
  if ((block & 1) !== 0 || (block === 0 && isGroupFull())) return CAN;
  const before = originsAt(block, STARTS);
  const after = originsAt(block, GOALS);
  if (before < 0 || after < 0) return UNDECIDED;
  const startFrom = membersByOrigin(before, STARTS);
  const goalFrom = membersByOrigin(after, GOALS);
  // Both: base place → member. The renaming takes a place to the one where the member that ends there began.
  let renaming = 0;
  for (let place = 0; place < agents; place++) {
    for (let other = 0; other < agents; other++) if (image(startFrom, other) === image(goalFrom, place)) renaming |= other << (3 * place);
  }
  if (block === 0) return isInGroup(renaming) ? CAN : isWhole ? CANNOT : UNDECIDED;
  const known = <usize>block;
  const renamings = known + TABLES + (wordAt(known + AT_SET_SLOTS) << 3);
  return wordOfKey(renamings, wordAt(known + AT_RENAMING_SLOTS), renaming) >= 0 ? CAN : CANNOT;
}

/** The origins of the set of the members' cells in a kept block, or in what has just been explored (0); −1: it was not reached. */
function originsAt(block: i32, ends: usize): i32 {
  sortCells(ends);
  if (block !== 0) return wordOfKey(<usize>block + TABLES, wordAt(<usize>block + AT_SET_SLOTS), maskOf(packed(CELLS, agents)));
  const node = sets.find(packed(CELLS, agents));
  return node < 0 ? -1 : sets.cost(node);
}

/** Puts the members' cells into CELLS in order. */
function sortCells(ends: usize): void {
  for (let a = 0; a < agents; a++) insertCell(a, byteAt(ends + member(a)));
}

/** Puts a cell among the first so many of CELLS, in order. */
function insertCell(count: i32, cell: i32): void {
  let at = count;
  for (; at > 0 && byteAt(CELLS + at - 1) > cell; at--) setByte(CELLS + at, byteAt(CELLS + at - 1));
  setByte(CELLS + at, cell);
}

/** Base place → member, for the members at these ends. */
function membersByOrigin(origins: i32, ends: usize): i32 {
  sortCells(ends);
  let byOrigin = 0;
  for (let r = 0; r < agents; r++) {
    for (let a = 0; a < agents; a++) if (byteAt(ends + member(a)) === byteAt(CELLS + r)) byOrigin |= a << (3 * image(origins, r));
  }
  return byOrigin;
}

/** Keeps what has been explored of a small board's piece, where it may be kept: the entry, or 0. */
function keep(key: i32): i32 {
  if (!isGroupFull() && (!isWhole || sets.count > MOST_KEPT_SETS)) return 0;
  if (keptCount >= MOST_KEPT || keptBytes >= MOST_KEPT_BYTES) forgetKept();
  let entry = 2 * expanded + 1;
  if (!isGroupFull()) {
    const setSlots = slotsFor(sets.count);
    const renamingSlots = slotsFor(groupOrder());
    let bytes = 64;
    while (bytes < <i32>TABLES + (setSlots + renamingSlots) * 8) bytes *= 2;
    const block = takeSpace(bytes);
    setWord(block, bytes);
    setWord(block + AT_EXPANDED, expanded);
    setWord(block + AT_SET_SLOTS, setSlots);
    setWord(block + AT_RENAMING_SLOTS, renamingSlots);
    for (let node = 0; node < sets.count; node++) enterWord(block + TABLES, setSlots, maskOf(sets.position(node)), sets.cost(node));
    for (let e = 0; e < groupOrder(); e++) enterWord(block + TABLES + (setSlots << 3), renamingSlots, element(e), 1);
    keptBytes += bytes;
    entry = <i32>block;
  }
  if (++keptCount * 2 > keptSlots) growKept();
  enterWord(kept, keptSlots, key, entry);
  return entry;
}

function growKept(): void {
  const before = kept;
  kept = takeSpace(keptSlots * 16);
  for (let at = before; at < before + keptSlots * 8; at += 8)
    if (wordAt(at) !== 0) enterWord(kept, keptSlots * 2, wordAt(at), wordAt(at + 4));
  leaveSpace(before, keptSlots * 8);
  keptSlots *= 2;
}

function forgetKept(): void {
  for (let at = kept; at < kept + keptSlots * 8; at += 8) {
    const entry = wordAt(at + 4);
    if (wordAt(at) !== 0 && (entry & 1) === 0) leaveSpace(<usize>entry, <usize>wordAt(<usize>entry));
  }
  memory.fill(kept, 0, keptSlots * 8);
  keptCount = 0;
  keptBytes = 0;
}

/** A bit for each cell of a set on a small board. */
function maskOf(set: Position): i32 {
  let mask = 0;
  for (let r = 0; r < agents; r++) mask |= 1 << codeIn(set, r);
  return mask;
}

/** Two agents change places wherever three ways meet, and on a cycle need not; on a path they keep their order. */
function canPass(): i32 {
  const cells = boardSize() * boardSize();
  const first = member(0);
  const second = member(1);
  spend(1);
  let end = -1;
  for (let cell = 0; cell < cells; cell++) {
    if (distance(first, cell) >= UNREACHABLE) continue;
    let ways = 0;
    for (let direction = 0; direction < 4; direction++) if (isFree(byteAt(besides(cell) + direction))) ways++;
    if (ways > 2) return CAN;
    if (ways === 1) end = cell;
  }
  if (end < 0) return CAN;
  let order = 0;
  for (let cell = end, from = -1; cell >= 0; ) {
    // Bits 0 and 1: whose start came first; bits 2 and 3: whose goal.
    if (cell === startOf(second) && (order & 1) === 0) order |= 2;
    if (cell === startOf(first) && (order & 2) === 0) order |= 1;
    if (cell === goalOf(second) && (order & 4) === 0) order |= 8;
    if (cell === goalOf(first) && (order & 8) === 0) order |= 4;
    let next = -1;
    for (let direction = 0; direction < 4; direction++) {
      const beside = byteAt(besides(cell) + direction);
      if (beside !== from && isFree(beside)) next = beside;
    }
    from = cell;
    cell = next;
  }
  return (order & 1) === ((order >> 2) & 1) ? CAN : CANNOT;
}

/** Walks the sets of cells breadth first from a base set until all renamings are found or no set is left. */
function explore(): void {
  beginGroup(agents);
  sets.reset();
  expanded = 0;
  isWhole = false;
  chooseBase();
  sets.add(packed(CELLS, agents), identity(agents), -1);
  for (let node = 0; node < sets.count && sets.count <= MOST_SETS; node++) {
    expanded++;
    expandSet(node);
    if (isGroupFull()) return;
  }
  isWhole = sets.count <= MOST_SETS;
}

/**
 * Puts the base set into CELLS: the cells around the one from which most ways lead on within two steps. Where agents stand about a crossing few
 * sets have to be walked before all renamings are found.
 */
function chooseBase(): void {
  const cells = boardSize() * boardSize();
  let crossing = -1;
  let most = -1;
  for (let cell = 0; cell < cells; cell++) {
    setByte(OCCUPIED + cell, 0);
    const ways = byteAt(IN_PIECE + cell) === 1 ? waysFrom(cell) : -1;
    if (ways <= most) continue;
    most = ways;
    crossing = cell;
  }
  setByte(NEAR, crossing);
  setByte(OCCUPIED + crossing, 1);
  let count = 1;
  for (let at = 0; count < agents; at++) {
    const around = besides(byteAt(NEAR + at));
    for (let direction = 0; direction < 4; direction++) {
      const beside = byteAt(around + direction);
      if (!isFree(beside) || byteAt(OCCUPIED + beside) === 1) continue;
      setByte(OCCUPIED + beside, 1);
      setByte(NEAR + count++, beside);
    }
  }
  for (let near = 0; near < count; near++) setByte(OCCUPIED + byteAt(NEAR + near), 0);
  for (let r = 0; r < agents; r++) insertCell(r, byteAt(NEAR + r));
}

/** Eight for each way out of a cell, and one for each way on from there. */
function waysFrom(cell: i32): i32 {
  let ways = 0;
  for (let direction = 0; direction < 4; direction++) {
    const beside = byteAt(besides(cell) + direction);
    if (!isFree(beside)) continue;
    ways += 8;
    for (let on = 0; on < 4; on++) if (isFree(byteAt(besides(beside) + on))) ways++;
  }
  return ways;
}

function expandSet(node: i32): void {
  const origins = sets.cost(node);
  for (let r = 0; r < agents; r++) {
    const cell = sets.code(node, r);
    setByte(PRESENT + r, cell);
    setByte(OCCUPIED + cell, 1);
  }
  for (let r = 0; r < agents; r++) {
    const around = besides(byteAt(PRESENT + r));
    for (let direction = 0; direction < 4; direction++) {
      const beside = byteAt(around + direction);
      if (beside !== OFF_GRID && byteAt(IN_PIECE + beside) === 1 && byteAt(OCCUPIED + beside) === 0) step(origins, r, beside);
    }
  }
  if (mayHaveCycle()) for (let first = 0; first < agents; first++) walk(origins, first, first);
  for (let r = 0; r < agents; r++) setByte(OCCUPIED + byteAt(PRESENT + r), 0);
}

/** A cycle of four is a square; larger ones need six agents. */
function mayHaveCycle(): bool {
  if (agents >= 6) return true;
  for (let r = 0; r < agents; r++) {
    const around = besides(byteAt(PRESENT + r));
    const below = byteAt(around + 1);
    if (byteAt(OCCUPIED + below) === 1 && byteAt(OCCUPIED + byteAt(around + 3)) === 1 && byteAt(OCCUPIED + below + 1) === 1) return true;
  }
  return false;
}

/** Moves the agent at the r-th cell to `to`: a new set, or a loop. */
function step(origins: i32, r: i32, to: i32): void {
  let moved = 0;
  let at = 0;
  for (let b = 0; b < agents; b++) {
    if (b === r) continue;
    const cell = byteAt(PRESENT + b);
    if (at === b - (b > r ? 1 : 0) && cell < to) at++;
  }
  for (let b = 0, place = 0; b < agents; b++) {
    if (b === r) continue;
    if (place === at) place++;
    setByte(CELLS + place, byteAt(PRESENT + b));
    moved |= image(origins, b) << (3 * place++);
  }
  setByte(CELLS + at, to);
  moved |= image(origins, r) << (3 * at);
  const set = packed(CELLS, agents);
  const known = sets.find(set);
  if (known < 0) sets.add(set, moved, -1);
  else if (sets.cost(known) !== moved) addGenerator(taking(sets.cost(known), moved, agents));
}

/** Rotates every cycle of occupied cells from the r-th on by one: the set stays, the agents on the cycle are renamed. */
function walk(origins: i32, r: i32, first: i32): void {
  setByte(CYCLE + cycleLength++, r);
  for (let next = first; next < agents; next++) {
    if (!areBeside(r, next)) continue;
    if (next === first && cycleLength >= 4) addGenerator(taking(origins, rotated(origins), agents));
    else if (!isOnCycle(next)) walk(origins, next, first);
  }
  cycleLength--;
}

function rotated(origins: i32): i32 {
  let moved = origins;
  for (let i = 0; i < cycleLength; i++) {
    const place = byteAt(CYCLE + i);
    const from = byteAt(CYCLE + (i === 0 ? cycleLength : i) - 1);
    moved = (moved & ~(7 << (3 * place))) | (image(origins, from) << (3 * place));
  }
  return moved;
}

function isOnCycle(place: i32): bool {
  for (let i = 0; i < cycleLength; i++) if (byteAt(CYCLE + i) === place) return true;
  return false;
}

function areBeside(r: i32, other: i32): bool {
  const around = besides(byteAt(PRESENT + r));
  const beside = byteAt(PRESENT + other);
  for (let direction = 0; direction < 4; direction++) if (byteAt(around + direction) === beside) return true;
  return false;
}
