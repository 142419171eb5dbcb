/**
 * The least extra cost of any set of agents together, above their individual shortest costs, from any joint position: what
 * pair-increases.ts gives for two and threes.ts for three, for four and more. Found on demand by depth-first search with memory, asked as
 * "do these agents finish with at most b extra?" (depth-first with a transposition table; Reinefeld and Marsland, "Enhanced
 * iterative-deepening search", 1994).
 *
 * Before a joint move is put together, every two options of two agents are checked against the exact increase of the pair, and options that
 * no option of some other agent goes with are dropped: what is enumerated afterwards is almost only what the pairs allow. A joint move is
 * then checked against the smallest cover of its pairs' increases and against the increases of its threes, on the hardest boards of its
 * fours as well. A position is expanded in O(6^agents) at worst; what is reached of the joint space is bounded by the node budget alone.
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
  allowedIn,
  cellsIn,
  choose,
  chosenMove,
  codesIn,
  copyOptions,
  costsIn,
  deltaIn,
  frameAt,
  goesWith,
  moveIn,
  pairIn,
  setAllowed,
  setGoesWith,
  setMoves,
  setUnmoved,
  takeCosts,
  unmovedIn,
} from "./frame";
import { addedBy, agentCount, cellAfter, cellOf, codeAfter, done, firstOption, goalOf, MAX_AGENTS, optionCount, startOf } from "./grid";
import { pairIncrease } from "./pair-increases";
import { allowedBy, forgetPairMoves, movesOfPair } from "./pair-moves";
import { maskOf, partsOf, worstOther } from "./parts";
import { endPath, putCell } from "./planner";
import { bitsOfSet, codeIn, codeShift, Position, packed, placed } from "./position";
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
    record(codes, size);
    return true;
  }
  const ofSet = bitsOfSet(set);
  const position = ofSet | packed(codes, size - 1);
  const last = byteAt(codes + size - 1);
  const known = tableOf(size);
  if (slack < known.least(position, last)) return false;
  const isPart = size < agentCount();
  if (isPart && slack >= known.most(position, last)) return true;
  if (delta !== 0 && !partsFit(agents, size, codes, delta, slack)) {
    known.setLeast(position, last, slack + 1);
    return false;
  }
  spend(1);
  const frame = frameAt(depth++);
  if (frame === 0) giveUp();
  const found = fillFrame(agents, size, codes, frame, slack) && extend(agents, size, frame, 0, slack, ofSet);
  depth--;
  if (!found) known.setLeast(position, last, slack + 1);
  else if (isPart) known.setMost(position, last, slack);
  if (found) record(codes, size);
  return found;
}

function record(codes: usize, size: i32): void {
  if (size !== recordedSize) return;
  if (steps === MOST_STEPS) giveUp();
  store<u64>(TRAIL + steps++ * MAX_AGENTS, load<u64>(codes));
}

/** Lists options and what every two of them allow; false when some agent has none left. */
function fillFrame(agents: usize, size: i32, codes: usize, frame: usize, slack: i32): bool {
  const half = halfOf(size);
  const cells = cellsIn(frame);
  let unmoved: Position = 0;
  for (let a = 0; a < size; a++) {
    const agent = byteAt(agents + a);
    const code = byteAt(codes + a);
    setByte(cells + a, cellOf(agent, code));
    if (a >= half) unmoved |= placed(code, a);
    const first = firstOption(agent, code);
    const count = optionCount(agent, code, slack);
    if (count === 0) return false;
    copyOptions(frame, a, first);
    setAllowed(frame, 0, a, (1 << count) - 1);
  }
  setUnmoved(frame, unmoved);
  for (let b = 1; b < size; b++) {
    for (let a = 0; a < b; a++) {
      if (!fillPair(frame, a, b, byteAt(agents + a), byteAt(agents + b), byteAt(codes + a), byteAt(codes + b), slack)) return false;
    }
  }
  return true;
}

/** What the options of agents i < j, in places a and b, that are still allowed leave of one another. False: nothing. */
function fillPair(frame: usize, a: i32, b: i32, i: i32, j: i32, codeA: i32, codeB: i32, slack: i32): bool {
  const pair = pairIn(frame, a, b);
  const moves = movesOfPair(i, j, codeA, codeB, slack);
  setMoves(pair, moves);
  const masks = allowedBy(moves, slack) & (<u64>allowedIn(frame, 0, b) * 0x0101_0101_0101);
  setGoesWith(pair, masks);
  let usedA = 0;
  let usedB = 0;
  for (let alive = allowedIn(frame, 0, a); alive !== 0; alive &= alive - 1) {
    const u = ctz(alive);
    const mask = <i32>(masks >> (u << 3)) & 255;
    usedB |= mask;
    if (mask !== 0) usedA |= 1 << u;
  }
  setAllowed(frame, 0, a, usedA);
  setAllowed(frame, 0, b, usedB);
  return usedA !== 0;
}

/** Chooses an option for agent a and those after it; `slack` is what those before have left, `position` what they make with the set. */
// @inline
function extend(agents: usize, size: i32, frame: usize, a: i32, slack: i32, position: Position): bool {
  if (a === size - 1) return finish(agents, size, frame, slack, position);
  if (a === 0 || a !== halfOf(size)) return goThrough(agents, size, frame, a, slack, position);
  const known = halvesOf(size);
  const code = codeIn(position, a - 1);
  const half = (position & ~placed(127, a - 1)) | unmovedIn(frame) | ((<u64>halfMove(frame, a, size)) << codeShift(size));
  if (slack < known.least(half, code)) return false;
  if (goThrough(agents, size, frame, a, slack, position)) return true;
  known.noteLeast(half, code, slack + 1);
  return false;
}

/**
 * What of a half-made joint move is not in its codes: from which side somebody has come onto the cell of an agent that has not moved, since it
 * may not go there. Three bits for each agent that has not moved.
 */
function halfMove(frame: usize, moved: i32, size: i32): i32 {
  const cells = cellsIn(frame);
  let mark = 0;
  for (let b = moved; b < size; b++) {
    const cell = byteAt(cells + b);
    mark <<= 3;
    for (let a = 0; a < moved; a++) {
      if (cellAfter(chosenMove(frame, a)) !== cell) continue;
      const step = byteAt(cells + a) - cell;
      mark |= step === 1 ? 1 : step === -1 ? 2 : step > 0 ? 3 : 4;
    }
  }
  return mark;
}

/** As `extend`, without asking the memory first. */
function goThrough(agents: usize, size: i32, frame: usize, a: i32, slack: i32, position: Position): bool {
  for (let mask = allowedIn(frame, a, a); mask !== 0; mask &= mask - 1) {
    const u = ctz(mask);
    const move = moveIn(frame, a, u);
    const left = slack - addedBy(move);
    if (left < 0) return false; // options come by what they add
    choose(frame, a, u, addedBy(move));
    if (!takeIncreases(frame, a, u, left) || (a > 1 && !coverFits(deltaIn(frame), a + 1, left))) continue;
    if (!narrow(frame, size, a, u)) continue;
    if (extend(agents, size, frame, a + 1, left, position | placed(codeAfter(move), a))) return true;
  }
  return false;
}

/** Takes from those after agent a the options that do not go with its u-th; false when somebody has none left. */
function narrow(frame: usize, size: i32, a: i32, u: i32): bool {
  for (let b = a + 1; b < size; b++) {
    const allowed = allowedIn(frame, a, b) & goesWith(pairIn(frame, a, b), u);
    if (allowed === 0) return false;
    setAllowed(frame, a + 1, b, allowed);
    takeCosts(frame, a, b, u);
  }
  return true;
}

/** Chooses an option for the last agent. Most positions are known not to fit, so the memory is asked before the cover. */
function finish(agents: usize, size: i32, frame: usize, slack: i32, position: Position): bool {
  const known = tableOf(size);
  const a = size - 1;
  let part = -1;
  let block: usize = 0;
  for (let mask = allowedIn(frame, a, a); mask !== 0; mask &= mask - 1) {
    const u = ctz(mask);
    const move = moveIn(frame, a, u);
    const left = slack - addedBy(move);
    if (left < 0) return false;
    const code = codeAfter(move);
    const ownPart = known.part(code);
    if (ownPart !== part) {
      part = ownPart;
      block = known.block(position, part);
    }
    if (block !== 0 && left < known.leastIn(block, part, code)) continue;
    part = -1;
    choose(frame, a, u, addedBy(move));
    if (!takeIncreases(frame, a, u, left) || !coverFits(deltaIn(frame), size, left)) {
      known.noteLeast(position, code, left + 1);
      continue;
    }
    const codes = codesIn(frame);
    for (let b = 0; b < size; b++) setByte(codes + b, codeAfter(chosenMove(frame, b)));
    if (fits(agents, size, codes, left, deltaIn(frame))) return true;
  }
  return false;
}

/** Puts the increases of agent a with those before it into the frame when a takes option u; false when one alone exceeds what is left. */
function takeIncreases(frame: usize, a: i32, u: i32, left: i32): bool {
  const delta = deltaIn(frame);
  const added = addedIn(frame, a);
  for (let b = 0; b < a; b++) {
    const d = byteAt(costsIn(frame, b, a) + u) - added - addedIn(frame, b);
    if (d > left) return false;
    setByte(delta + b * MAX_AGENTS + a, d);
  }
  return true;
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
