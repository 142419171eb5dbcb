/**
 * The least extra cost of any set of agents together, above their individual shortest costs, from any joint position: what pair-increases.ts
 * gives for two and three-increases.ts for three, for four and more. Found on demand by depth-first search with memory, asked as "do these
 * agents finish with at most b extra?" (depth-first with a transposition table; Reinefeld and Marsland, "Enhanced iterative-deepening search",
 * 1994).
 *
 * Before a joint move is put together, every two options of two agents are checked against the exact increase of the pair, and options that
 * no option of some other agent goes with are dropped: what is enumerated afterwards is almost only what the pairs allow. A joint move is
 * then checked against the smallest cover of its pairs' increases and against the increases of its threes, on the hardest boards of its fours as well.
 * A position is expanded in O(6^agents) at worst; what is reached of the joint space is bounded by the node budget alone.
 *
 * What is learnt is kept until the next board, for all sets and all bounds. It decides nothing about solvability: it is asked only within
 * a bound or about boards known to be solvable.
 */
import { MAX_AGENTS } from "../instance.js";
import { coverFits } from "./cover.js";
import { DONE, type Grid, STRIDE } from "./grid.js";
import type { NodeBudget } from "./node-budget.js";
import type { PairIncreases } from "./pair-increases.js";
import { exactOf } from "./pair-memory.js";
import { FOURS, THREES } from "./set-parts.js";
import { ThreeIncreases } from "./three-increases.js";
import { TupleMemory } from "./tuple-memory.js";

/** Larger increases are not asked for: they would not fit into the memory's bytes. */
export const MOST_INCREASE = 250;

/** Options of one agent in one step: five moves, and the goal once as an arrival and once as a cell on the way. */
const OPTIONS = 6;
/** One pair of agents in a frame: for each option of the first the mask of options of the second, then the increases. */
const PAIR = OPTIONS + OPTIONS * OPTIONS;
const PAIRS = (MAX_AGENTS * (MAX_AGENTS - 1)) / 2;
/** Layout of a frame: options and their number per agent, pairs, allowed masks per depth of the enumeration, chosen options. */
const AT_COUNT = MAX_AGENTS * OPTIONS;
const AT_PAIRS = AT_COUNT + MAX_AGENTS;
const AT_MASKS = AT_PAIRS + PAIRS * PAIR;
const AT_CHOSEN = AT_MASKS + (MAX_AGENTS + 1) * MAX_AGENTS;
const AT_CODES = AT_CHOSEN + MAX_AGENTS;
/** Increases of the chosen pairs, a·8 + b. */
const AT_DELTA = AT_CODES + MAX_AGENTS;
/** Where the agents stand before the joint move. */
const AT_CELLS = AT_DELTA + MAX_AGENTS * MAX_AGENTS;
/** The codes of those who have not moved when a joint move is half made, packed into two words. */
const AT_UNMOVED = AT_CELLS + MAX_AGENTS;
const FRAME = AT_UNMOVED + 2;
/** Deeper than any plan within a sensible bound; nested searches share it. */
const FRAMES_AT_FIRST = 64;

/**
 * By size of the set: how many agents have moved when a joint move is half made. What is then known not to lead on is known for every position
 * that differs in where those agents came from: nine in ten joint moves are never put together. (As in operator decomposition: Standley,
 * "Finding optimal solutions to cooperative pathfinding problems", AAAI 2010.) Sets of eight have no room for it in the memory's words.
 */
const HALF = [0, 0, 0, 0, 2, 2, 3, 5, 0];

/**
 * Nodes spent on a board after which sets of five agents and more are checked against their fours as well as their threes. On most boards that
 * costs more than it rules out, on some of the hardest it halves the time: neither way can then cost much more than the better one.
 */
const FOURS_FROM = 100_000;

export class TupleIncreases {
  /** By size of the set: what small sets are asked again and again then stays in the processor's cache. Those of three are `three`'s. */
  private readonly memories = Array.from({ length: MAX_AGENTS + 1 }, () => new TupleMemory());
  private readonly halves = new TupleMemory();
  private frames = new Int32Array(FRAME * FRAMES_AT_FIRST);
  private depth = 0;
  private readonly delta = new Int32Array(MAX_AGENTS * MAX_AGENTS);
  /** Joint codes of the solution found last, last position first; MAX_AGENTS numbers each. */
  private readonly trail: number[] = [];
  private recordedSize = 0;
  private readonly three: ThreeIncreases;
  /** By size of the set: the three to ask first, which is the one that ruled out the last position. */
  private readonly firstThree = new Int32Array(MAX_AGENTS + 1);
  // A four that is asked about; a four never asks about fours.
  private readonly fourAgents = [0, 0, 0, 0];
  private readonly fourCodes = new Int32Array(MAX_AGENTS);
  /** The budget's nodes at the last reset. */
  private spentBefore = 0;
  private readonly rootCode = new Int32Array(MAX_AGENTS);

  constructor(
    private readonly grid: Grid,
    private readonly pairs: PairIncreases,
    private readonly budget: NodeBudget,
  ) {
    this.three = new ThreeIncreases(grid, pairs, budget, this.memories[3]!);
  }

  /** Forgets everything: for another board, or for other moves (waits forbidden). */
  reset(): void {
    for (const memory of this.memories) memory.reset();
    this.halves.reset();
    this.firstThree.fill(0);
    this.spentBefore = this.budget.spent;
  }

  /**
   * Whether the agents of the ascending list finish from their starts with at most `slack` extra. With `keepsPath` the paths of four and more can
   * be asked for.
   * @throws {BudgetExhausted}
   */
  fitsFromStart(agents: readonly number[], slack: number, keepsPath: boolean): boolean {
    this.trail.length = 0;
    this.depth = 0;
    this.recordedSize = keepsPath ? agents.length : 0;
    return this.tryRoots(agents, 0, slack);
  }

  /** The path of the a-th agent of the set in the solution found last, up to its final arrival. */
  path(a: number, agent: number): number[] {
    const path: number[] = [];
    for (let at = this.trail.length - MAX_AGENTS; at >= 0; at -= MAX_AGENTS) {
      const code = this.trail[at + a]!;
      path.push(this.grid.cellOf(agent, code));
      if (code === DONE) break;
    }
    return path;
  }

  /** An agent that starts on its goal may have arrived already, or may still have to leave and come back (2 extra). */
  private tryRoots(agents: readonly number[], a: number, slack: number): boolean {
    if (slack < 0) return false;
    if (a === agents.length) {
      const { rootCode, delta } = this;
      for (let i = 0; i < a; i++) {
        for (let j = i + 1; j < a; j++) {
          delta[i * MAX_AGENTS + j] = this.pairs.increase(agents[i]!, agents[j]!, rootCode[i]!, rootCode[j]!, slack);
        }
      }
      if (!coverFits(delta, 0, a, slack)) return false;
      return this.fits(agents, rootCode, 0, slack, -1);
    }
    const agent = agents[a]!;
    const start = this.grid.starts[agent]!;
    if (start === this.grid.goals[agent]) {
      this.rootCode[a] = DONE;
      if (this.tryRoots(agents, a + 1, slack)) return true;
      slack -= 2;
    }
    this.rootCode[a] = start;
    return this.tryRoots(agents, a + 1, slack);
  }

  /**
   * Whether the agents finish from the codes at `codes[at…]` with at most `slack` extra.
   * @param delta where the frames hold the increases of all pairs, so that the set's parts can be asked first; −1: they are not
   */
  private fits(agents: readonly number[], codes: Int32Array, at: number, slack: number, delta: number): boolean {
    const size = agents.length;
    if (size === 3) {
      this.three.select(agents[0]!, agents[1]!, agents[2]!);
      return this.three.fits(codes[at]!, codes[at + 1]!, codes[at + 2]!, slack);
    }
    let low = 0;
    let high = 0;
    let set = 0;
    let isGoal = true;
    for (let a = 0; a < size; a++) {
      const code = codes[at + a]!;
      if (code !== DONE) isGoal = false;
      set |= 1 << agents[a]!;
      if (a < 4) low |= code << (7 * a);
      else high |= code << (7 * (a - 4));
    }
    if (isGoal) {
      this.record(codes, at, size);
      return true;
    }
    low |= set << 28;
    high |= (set >> 4) << 28;
    const memory = this.memories[size]!;
    const entry = memory.find(low, high);
    if (entry >= 0) {
      if (slack < memory.least(entry)) return false;
      if (slack >= memory.most(entry) && size !== this.recordedSize) return true;
    }
    if (delta >= 0 && !this.partsFit(agents, codes, at, delta, slack)) {
      memory.setLeast(low, high, slack + 1);
      return false;
    }
    this.budget.spend(1);
    const frame = this.depth++ * FRAME;
    if (frame + FRAME > this.frames.length) this.grow();
    const found = this.fillFrame(agents, codes, at, frame, slack) && this.extend(agents, frame, 0, slack, set << 28, (set >> 4) << 28);
    this.depth--;
    if (found) {
      this.record(codes, at, size);
      memory.setMost(low, high, slack);
    } else memory.setLeast(low, high, slack + 1);
    return found;
  }

  private record(codes: Int32Array, at: number, size: number): void {
    if (size !== this.recordedSize) return;
    for (let a = 0; a < MAX_AGENTS; a++) this.trail.push(codes[at + a]!);
  }

  /** Lists options and what every two of them allow; false when some agent has none left. */
  private fillFrame(agents: readonly number[], codes: Int32Array, at: number, frame: number, slack: number): boolean {
    const { grid, pairs } = this;
    const frames = this.frames;
    const size = agents.length;
    const masks = frame + AT_MASKS;
    const { base } = pairs.memory;
    let unmovedLow = 0;
    let unmovedHigh = 0;
    for (let a = 0; a < size; a++) {
      const agent = agents[a]!;
      const code = codes[at + a]!;
      frames[frame + AT_CELLS + a] = grid.cellOf(agent, code);
      if (a >= HALF[size]!) {
        if (a < 4) unmovedLow |= code << (7 * a);
        else unmovedHigh |= code << (7 * (a - 4));
      }
      const first = grid.firstOption(agent, code);
      const count = grid.optionEnd(agent, code, slack) - first;
      if (count === 0) return false;
      for (let u = 0; u < count; u++) frames[frame + a * OPTIONS + u] = grid.option(first + u);
      frames[frame + AT_COUNT + a] = count;
      frames[masks + a] = (1 << count) - 1;
    }
    frames[frame + AT_UNMOVED] = unmovedLow;
    frames[frame + AT_UNMOVED + 1] = unmovedHigh;
    for (let b = 1; b < size; b++) {
      const cellB = frames[frame + AT_CELLS + b]!;
      const countB = frames[frame + AT_COUNT + b]!;
      for (let a = 0; a < b; a++) {
        const cellA = frames[frame + AT_CELLS + a]!;
        const countA = frames[frame + AT_COUNT + a]!;
        const pair = frame + AT_PAIRS + ((b * (b - 1)) / 2 + a) * PAIR;
        const alive = frames[masks + b]!;
        let usedA = 0;
        let usedB = 0;
        const entries = pairs.memory.of(agents[a]!, agents[b]!);
        for (let u = 0; u < countA; u++) {
          if (((frames[masks + a]! >> u) & 1) === 0) {
            frames[pair + u] = 0;
            continue;
          }
          const moveA = frames[frame + a * OPTIONS + u]!;
          const nextA = (moveA >> 2) & 127;
          const left = slack - (moveA & 3);
          let mask = 0;
          for (let v = 0; v < countB; v++) {
            if (((alive >> v) & 1) === 0) continue;
            const moveB = frames[frame + b * OPTIONS + v]!;
            const rest = left - (moveB & 3);
            if (rest < 0) break;
            const nextB = (moveB >> 2) & 127;
            if (nextA === nextB || (nextA === cellB && nextB === cellA)) continue;
            let d = exactOf(entries[(moveA >> 9) * STRIDE + (moveB >> 9)]! - base);
            if (d < 0) d = pairs.increaseOf(entries, agents[a]!, agents[b]!, moveA >> 9, moveB >> 9, rest);
            if (d > rest) continue;
            mask |= 1 << v;
            frames[pair + OPTIONS + u * OPTIONS + v] = d;
          }
          frames[pair + u] = mask;
          usedB |= mask;
          if (mask !== 0) usedA |= 1 << u;
        }
        if (usedA === 0) return false;
        frames[masks + a] = usedA;
        frames[masks + b] = usedB;
      }
    }
    return true;
  }

  /** Chooses an option for agent a and those after it; `slack` is what those before have left, `low` and `high` the position they make. */
  private extend(agents: readonly number[], frame: number, a: number, slack: number, low: number, high: number): boolean {
    const size = agents.length;
    if (a === size - 1) return this.finish(agents, frame, slack, low, high);
    if (a === 0 || a !== HALF[size]) return this.choose(agents, frame, a, slack, low, high);
    const { halves } = this;
    const ownLow = low | this.frames[frame + AT_UNMOVED]!;
    const ownHigh = high | this.frames[frame + AT_UNMOVED + 1]! | (this.halfMove(frame, a, size) << (7 * (size - 4)));
    const entry = halves.find(ownLow, ownHigh);
    if (entry >= 0 && slack < halves.least(entry)) return false;
    if (this.choose(agents, frame, a, slack, low, high)) return true;
    if (entry >= 0 || !halves.isLarge) halves.setLeast(ownLow, ownHigh, slack + 1);
    return false;
  }

  /**
   * What of a half-made joint move is not in its codes: from which side somebody has come onto the cell of an agent that has not moved, since it
   * may not go there. Three bits for each agent that has not moved.
   */
  private halfMove(frame: number, moved: number, size: number): number {
    const { frames } = this;
    let mark = 0;
    for (let b = moved; b < size; b++) {
      const cell = frames[frame + AT_CELLS + b]!;
      mark <<= 3;
      for (let a = 0; a < moved; a++) {
        const next = (frames[frame + a * OPTIONS + frames[frame + AT_CHOSEN + a]!]! >> 2) & 127;
        if (next !== cell) continue;
        const step = frames[frame + AT_CELLS + a]! - cell;
        mark |= step === 1 ? 1 : step === -1 ? 2 : step > 0 ? 3 : 4;
      }
    }
    return mark;
  }

  /** As `extend`, without asking the memory first. */
  private choose(agents: readonly number[], frame: number, a: number, slack: number, low: number, high: number): boolean {
    const size = agents.length;
    const masks = frame + AT_MASKS + a * MAX_AGENTS;
    const shift = 7 * (a & 3);
    for (let mask = this.frames[masks + a]!; mask !== 0; mask &= mask - 1) {
      const frames = this.frames;
      const u = 31 - Math.clz32(mask & -mask);
      const move = frames[frame + a * OPTIONS + u]!;
      const left = slack - (move & 3);
      if (left < 0) return false; // options come by what they add
      frames[frame + AT_CHOSEN + a] = u;
      if (!this.takeIncreases(frame, a, u, left) || (a > 1 && !coverFits(frames, frame + AT_DELTA, a + 1, left))) continue;
      let isPossible = true;
      for (let b = a + 1; b < size; b++) {
        const allowed = frames[masks + b]! & frames[frame + AT_PAIRS + ((b * (b - 1)) / 2 + a) * PAIR + u]!;
        if (allowed === 0) {
          isPossible = false;
          break;
        }
        frames[masks + MAX_AGENTS + b] = allowed;
      }
      if (!isPossible) continue;
      const code = (move >> 9) << shift;
      if (this.extend(agents, frame, a + 1, left, a < 4 ? low | code : low, a < 4 ? high : high | code)) return true;
    }
    return false;
  }

  /** Chooses an option for the last agent. Most positions are known not to fit, so the memory is asked before the cover. */
  private finish(agents: readonly number[], frame: number, slack: number, low: number, high: number): boolean {
    const memory = this.memories[agents.length]!;
    const a = agents.length - 1;
    const shift = 7 * (a & 3);
    for (let mask = this.frames[frame + AT_MASKS + a * MAX_AGENTS + a]!; mask !== 0; mask &= mask - 1) {
      const u = 31 - Math.clz32(mask & -mask);
      const move = this.frames[frame + a * OPTIONS + u]!;
      const left = slack - (move & 3);
      if (left < 0) return false;
      const code = (move >> 9) << shift;
      const ownLow = a < 4 ? low | code : low;
      const ownHigh = a < 4 ? high : high | code;
      const entry = memory.find(ownLow, ownHigh);
      if (entry >= 0 && left < memory.least(entry)) continue;
      this.frames[frame + AT_CHOSEN + a] = u;
      if (!this.takeIncreases(frame, a, u, left) || !coverFits(this.frames, frame + AT_DELTA, a + 1, left)) {
        if (entry >= 0 || !memory.isLarge) memory.setLeast(ownLow, ownHigh, left + 1);
        continue;
      }
      if (this.enter(agents, frame, left)) return true;
    }
    return false;
  }

  /** Puts the increases of agent a with those before it into the frame when a takes option u; false when one alone exceeds what is left. */
  private takeIncreases(frame: number, a: number, u: number, left: number): boolean {
    const { frames } = this;
    const options = frame + AT_PAIRS + ((a * (a - 1)) / 2) * PAIR + OPTIONS + u;
    for (let b = 0; b < a; b++) {
      const d = frames[options + b * PAIR + frames[frame + AT_CHOSEN + b]! * OPTIONS]!;
      if (d > left) return false;
      frames[frame + AT_DELTA + b * MAX_AGENTS + a] = d;
    }
    return true;
  }

  /** Whether the agents finish after the joint move chosen in the frame. */
  private enter(agents: readonly number[], frame: number, slack: number): boolean {
    const { frames } = this;
    const size = agents.length;
    const codes = frame + AT_CODES;
    for (let a = 0; a < size; a++) frames[codes + a] = frames[frame + a * OPTIONS + frames[frame + AT_CHOSEN + a]!]! >> 9;
    return this.fits(agents, frames, codes, slack, frame + AT_DELTA);
  }

  private partsFit(agents: readonly number[], codes: Int32Array, at: number, delta: number, slack: number): boolean {
    if (!this.threesFit(agents, codes, at, delta, slack)) return false;
    return agents.length === 4 || this.budget.spent - this.spentBefore < FOURS_FROM || this.foursFit(agents, codes, at, delta, slack);
  }

  /** Whether every three of the set fits into what the worst pair of the others leaves, which is never below 0: the cover fits. */
  private threesFit(agents: readonly number[], codes: Int32Array, at: number, delta: number, slack: number): boolean {
    const { three, firstThree } = this;
    const size = agents.length;
    const threes = THREES[size]!;
    let p = firstThree[size]!;
    for (let asked = 0; asked < threes.length; asked++) {
      const { members, otherPairs } = threes[p]!;
      const [a, b, c] = members as [number, number, number];
      const left = this.leftBy(otherPairs, delta, slack);
      three.select(agents[a]!, agents[b]!, agents[c]!);
      if (!three.fits(codes[at + a]!, codes[at + b]!, codes[at + c]!, left)) {
        firstThree[size] = p;
        return false;
      }
      if (++p === threes.length) p = 0;
    }
    return true;
  }

  /** The same of its fours. */
  private foursFit(agents: readonly number[], codes: Int32Array, at: number, delta: number, slack: number): boolean {
    const { fourAgents, fourCodes } = this;
    for (const { members, otherPairs } of FOURS[agents.length]!) {
      const left = this.leftBy(otherPairs, delta, slack);
      for (let m = 0; m < 4; m++) {
        fourAgents[m] = agents[members[m]!]!;
        fourCodes[m] = codes[at + members[m]!]!;
      }
      if (!this.fits(fourAgents, fourCodes, 0, left, -1)) return false;
    }
    return true;
  }

  /** What the worst of these pairs leaves of `slack`. */
  private leftBy(pairs: readonly number[], delta: number, slack: number): number {
    let most = 0;
    for (let q = 0; q < pairs.length; q++) most = Math.max(most, this.frames[delta + pairs[q]!]!);
    return slack - most;
  }

  private grow(): void {
    const larger = new Int32Array(this.frames.length * 2);
    larger.set(this.frames);
    this.frames = larger;
  }
}
