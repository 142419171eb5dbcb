/**
 * The packed board that every search reads: cells row·size + column, one breadth-first table per goal, and for each (agent, cell) the moves
 * from it with what each adds to the agent's individual shortest cost. Memory is reused from board to board; nothing is allocated.
 *
 * Where an agent is takes 7 bits: its cell, or DONE once it is *committed*: it has made its final arrival and holds its goal for ever.
 * An agent commits only by arriving (or at time 0, when it starts on its goal), so an agent that is on its goal and not committed still
 * has to leave and come back. That makes "stay at the goal" exact without counting waits, in a finite space.
 */
import { MAX_AGENTS } from "../instance.js";
import { neighbourTables } from "../neighbours.js";

/** Room for one agent's codes: 7 bits. */
export const STRIDE = 128;
/** The code of an agent that has made its final arrival. */
export const DONE = 126;
/** The cell that a move off the grid leads to; never free. */
export const OFF_GRID = 127;
/** Distances from here on mean: not reachable. */
export const UNREACHABLE = 254;
const BLOCKED = 255;

const AGENT_TABLE = MAX_AGENTS * STRIDE;
const OPTIONS = 8;

/** neighbours[size][cell·4 + direction]: UP, DOWN, LEFT, RIGHT, OFF_GRID outside. */
const tables = neighbourTables(() => STRIDE, OFF_GRID);

export class Grid {
  size = 0;
  /** size². */
  cells = 0;
  /** Number of agents. */
  count = 0;
  /** neighbours[cell·4 + direction]. */
  neighbours: Uint8Array = tables[1]!;
  readonly starts = new Int32Array(MAX_AGENTS);
  readonly goals = new Int32Array(MAX_AGENTS);
  /**
   * distances[agent·STRIDE + cell]: steps to the agent's goal on an otherwise empty board. After `load` cells that are not nearer to the
   * goal than the start is may still be missing (UNREACHABLE) until `completeDistances`.
   */
  readonly distances = new Uint8Array(AGENT_TABLE).fill(BLOCKED);
  /** The agent's distance from its start to its goal. */
  readonly shortest = new Int32Array(MAX_AGENTS);
  /** SIC: the sum of individual shortest distances. */
  sumOfShortest = 0;
  /** Whether moves exclude WAIT before the final arrival. */
  waitForbidden = false;

  /** Of cells of the board UNREACHABLE or BLOCKED; OFF_GRID is BLOCKED, the rest is never asked for. */
  private readonly free = new Uint8Array(STRIDE).fill(BLOCKED);
  // The breadth-first search of each agent stops at its start and goes on when more is asked for.
  private readonly queue = new Uint8Array(AGENT_TABLE);
  private readonly queueNext = new Int32Array(MAX_AGENTS);
  private readonly queueEnd = new Int32Array(MAX_AGENTS);
  private readonly options = new Int32Array(AGENT_TABLE * OPTIONS);
  private readonly optionEnds = new Int32Array(AGENT_TABLE);
  private readonly optionStamps = new Int32Array(AGENT_TABLE);
  private stamp = 0;

  /**
   * Takes a board in. False when some agent cannot reach its goal even alone.
   * @param holes 1 where there is a hole, by cell; `starts` and `goals`: cells of the first `count` agents.
   */
  load(size: number, holes: ArrayLike<number>, starts: ArrayLike<number>, goals: ArrayLike<number>, count: number): boolean {
    const cells = size * size;
    this.size = size;
    this.cells = cells;
    this.count = count;
    this.neighbours = tables[size]!;
    this.waitForbidden = false;
    this.stamp++;
    const { free } = this;
    for (let cell = 0; cell < cells; cell++) free[cell] = holes[cell] === 0 ? UNREACHABLE : BLOCKED;
    this.sumOfShortest = 0;
    for (let agent = 0; agent < count; agent++) {
      const start = starts[agent]!;
      this.starts[agent] = start;
      this.goals[agent] = goals[agent]!;
      this.beginDistances(agent, goals[agent]!);
      this.findDistances(agent, start);
      const d = this.distances[agent * STRIDE + start]!;
      if (d >= UNREACHABLE) return false;
      this.shortest[agent] = d;
      this.sumOfShortest += d;
    }
    return true;
  }

  /** Whether the cell is neither a hole nor outside. */
  isFree(cell: number): boolean {
    return this.free[cell] === UNREACHABLE;
  }

  /** From now on moves before the final arrival may, or may not, be waits. */
  forbidWaits(forbidden: boolean): void {
    if (this.waitForbidden === forbidden) return;
    this.waitForbidden = forbidden;
    this.stamp++;
  }

  /** Completes the distances, which reach no farther than the agents' starts at first. */
  completeDistances(): void {
    for (let agent = 0; agent < this.count; agent++) this.findDistances(agent, OFF_GRID);
  }

  private beginDistances(agent: number, goal: number): void {
    const { distances, free, cells } = this;
    const base = agent * STRIDE;
    // A loop: copying so few bytes costs less than a call of the engine's.
    for (let cell = 0; cell < cells; cell++) distances[base + cell] = free[cell]!;
    distances[base + goal] = 0;
    this.queue[base] = goal;
    this.queueNext[agent] = base;
    this.queueEnd[agent] = base + 1;
  }

  /** Goes on until the cell `last` has been looked at, or to the end. */
  private findDistances(agent: number, last: number): void {
    const { distances, queue, neighbours } = this;
    const base = agent * STRIDE;
    let next = this.queueNext[agent]!;
    let end = this.queueEnd[agent]!;
    if (distances[base + last]! >= UNREACHABLE) {
      while (next < end) {
        const cell = queue[next++]!;
        const d = distances[base + cell]! + 1;
        const around = cell * 4;
        for (let direction = around; direction < around + 4; direction++) {
          const beside = neighbours[direction]!;
          if (distances[base + beside] !== UNREACHABLE) continue;
          distances[base + beside] = d;
          queue[end++] = beside;
        }
        if (distances[base + last] !== UNREACHABLE && last !== OFF_GRID) break;
      }
    }
    this.queueNext[agent] = next;
    this.queueEnd[agent] = end;
  }

  /** Least cost still to pay from a code. On the goal and not committed: leave and come back. */
  costToGo(agent: number, code: number): number {
    if (code === DONE) return 0;
    const d = this.distances[agent * STRIDE + code]!;
    return d === 0 ? 2 : d;
  }

  /** The cell an agent with this code stands on. */
  cellOf(agent: number, code: number): number {
    return code === DONE ? this.goals[agent]! : code;
  }

  /**
   * The first of the moves of an agent from a code, as an index for `option`; they are sorted by what they add (0, 1 or 2) to the agent's
   * least cost, `optionEnd(agent, code, added)` is where those that add at most that much end.
   */
  firstOption(agent: number, code: number): number {
    const key = agent * STRIDE + code;
    if (this.optionStamps[key] !== this.stamp) this.listOptions(agent, code, key);
    return key * OPTIONS;
  }

  optionEnd(agent: number, code: number, added: number): number {
    const key = agent * STRIDE + code;
    return key * OPTIONS + ((this.optionEnds[key]! >> (4 * Math.min(added, 2))) & 15);
  }

  /** code·512 + cell·4 + added: the code after the move, the cell it leads to, and what it adds. */
  option(index: number): number {
    return this.options[index]!;
  }

  private listOptions(agent: number, code: number, key: number): void {
    const { options, distances, neighbours } = this;
    const first = key * OPTIONS;
    const goal = this.goals[agent]!;
    this.optionStamps[key] = this.stamp;
    if (code === DONE) {
      options[first] = (DONE << 9) | (goal << 2);
      this.optionEnds[key] = 0x111;
      return;
    }
    const base = agent * STRIDE;
    const d = distances[base + code]!;
    let end = first;
    let ends = 0;
    for (let added = 0; added <= 2; added++) {
      if (added === 1 && !this.waitForbidden) options[end++] = (code << 9) | (code << 2) | 1;
      for (let direction = code * 4; direction < code * 4 + 4; direction++) {
        const beside = neighbours[direction]!;
        const after = distances[base + beside]!;
        if (after >= UNREACHABLE) continue;
        if (after === 0) {
          if (added === 0) options[end++] = (DONE << 9) | (beside << 2);
          else if (added === 2) options[end++] = (beside << 9) | (beside << 2) | 2;
        } else if (added === (d === 0 || after < d ? 0 : 2)) options[end++] = (beside << 9) | (beside << 2) | added;
      }
      ends |= (end - first) << (4 * added);
    }
    this.optionEnds[key] = ends;
  }
}
