/**
 * The least extra cost of any set of agents together, above their individual shortest costs, from any joint position: what
 * pair-increases.ts gives for two and threes.ts for three, for four and more. Found on demand by depth-first search with memory, asked as
 * "do these agents finish with at most b extra?" (depth-first with a transposition table; Reinefeld and Marsland, "Enhanced
 * iterative-deepening search", 1994).
 *
 * Before a joint move is put together, every two options of two agents are checked against the exact increase of the pair, and options that
 * no option of some other agent goes with are dropped: what is enumerated afterwards is almost only what the pairs allow. All options of
 * the next agent are then checked at once against the smallest cover of the pairs' increases (option-covers.ts), and joint moves against
 * the increases of their threes, on the hardest boards of their fours as well. A position is expanded in O(6^agents) at worst; what is
 * reached of the joint space is bounded by the node budget alone.
 *
 * What is learnt is kept until the next board, for all sets and all bounds. It decides nothing about solvability: it is asked only within
 * a bound or about boards known to be solvable.
 *
 * One search, read from top to bottom: long.
 */
import { giveUp, spend, spentNodes } from "./budget";
import { byteAt, setByte } from "./bytes";
import { coverFits } from "./cover";
import {
  addedIn,
  allGoWith,
  allowedIn,
  amountsIn,
  cellsIn,
  choose,
  chosenMove,
  codesIn,
  copyOptions,
  costsIn,
  deltaIn,
  frameAt,
  goesWith,
  increasesIn,
  markIn,
  moveIn,
  setAllowed,
  setGoesWith,
  setMark,
  setMoves,
  setUnmoved,
  turnGoesWith,
  unmovedIn,
} from "./frame";
import { addedBy, agentCount, cellAfter, cellOf, codeAfter, done, firstOption, goalOf, MAX_AGENTS, optionCount, startOf } from "./grid";
import { fiveFit, fourFit, threeFit } from "./option-covers";
import { pairIncrease } from "./pair-increases";
import { allowedBy, forgetPairMoves, movesOfPair } from "./pair-moves";
import { maskOf, partsOf, placeOfPair, worstOther } from "./parts";
import { endPath, putCell } from "./planner";
import { bitsOfSet, CODES_OF_FOUR, codeIn, codeShift, Position, packed, placed } from "./position";
import { PositionTable } from "./position-table";
import { forgetThrees, selectThree, threeFits } from "./threes";

/** Larger increases are not asked for: they would not fit into the memory's bytes. */
export const MOST_INCREASE: i32 = 250;

/**
 * Nodes spent on a board after which sets of five agents and more are checked against their fours as well as their threes. On most boards that
 * costs more than it rules out, on some of the hardest it halves the time: neither way can then cost much more than the better one.
 */
let foursFrom: i32 = 100_000;

/** For tests: from so many nodes on. */
export function askFoursFrom(nodes: i32): void {
  foursFrom = nodes;
}

const threes = partsOf(3);
const fours = partsOf(4);
const pairs = partsOf(2);

/** By size of the set: what small sets are asked again and again then stays in the processor's cache. Those of three are in threes.ts. */
const ofFour = new PositionTable(3);
const ofFive = new PositionTable(4);
const ofSix = new PositionTable(5);
const ofSeven = new PositionTable(6);
const ofEight = new PositionTable(7);
const halvesOf2 = new PositionTable(1);
const halvesOf3 = new PositionTable(2);
const halvesOf5 = new PositionTable(4);

let depth: i32 = 0;
/** What the solution found last leaves of the slack. */
let unused: i32 = 0;
/** The budget's nodes at the last reset. */
let spentBefore: i32 = 0;
/** By size of the set: the three to ask first, which is the one that ruled out the last position. */
const FIRST_THREE = memory.data(MAX_AGENTS + 1, 8);
const ROOT_AGENTS = memory.data(MAX_AGENTS, 8);
const ROOT_CODES = memory.data(MAX_AGENTS, 8);
const ROOT_DELTA = memory.data(MAX_AGENTS * MAX_AGENTS, 8);
// A four that is asked about; a four never asks about fours.
const FOUR_AGENTS = memory.data(MAX_AGENTS, 8);
const FOUR_CODES = memory.data(MAX_AGENTS, 8);

/** Joint codes of the solution found last, last position first; MAX_AGENTS bytes each. */
const MOST_STEPS: i32 = 2048;
const TRAIL = memory.data(MOST_STEPS * MAX_AGENTS, 8);
let steps: i32 = 0;
/** The size of the sets whose positions are put on the trail; 0: none. */
let recordedSize: i32 = 0;

/** Forgets everything: for another board, or for other moves (waits forbidden). */
export function forgetTuples(): void {
  forgetPairMoves();
  forgetThrees();
  const count = agentCount();
  ofFour.reset(count > 4);
  ofFive.reset(count > 5);
  ofSix.reset(count > 6);
  ofSeven.reset(count > 7);
  ofEight.reset(false);
  halvesOf2.reset(false);
  halvesOf3.reset(false);
  halvesOf5.reset(false);
  for (let size = 0; size <= MAX_AGENTS; size++) setByte(FIRST_THREE + size, 0);
  spentBefore = spentNodes();
}

/**
 * Whether the agents of the set (bits) finish from their starts with at most `slack` extra. With `keepsPath` the paths of four and more can
 * be placed.
 */
export function fitsFromStart(set: i32, slack: i32, keepsPath: bool): bool {
  let size = 0;
  for (let agent = 0; agent < MAX_AGENTS; agent++) if ((set >> agent) & 1) setByte(ROOT_AGENTS + size++, agent);
  steps = 0;
  depth = 0;
  recordedSize = keepsPath ? size : 0;
  return tryRoots(size, 0, slack);
}

/** Puts the path of an agent, the a-th of the set, in the solution found last into the plan, up to its final arrival. Gives its cost. */
export function placeFromTuples(a: i32, agent: i32): i32 {
  let t = 0;
  for (let step = steps - 1; step >= 0; step--) {
    const code = byteAt(TRAIL + (step * MAX_AGENTS + a));
    putCell(agent, t, cellOf(agent, code));
    if (code === done()) break;
    t++;
  }
  endPath(agent, t);
  return t;
}

/** An agent that starts on its goal may have arrived already, or may still have to leave and come back (2 extra). */
function tryRoots(size: i32, a: i32, slack: i32): bool {
  if (slack < 0) return false;
  if (a === size) {
    for (let i = 0; i < a; i++) {
      for (let j = i + 1; j < a; j++) {
        const increase = pairIncrease(rootAgent(i), rootAgent(j), byteAt(ROOT_CODES + i), byteAt(ROOT_CODES + j), slack);
        setByte(ROOT_DELTA + i * MAX_AGENTS + j, increase);
      }
    }
    return coverFits(ROOT_DELTA, a, slack) && fits(ROOT_AGENTS, size, ROOT_CODES, slack, 0);
  }
  const agent = rootAgent(a);
  const start = startOf(agent);
  let left = slack;
  if (start === goalOf(agent)) {
    setByte(ROOT_CODES + a, done());
    if (tryRoots(size, a + 1, left)) return true;
    left -= 2;
  }
  setByte(ROOT_CODES + a, start);
  return tryRoots(size, a + 1, left);
}

function rootAgent(a: i32): i32 {
  return byteAt(ROOT_AGENTS + a);
}

function tableOf(size: i32): PositionTable {
  if (size === 5) return ofFive;
  if (size === 4) return ofFour;
  return size === 6 ? ofSix : size === 7 ? ofSeven : ofEight;
}

/**
 * By size of the set: how many agents have moved when a joint move is half made. What is then known not to lead on is known for every position
 * that differs in where those agents came from: nine in ten joint moves are never put together. (As in operator decomposition: Standley,
 * "Finding optimal solutions to cooperative pathfinding problems", AAAI 2010.) Sets of eight have no room for it in a position's bits.
 */
function halfOf(size: i32): i32 {
  return size < 6 ? 2 : size === 6 ? 3 : size === 7 ? 5 : 0;
}

function halvesOf(size: i32): PositionTable {
  return size < 6 ? halvesOf2 : size === 6 ? halvesOf3 : halvesOf5;
}

/**
 * Whether the agents finish from the codes with at most `slack` extra.
 * @param agents ascending, and `codes`: bytes
 * @param delta where the increases of all pairs are, so that the set's parts can be asked first; 0: they are not known
 */
function fits(agents: usize, size: i32, codes: usize, slack: i32, delta: usize): bool {
  if (size === 3) {
    selectThree(byteAt(agents), byteAt(agents + 1), byteAt(agents + 2));
    return threeFits(byteAt(codes), byteAt(codes + 1), byteAt(codes + 2), slack);
  }
  let set = 0;
  let isGoal = true;
  for (let a = 0; a < size; a++) {
    if (byteAt(codes + a) !== done()) isGoal = false;
    set |= 1 << byteAt(agents + a);
  }
  if (isGoal) {
    unused = slack;
    record(codes, size);
    return true;
  }
  const ofSet = bitsOfSet(set);
  const position = ofSet | packed(codes, size - 1);
  const last = byteAt(codes + size - 1);
  const known = tableOf(size);
  const part = known.part(last);
  const isPart = size < agentCount();
  let block = known.enter(position, part);
  if (slack < known.leastIn(block, part, last)) return false;
  if (isPart) {
    const most = known.mostIn(block, part, last);
    if (slack >= most) {
      unused = slack - most;
      return true;
    }
  }
  const moved = known.moved;
  const found = (delta === 0 || partsFit(agents, size, codes, delta, slack)) && leadsOn(agents, size, codes, slack, delta, ofSet);
  if (known.moved !== moved) block = known.enter(position, part);
  if (!found) known.setLeast(block, part, last, slack + 1);
  else if (isPart) known.setMost(block, part, last, slack - unused);
  if (found) record(codes, size);
  return found;
}

/** Whether some joint move leads to a position from which the agents finish. */
function leadsOn(agents: usize, size: i32, codes: usize, slack: i32, delta: usize, ofSet: Position): bool {
  spend(1);
  const frame = frameAt(depth++);
  if (frame === 0) giveUp();
  const found = fillFrame(agents, size, codes, frame, slack, delta) && extend(agents, size, frame, 0, slack, ofSet);
  depth--;
  return found;
}

function record(codes: usize, size: i32): void {
  if (size !== recordedSize) return;
  if (steps === MOST_STEPS) giveUp();
  store<u64>(TRAIL + steps++ * MAX_AGENTS, load<u64>(codes));
}

/** Lists options and what every two of them allow; false when some agent has none left. @param delta as in `fits` */
function fillFrame(agents: usize, size: i32, codes: usize, frame: usize, slack: i32, delta: usize): bool {
  const half = halfOf(size);
  const cells = cellsIn(frame);
  let unmoved: Position = 0;
  let allowed: u64 = 0xffff_ffff_ffff_ffff;
  for (let a = 0; a < size; a++) {
    const agent = byteAt(agents + a);
    const code = byteAt(codes + a);
    setByte(cells + a, cellOf(agent, code));
    if (a >= half) unmoved |= placed(code, a);
    const first = firstOption(agent, code);
    const count = optionCount(agent, code, slack);
    if (count === 0) return false;
    copyOptions(frame, a, first);
    allowed ^= (<u64>(~((1 << count) - 1) & 255)) << (a << 3);
  }
  setUnmoved(frame, unmoved);
  allGoWith(frame, size - 1);
  for (let b = 1; b < size; b++) {
    for (let a = 0; a < b; a++) {
      // What two of the others cost at least is not theirs to spend.
      const within = delta === 0 ? slack : slack - worstOther(pairs.part(size, placeOfPair(a, b)), delta);
      const moves = movesOfPair(byteAt(agents + a), byteAt(agents + b), byteAt(codes + a), byteAt(codes + b), slack);
      setMoves(frame, a, b, moves);
      allowed = fillPair(frame, a, b, allowedBy(moves, within), allowed);
      if (allowed === 0) return false;
    }
  }
  setAllowed(frame, 0, allowed);
  for (let a = 0; a < size - 1; a++) turnGoesWith(frame, a);
  for (let a = 0; a < half; a++) {
    for (let rest = optionsOf(allowed, a); rest !== 0; rest &= rest - 1) setMark(frame, a, ctz(rest), markOf(frame, a, ctz(rest), size));
  }
  return true;
}

/** The options of agent a, as bits. */
// @inline
function optionsOf(allowed: u64, a: i32): i32 {
  return <i32>(allowed >> (a << 3)) & 255;
}

/** A byte of ones for each bit. */
// @inline
function bytesOf(mask: i32): u64 {
  const bits = (<u64>mask * 0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
  return (((bits + 0x7f7f_7f7f_7f7f_7f7f) >> 7) & 0x0101_0101_0101_0101) * 255;
}

/** What the options of agents a < b that are still allowed leave of one another; 0: nothing. @param both what goes with each of a's */
function fillPair(frame: usize, a: i32, b: i32, both: u64, allowed: u64): u64 {
  const allowedA = optionsOf(allowed, a);
  const allowedB = optionsOf(allowed, b);
  const masks = both & bytesOf(allowedA) & (<u64>allowedB * 0x0101_0101_0101_0101);
  if (masks === 0) return 0;
  setGoesWith(frame, a, b, masks);
  const usedA = ~i8x16.bitmask(i8x16.eq(i64x2.splat(masks), i64x2.splat(0))) & 255;
  let folded = masks | (masks >> 32);
  folded |= folded >> 16;
  const usedB = <i32>(folded | (folded >> 8)) & 255;
  return allowed ^ ((<u64>(allowedA ^ usedA)) << (a << 3)) ^ ((<u64>(allowedB ^ usedB)) << (b << 3));
}

/** Chooses an option for agent a and those after it; `slack` is what those before have left, `position` what they make with the set. */
// @inline
function extend(agents: usize, size: i32, frame: usize, a: i32, slack: i32, position: Position): bool {
  if (a === size - 1) return finish(agents, size, frame, slack, position);
  if (a === 0 || a !== halfOf(size)) return goThrough(agents, size, frame, a, slack, position);
  const known = halvesOf(size);
  const code = codeIn(position, a - 1);
  let mark = 0;
  for (let b = 0; b < a; b++) mark |= markIn(frame, b);
  const half = (position & ~placed(127, a - 1)) | unmovedIn(frame) | ((<u64>mark) << codeShift(size));
  const part = known.part(code);
  let block = known.enterIfSmall(half, part);
  if (block !== 0 && slack < known.leastIn(block, part, code)) return false;
  const moved = known.moved;
  if (goThrough(agents, size, frame, a, slack, position)) return true;
  if (known.moved !== moved) block = known.enterIfSmall(half, part);
  if (block !== 0) known.setLeast(block, part, code, slack + 1);
  return false;
}

/**
 * What of a half-made joint move is not in its codes: from which side somebody has come onto the cell of an agent that has not moved, since it
 * may not go there. Three bits for each agent that has not moved; here what the u-th option of agent a puts there.
 */
function markOf(frame: usize, a: i32, u: i32, size: i32): i32 {
  const cells = cellsIn(frame);
  const next = cellAfter(moveIn(frame, a, u));
  let mark = 0;
  for (let b = halfOf(size); b < size; b++) {
    const cell = byteAt(cells + b);
    mark <<= 3;
    if (next !== cell) continue;
    const step = byteAt(cells + a) - cell;
    mark |= step === 1 ? 1 : step === -1 ? 2 : step > 0 ? 3 : 4;
  }
  return mark;
}

/** As `extend`, without asking the memory first. */
function goThrough(agents: usize, size: i32, frame: usize, a: i32, slack: i32, position: Position): bool {
  const allowed = allowedIn(frame, a);
  for (let mask = optionsWithin(frame, a, slack, optionsOf(allowed, a)); mask !== 0; mask &= mask - 1) {
    const u = ctz(mask);
    const left = allowed & goesWith(frame, a, u);
    if (hasNone(left)) continue;
    setAllowed(frame, a + 1, left);
    const move = moveIn(frame, a, u);
    choose(frame, a, u, addedBy(move));
    takeIncreases(frame, a, u);
    if (a > 4 && !coverFits(deltaIn(frame), a + 1, slack - addedBy(move))) continue;
    if (a === 3 && firstFourFail(agents, position, codeAfter(move), slack - addedBy(move))) continue;
    if (extend(agents, size, frame, a + 1, slack - addedBy(move), position | placed(codeAfter(move), a))) return true;
  }
  return false;
}

/** Whether the first four of a larger set are known not to finish. @param position of the first three, and the rest of it is not looked at */
function firstFourFail(agents: usize, position: Position, code: i32, slack: i32): bool {
  let set = 0;
  for (let a = 0; a < 4; a++) set |= 1 << byteAt(agents + a);
  const part = ofFour.part(code);
  const block = ofFour.find((position & CODES_OF_FOUR) | bitsOfSet(set), part);
  return block !== 0 && slack < ofFour.leastIn(block, part, code);
}

/** Whether some byte is 0. */
// @inline
function hasNone(masks: u64): bool {
  return ((masks - 0x0101_0101_0101_0101) & ~masks & 0x8080_8080_8080_8080) !== 0;
}

/** The options of agent a with which those up to it have a cover of at most `slack`; of more than five only the pairs are asked. */
// @inline
function optionsWithin(frame: usize, a: i32, slack: i32, alive: i32): i32 {
  if (a < 2) return alive; // what two allow is in `goesWith`
  const delta = deltaIn(frame);
  const added = amountsIn(frame, a);
  const first = increasesIn(frame, 0, a);
  const second = increasesIn(frame, 1, a);
  if (a === 2) return alive & threeFit(delta, first, second, added, slack);
  const third = increasesIn(frame, 2, a);
  if (a === 3) return alive & fourFit(delta, first, second, third, added, slack);
  const fourth = increasesIn(frame, 3, a);
  if (a === 4) return fiveFit(delta, first, second, third, fourth, added, slack, alive);
  let most = i16x8.max_s(i16x8.max_s(first, second), i16x8.max_s(third, fourth));
  for (let b = 4; b < a; b++) most = i16x8.max_s(most, increasesIn(frame, b, a));
  return alive & i16x8.bitmask(i16x8.le_s(most, i16x8.splat(<i16>slack)));
}

/** Chooses an option for the last agent. */
function finish(agents: usize, size: i32, frame: usize, slack: i32, position: Position): bool {
  const known = tableOf(size);
  const a = size - 1;
  let part = -1;
  let block: usize = 0;
  for (let mask = optionsWithin(frame, a, slack, optionsOf(allowedIn(frame, a), a)); mask !== 0; mask &= mask - 1) {
    const u = ctz(mask);
    const move = moveIn(frame, a, u);
    const left = slack - addedBy(move);
    const code = codeAfter(move);
    const ownPart = known.part(code);
    if (ownPart !== part) {
      part = ownPart;
      block = known.find(position, part);
    }
    if (block !== 0 && left < known.leastIn(block, part, code)) continue;
    part = -1;
    choose(frame, a, u, addedBy(move));
    takeIncreases(frame, a, u);
    if (size > 5 && !coverFits(deltaIn(frame), size, left)) {
      const failing = known.enterIfSmall(position, ownPart);
      if (failing !== 0) known.setLeast(failing, ownPart, code, left + 1);
      continue;
    }
    const codes = codesIn(frame);
    for (let b = 0; b < size; b++) setByte(codes + b, codeAfter(chosenMove(frame, b)));
    if (fits(agents, size, codes, left, deltaIn(frame))) return true;
  }
  return false;
}

/** Puts the increases of agent a with those before it into the frame when a takes option u. */
function takeIncreases(frame: usize, a: i32, u: i32): void {
  const delta = deltaIn(frame);
  const added = addedIn(frame, a);
  for (let b = 0; b < a; b++) setByte(delta + b * MAX_AGENTS + a, byteAt(costsIn(frame, b, a) + u) - added - addedIn(frame, b));
}

function partsFit(agents: usize, size: i32, codes: usize, delta: usize, slack: i32): bool {
  if (!threesFit(agents, size, codes, delta, slack)) return false;
  return size === 4 || spentNodes() - spentBefore < foursFrom || foursFit(agents, size, codes, delta, slack);
}

/** Whether every three of the set fits into what the worst pair of the others leaves, which is never below 0: the cover fits. */
function threesFit(agents: usize, size: i32, codes: usize, delta: usize, slack: i32): bool {
  const count = threes.count(size);
  let p = byteAt(FIRST_THREE + size);
  for (let asked = 0; asked < count; asked++) {
    const part = threes.part(size, p);
    const mask = maskOf(part);
    const a = ctz(mask);
    const b = ctz(mask & (mask - 1));
    const c = 31 - clz(mask);
    selectThree(byteAt(agents + a), byteAt(agents + b), byteAt(agents + c));
    if (!threeFits(byteAt(codes + a), byteAt(codes + b), byteAt(codes + c), slack - worstOther(part, delta))) {
      setByte(FIRST_THREE + size, p);
      return false;
    }
    if (++p === count) p = 0;
  }
  return true;
}

/** The same of its fours. */
function foursFit(agents: usize, size: i32, codes: usize, delta: usize, slack: i32): bool {
  for (let p = 0; p < fours.count(size); p++) {
    const part = fours.part(size, p);
    let m = 0;
    for (let rest = maskOf(part); rest !== 0; rest &= rest - 1) {
      const a = ctz(rest);
      setByte(FOUR_AGENTS + m, byteAt(agents + a));
      setByte(FOUR_CODES + m++, byteAt(codes + a));
    }
    if (!fits(FOUR_AGENTS, 4, FOUR_CODES, slack - worstOther(part, delta), 0)) return false;
  }
  return true;
}
