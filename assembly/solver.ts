/**
 * The certified optimal solver. For sum of costs: prioritised plans give an upper bound, the smallest cover of the exact pair increases a
 * lower one; where they differ, joint searches on a growing set of agents, or over the exact increases of sets, close the gap.
 * What it finds is proven; where the node budget ends first the host ends it.
 *
 * One algorithm, read from top to bottom: long.
 */
import { byteAt, setByte, setWord } from "./bytes";
import { smallestCover } from "./cover";
import {
  agentCount,
  completeDistances,
  done,
  forbidWaits,
  goalOf,
  loadBoard,
  MAX_AGENTS,
  renumber,
  shortest,
  startOf,
  sumOfShortest,
  waitForbidden,
} from "./grid";
import { leastExtraOf, placeFromJointSearch } from "./joint-search";
import { KeptPlan } from "./kept-plan";
import { leastMakespanOf, placeFromMakespanSearch } from "./makespan-search";
import { forgetPairs, pairIncrease } from "./pair-increases";
import { forgetPairMakespans } from "./pair-makespans";
import { maskOf, partsOf } from "./parts";
import { clearPlan, planAgent, planOnTime } from "./planner";
import { CAN, CANNOT, isSolvableCheap, solvable } from "./reachability";
import { fitsFromStart, forgetTuples, MOST_INCREASE, placeFromTuples } from "./tuples";

/** Given by the host: `deepen` within some nodes; −1 where they do not suffice. */
declare function deepenWithin(lower: i32, upper: i32): i32;

const UNSOLVABLE: i32 = 0;
const SOLVED: i32 = 1;
const ABOVE_SHORTEST: i32 = 2;

const ORDERS: i32 = 12;
const ORDERS_OF_REST: i32 = 4;
/** More than any plan costs. */
const UNBOUNDED: i32 = 1 << 20;
const PAIR_CAP: i32 = 12;

export const sumPlan = new KeptPlan();
export const spanPlan = new KeptPlan();

const ORDER = memory.data(MAX_AGENTS, 8);
/** Increases of pairs from their starts, by i·8 + j. */
const DELTA = memory.data(MAX_AGENTS * MAX_AGENTS, 8);
/** For `renumberByIncreases`. */
const DELTA_BEFORE = memory.data(MAX_AGENTS * MAX_AGENTS, 8);
/** Bit j of agent i: some plan delays neither of the two, so their increase is 0. */
const UNDELAYED = memory.data(MAX_AGENTS, 8);
/** Up to three agents are closed by growing sets: their plans are part of what the shipped base policy was trained on. */
let growsSets: bool = false;
let stopsAboveSic: bool = false;

/** What was found: see resultsAt in index.ts. */
export const RESULTS = memory.data(16, 16);
const AT_SUM: usize = 0;
const AT_MAKESPAN: usize = 4;
const AT_SHORTEST: usize = 8;
const AT_WAIT: usize = 12;

/** Certifies the board that the host has written: a status. With `stopAboveSic` it stops as soon as SOC > SIC is certain. */
export function certifyBoard(size: i32, agents: i32, needMakespan: bool, needWait: bool, stopAboveSic: bool): i32 {
  setWord(RESULTS + AT_SUM, -1);
  setWord(RESULTS + AT_MAKESPAN, -1);
  setWord(RESULTS + AT_SHORTEST, -1);
  setWord(RESULTS + AT_WAIT, 0);
  growsSets = agents < 4;
  stopsAboveSic = stopAboveSic;
  if (!loadBoard(size, agents)) return UNSOLVABLE;
  setWord(RESULTS + AT_SHORTEST, sumOfShortest());
  const extra = leastExtra();
  if (extra < 0) return UNSOLVABLE;
  if (extra > 0 && stopAboveSic) return ABOVE_SHORTEST;
  setWord(RESULTS + AT_SUM, sumOfShortest() + extra);
  if (needMakespan) setWord(RESULTS + AT_MAKESPAN, leastMakespan());
  if (needWait && needsWait(extra)) setWord(RESULTS + AT_WAIT, 1);
  return SOLVED;
}

/** The least sum of costs above SIC; −1: unsolvable. Leaves its plan in `sumPlan`. */
function leastExtra(): i32 {
  orderByDistance();
  if (everyoneOnTime()) return 0;
  completeDistances();
  if (isSolvableCheap() && solvable() === CANNOT) return -1;
  forgetIncreases();
  const extra = closeGap(0, stopsAboveSic ? 1 : UNBOUNDED);
  return extra === UNBOUNDED ? -1 : extra;
}

function needsWait(extra: i32): bool {
  if (extra === 0) return false;
  if (extra % 2 === 1) return true;
  if (!sumPlan.hasWait()) return false;
  forbidWaits(true);
  forgetIncreases();
  return closeGap(extra, extra + 1) > extra;
}

function forgetIncreases(): void {
  forgetPairs();
  forgetTuples();
}

/**
 * The least extra cost under the present moves, given that it is at least `least`; `most` when it is not below `most`.
 * Leaves a plan below `most` in `sumPlan` (unless waits are forbidden).
 */
function closeGap(least: i32, most: i32): i32 {
  store<u64>(UNDELAYED, 0);
  orderByDistance();
  const upper = prioritise(0, 0, least, most, ORDERS);
  if (upper <= least) return upper;
  const answer = upper === UNBOUNDED && !isSolvableCheap() ? solvable() : CAN;
  if (answer === CANNOT) return upper;
  const lower = max(least, boundFromPairs(upper));
  if (upper <= lower) return upper;
  if (growsSets) return growSet(lower, upper);
  renumberByIncreases();
  if (answer === CAN) return deepen(lower, upper);
  // Growing sets decide solvability as well; deepening would not end where there is no plan, and is far faster where there is one.
  const found = deepenWithin(lower, upper);
  return found >= 0 ? found : growSet(lower, upper);
}

/**
 * Asks for a plan that is cheaper than the best one, or, while there is none, for one within the lower bound and growing steps above it.
 * Sets of three agents are asked first, then larger ones: where one of them does not fit, all agents do not.
 */
export function deepen(least: i32, most: i32): i32 {
  const count = agentCount();
  let lower = least;
  let upper = most;
  let step = 0;
  while (lower < upper) {
    const asked = upper - 1 <= MOST_INCREASE ? upper - 1 : lower + step;
    step = 2 * step + 1;
    if (asked > MOST_INCREASE) return growSet(lower, upper);
    if (!partsFit(asked, upper) || !fitsFromStart((1 << count) - 1, asked, true)) {
      lower = asked + 1;
      continue;
    }
    clearPlan();
    let cost = 0;
    for (let agent = 0; agent < count; agent++) cost += placeFromTuples(agent, agent);
    upper = cost - sumOfShortest();
    keepSumPlan();
  }
  return upper;
}

/** Whether every three agents, every four and so on fit, those aside that the best plan itself gives no more. */
function partsFit(asked: i32, upper: i32): bool {
  const count = agentCount();
  for (let size = 3; size < count; size++) {
    const sets = partsOf(size);
    for (let p = 0; p < sets.count(count); p++) {
      const set = maskOf(sets.part(count, p));
      if (hasPlan(upper) && extraInPlan(set) <= asked) continue;
      if (!fitsFromStart(set, asked, false)) return false;
    }
  }
  return true;
}

/** Whether the best plan costs `upper`: the bound to begin with has none, nor has a plan without waits. */
function hasPlan(upper: i32): bool {
  return upper < UNBOUNDED && !stopsAboveSic && !waitForbidden();
}

/** What the best plan gives these agents above their shortest costs. */
function extraInPlan(set: i32): i32 {
  let extra = 0;
  for (let rest = set; rest !== 0; rest &= rest - 1) extra += sumPlan.arrival(ctz(rest)) - shortest(ctz(rest));
  return extra;
}

function keepSumPlan(): void {
  if (!waitForbidden()) sumPlan.keep(agentCount());
}

/** Whether the first order of agents already gives a plan without delays; leaves it in `sumPlan`. */
function everyoneOnTime(): bool {
  clearPlan();
  for (let a = 0; a < agentCount(); a++) if (!planOnTime(inOrder(a))) return false;
  keepSumPlan();
  return true;
}

function inOrder(a: i32): i32 {
  return byteAt(ORDER + a);
}

function orderByDistance(): void {
  for (let agent = 0; agent < agentCount(); agent++) {
    let at = agent;
    for (; at > 0 && shortest(inOrder(at - 1)) < shortest(agent); at--) setByte(ORDER + at, inOrder(at - 1));
    setByte(ORDER + at, agent);
  }
}

/**
 * Plans the agents in places placed… of the order after those before them, whom the joint search has planned and who cost `placedExtra`.
 * The first agent that is delayed or stuck goes to the front for the next attempt. The least extra cost, if below `most`.
 */
function prioritise(placed: i32, placedExtra: i32, lower: i32, most: i32, attempts: i32): i32 {
  const count = agentCount();
  let upper = most;
  for (let attempt = 0; attempt < attempts; attempt++) {
    clearPlan();
    for (let a = 0; a < placed; a++) placeFromJointSearch(a);
    let extra = placedExtra;
    let blamed = -1;
    let onTime = 0;
    for (let a = placed; a < count; a++) {
      const agent = inOrder(a);
      const d = shortest(agent);
      const arrival = planAgent(agent, d + upper - 1 - extra);
      if (arrival < 0) {
        blamed = a;
        extra = UNBOUNDED;
        break;
      }
      if (arrival === d) onTime |= 1 << agent;
      else if (blamed < 0) blamed = a;
      extra += arrival - d;
    }
    if (placed === 0) {
      for (let rest = onTime; rest !== 0; rest &= rest - 1) setByte(UNDELAYED + ctz(rest), byteAt(UNDELAYED + ctz(rest)) | onTime);
    }
    if (extra < upper) {
      upper = extra;
      keepSumPlan();
      if (upper <= lower) return upper;
    }
    if (blamed <= placed) return upper;
    toFront(blamed, placed);
  }
  return upper;
}

function boundFromPairs(upper: i32): i32 {
  const count = agentCount();
  const cap = min(upper - 1, PAIR_CAP);
  for (let i = 0; i < count; i++) {
    for (let j = i + 1; j < count; j++) {
      const isZero = (byteAt(UNDELAYED + i) >> j) & 1;
      setByte(DELTA + i * MAX_AGENTS + j, isZero !== 0 ? 0 : rootIncrease(i, j, cap));
    }
  }
  return smallestCover(DELTA, count);
}

/**
 * Numbers the agents anew: first the one that is of the pair with the greatest increase, then whoever has the greatest increases with those
 * before it. Joint moves are put together in order of numbers, and what does not lead on then shows early.
 */
function renumberByIncreases(): void {
  const count = agentCount();
  let chosen = 0;
  let isOrdered = true;
  for (let a = 0; a < count; a++) {
    let first = -1;
    let greatest = -1;
    for (let agent = 0; agent < count; agent++) {
      const weight = (chosen >> agent) & 1 ? -1 : weightIn(agent, chosen);
      if (weight <= greatest) continue;
      greatest = weight;
      first = agent;
    }
    chosen |= 1 << first;
    if (first !== a) isOrdered = false;
    setByte(ORDER + a, first);
  }
  if (!isOrdered) {
    renumber(ORDER);
    memory.copy(DELTA_BEFORE, DELTA, MAX_AGENTS * MAX_AGENTS);
    for (let i = 0; i < count; i++) {
      for (let j = i + 1; j < count; j++) setByte(DELTA + i * MAX_AGENTS + j, increaseIn(DELTA_BEFORE, inOrder(i), inOrder(j)));
    }
    forgetIncreases();
  }
  orderByDistance();
}

/** What the agent's pairs with those chosen cost, then the greatest increase that it is of, then the sum of all. */
function weightIn(agent: i32, chosen: i32): i32 {
  let withChosen = 0;
  let most = 0;
  let sum = 0;
  for (let other = 0; other < agentCount(); other++) {
    if (other === agent) continue;
    const d = increaseIn(DELTA, agent, other);
    if ((chosen >> other) & 1) withChosen += d;
    most = max(most, d);
    sum += d;
  }
  return (withChosen << 16) | (most << 8) | sum;
}

function increaseIn(delta: usize, i: i32, j: i32): i32 {
  return byteAt(delta + min(i, j) * MAX_AGENTS + max(i, j));
}

/** An agent that starts on its goal may have arrived already, or still has to leave and come back (2 extra). */
function rootIncrease(i: i32, j: i32, cap: i32): i32 {
  const a = startOf(i);
  const b = startOf(j);
  const codesOfI = a === goalOf(i) ? 2 : 1;
  const codesOfJ = b === goalOf(j) ? 2 : 1;
  let least = cap + 1;
  for (let u = 0; u < codesOfI; u++) {
    for (let v = 0; v < codesOfJ; v++) {
      const added = (codesOfI - 1 - u) * 2 + (codesOfJ - 1 - v) * 2;
      const codeA = codesOfI === 2 && u === 1 ? done() : a;
      const codeB = codesOfJ === 2 && v === 1 ? done() : b;
      if (added < least) least = min(least, added + pairIncrease(i, j, codeA, codeB, least - 1 - added));
    }
  }
  return least;
}

/** Joint searches on a set of agents that grows by whoever the others' plans still delay; exact at the latest when all are in. */
function growSet(least: i32, most: i32): i32 {
  const count = agentCount();
  let lower = least;
  let upper = most;
  for (let placed = mostIncreasedFirst(); placed < count; placed++) {
    const extra = leastExtraOf(ORDER, placed, upper - 1);
    if (extra < 0) return upper;
    lower = max(lower, extra);
    upper = prioritise(placed, extra, lower, upper, ORDERS_OF_REST);
    if (upper <= lower) return upper;
  }
  const extra = leastExtraOf(ORDER, count, upper - 1);
  if (extra < 0) return upper;
  clearPlan();
  for (let a = 0; a < count; a++) placeFromJointSearch(a);
  keepSumPlan();
  return extra;
}

/** Puts the pair of the largest increase in front. The number of agents to begin with. */
function mostIncreasedFirst(): i32 {
  let most = 0;
  let first = -1;
  let second = -1;
  for (let i = 0; i < agentCount(); i++) {
    for (let j = i + 1; j < agentCount(); j++) {
      const d = byteAt(DELTA + i * MAX_AGENTS + j);
      if (d <= most) continue;
      most = d;
      first = i;
      second = j;
    }
  }
  if (most === 0) return 1;
  toFront(placeOf(second), 0);
  toFront(placeOf(first), 0);
  return 2;
}

function placeOf(agent: i32): i32 {
  let a = 0;
  while (inOrder(a) !== agent) a++;
  return a;
}

function toFront(from: i32, to: i32): void {
  const agent = inOrder(from);
  for (let a = from; a > to; a--) setByte(ORDER + a, inOrder(a - 1));
  setByte(ORDER + to, agent);
}

/**
 * The least makespan. The board has a plan in `sumPlan`, which bounds it from above. Joint searches on a growing set of agents each give
 * the set's least makespan, within which the others are planned around it; where even the set needs `upper`, the plan at hand is the best.
 */
function leastMakespan(): i32 {
  const count = agentCount();
  let lower = 0;
  for (let a = 0; a < count; a++) lower = max(lower, shortest(a));
  spanPlan.adopt(sumPlan);
  const upper = sumPlan.makespan();
  if (upper === lower) return lower;
  orderByDistance();
  forgetPairMakespans();
  for (let placed = 0; placed < count; ) {
    if (prioritiseBy(lower, placed)) {
      spanPlan.keep(count);
      return lower;
    }
    placed++;
    const least = leastMakespanOf(ORDER, placed, upper - 1, !growsSets);
    if (least < 0) return upper;
    lower = max(lower, least);
  }
  clearPlan();
  for (let a = 0; a < count; a++) placeFromMakespanSearch(a);
  spanPlan.keep(count);
  return lower;
}

/** As `prioritise`, for plans in which everyone has arrived by `deadline`. */
function prioritiseBy(deadline: i32, placed: i32): bool {
  const count = agentCount();
  for (let attempt = 0; attempt < (placed === 0 ? ORDERS : ORDERS_OF_REST); attempt++) {
    clearPlan();
    for (let a = 0; a < placed; a++) placeFromMakespanSearch(a);
    let a = placed;
    while (a < count && planAgent(inOrder(a), deadline) >= 0) a++;
    if (a === count) return true;
    toFront(a, placed);
    if (a === placed) return false;
  }
  return false;
}
