/**
 * Prioritised planning: agents are planned one after another, each by the cheapest path that keeps clear of those before it (Erdmann and
 * Lozano-Pérez 1987; Silver, "Cooperative pathfinding", AIIDE 2005). Fast, neither complete nor optimal: its plans are upper bounds, and
 * one whose cost meets a lower bound is certified by that.
 *
 * One agent's search is A* over (cell, time) with last-in-first-out buckets. Beyond the time of the last planned move nothing changes any
 * more, so later times are one time.
 */
import { MAX_AGENTS } from "../instance.js";
import { type Grid, STRIDE, UNREACHABLE } from "./grid.js";
import { BudgetExhausted, type NodeBudget } from "./node-budget.js";
import type { Path } from "./plan.js";

/** No agent is planned past this time. */
export const HORIZON = 192;
const SPACE_TIME = HORIZON * STRIDE;

export class PrioritisedPlanner {
  /** The agents with a path, as bits. */
  planned = 0;
  /** paths[agent·HORIZON + t], up to arrivals[agent]. */
  readonly paths = new Uint8Array(MAX_AGENTS * HORIZON);
  readonly arrivals = new Int32Array(MAX_AGENTS);

  // What the planned agents occupy; all stamped with the plan's number.
  private stamp = 0;
  private readonly occupant = new Int32Array(SPACE_TIME);
  private readonly lastUse = new Int32Array(STRIDE);
  private readonly parkedFrom = new Int32Array(STRIDE);
  private quietFrom = 0;

  // The search of one agent.
  private visit = 0;
  private readonly visited = new Int32Array(SPACE_TIME);
  private readonly nodeCell = new Uint8Array(SPACE_TIME);
  private readonly nodeTime = new Int32Array(SPACE_TIME);
  private readonly nodeParent = new Int32Array(SPACE_TIME);
  private readonly nodeLink = new Int32Array(SPACE_TIME);
  private readonly heads = new Int32Array(HORIZON);

  constructor(
    private readonly grid: Grid,
    private readonly budget: NodeBudget,
  ) {}

  /** Starts an empty plan. */
  clear(): void {
    if (++this.stamp >= 1 << 20) {
      this.stamp = 1;
      this.occupant.fill(0);
      this.lastUse.fill(0);
      this.parkedFrom.fill(0);
    }
    this.planned = 0;
    this.quietFrom = 0;
  }

  /** Adds an agent with a path that is known to keep clear of the planned ones. @throws {BudgetExhausted} for a path past the horizon */
  place(agent: number, path: Path): void {
    if (path.length > HORIZON) throw new BudgetExhausted();
    const at = agent * HORIZON;
    for (let t = 0; t < path.length; t++) this.paths[at + t] = path[t]!;
    this.occupy(agent, path.length - 1);
  }

  /**
   * Plans an agent around those already planned. The time of its final arrival, or −1 when it cannot arrive by `deadline`.
   * @throws {BudgetExhausted}
   */
  plan(agent: number, deadline: number): number {
    const { grid, heads, visited, nodeCell, nodeTime, nodeLink, nodeParent, occupant, stamp } = this;
    const table = agent * STRIDE;
    const start = grid.starts[agent]!;
    const goal = grid.goals[agent]!;
    const latest = Math.min(deadline, HORIZON - 1);
    const freeFrom = this.lastUse[goal]! >> 10 === stamp ? (this.lastUse[goal]! & 1023) + 1 : 0;
    const d0 = grid.shortest[agent]!;
    if (d0 > latest || freeFrom > latest) return -1;
    const mostSlack = latest - d0;
    if (++this.visit === 1 << 22) {
      this.visit = 1;
      visited.fill(0);
    }
    const visit = this.visit;
    const quiet = this.quietFrom;
    let nodes = 1;
    nodeCell[0] = start;
    nodeTime[0] = 0;
    nodeParent[0] = -1;
    nodeLink[0] = -1;
    visited[start] = visit << 8;
    heads[0] = 0;
    let lastBucket = 0;
    for (let slack = 0; slack <= lastBucket; slack++) {
      for (let node = heads[slack]!; node >= 0; node = heads[slack]!) {
        heads[slack] = nodeLink[node]!;
        const cell = nodeCell[node]!;
        const time = nodeTime[node]!;
        if (cell === goal && time >= freeFrom) {
          this.budget.spend(nodes);
          this.keepPath(agent, node, time);
          return time;
        }
        const next = time + 1;
        const slice = Math.min(next, quiet) * STRIDE;
        const before = Math.min(time, quiet) * STRIDE;
        const d = grid.distances[table + cell]!;
        // Farther first and nearer last, so that the nearer come off the bucket first.
        for (let direction = grid.waitForbidden ? 3 : 4; direction >= 0; direction--) {
          const beside = direction === 4 ? cell : grid.neighbours[cell * 4 + direction]!;
          const after = grid.distances[table + beside]!;
          if (after >= UNREACHABLE) continue;
          const used = slack + 1 + after - d;
          if (used > mostSlack) continue;
          // In the quiet time one entry stands for many times, so a cheaper visit may come later.
          const known = visited[slice + beside]!;
          if (known >> 8 === visit && (known & 255) <= used) continue;
          if (occupant[slice + beside]! >> 3 === stamp) continue;
          const parked = this.parkedFrom[beside]!;
          if (parked >> 10 === stamp && (parked & 1023) <= next) continue;
          if (direction < 4) {
            const other = occupant[before + beside]!;
            if (other >> 3 === stamp && occupant[slice + cell] === other) continue;
          }
          visited[slice + beside] = (visit << 8) | used;
          while (lastBucket < used) heads[++lastBucket] = -1;
          nodeCell[nodes] = beside;
          nodeTime[nodes] = next;
          nodeParent[nodes] = node;
          nodeLink[nodes] = heads[used]!;
          heads[used] = nodes++;
        }
      }
    }
    this.budget.spend(nodes);
    return -1;
  }

  /**
   * As `plan` with the agent's shortest distance for a deadline, and the same path where there is one: the search only ever comes closer to
   * the goal, so a cell has one time. Needs no distances beyond the start's.
   * @throws {BudgetExhausted}
   */
  planOnTime(agent: number): boolean {
    const { grid, visited, nodeCell, nodeParent, nodeLink, occupant, parkedFrom, stamp, paths } = this;
    const { distances, neighbours } = grid;
    const table = agent * STRIDE;
    const start = grid.starts[agent]!;
    const goal = grid.goals[agent]!;
    const d0 = grid.shortest[agent]!;
    const freeFrom = this.lastUse[goal]! >> 10 === stamp ? (this.lastUse[goal]! & 1023) + 1 : 0;
    if (freeFrom > d0) return false;
    if (++this.visit === 1 << 22) {
      this.visit = 1;
      visited.fill(0);
    }
    const mark = this.visit << 8;
    const quiet = this.quietFrom;
    let nodes = 1;
    nodeCell[0] = start;
    nodeParent[0] = -1;
    nodeLink[0] = -1;
    for (let node = 0; node >= 0; ) {
      const cell = nodeCell[node]!;
      const d = distances[table + cell]!;
      if (d === 0) {
        this.budget.spend(nodes);
        const at = agent * HORIZON;
        for (let n = node, t = d0; n >= 0; n = nodeParent[n]!, t--) paths[at + t] = nodeCell[n]!;
        this.occupy(agent, d0);
        return true;
      }
      let open = nodeLink[node]!;
      const time = d0 - d;
      const next = time + 1;
      const slice = Math.min(next, quiet) * STRIDE;
      const before = Math.min(time, quiet) * STRIDE;
      for (let direction = cell * 4 + 3; direction >= cell * 4; direction--) {
        const beside = neighbours[direction]!;
        if (distances[table + beside] !== d - 1) continue;
        if (visited[beside] === mark) continue;
        if (occupant[slice + beside]! >> 3 === stamp) continue;
        const parked = parkedFrom[beside]!;
        if (parked >> 10 === stamp && (parked & 1023) <= next) continue;
        const other = occupant[before + beside]!;
        if (other >> 3 === stamp && occupant[slice + cell] === other) continue;
        visited[beside] = mark;
        nodeCell[nodes] = beside;
        nodeParent[nodes] = node;
        nodeLink[nodes] = open;
        open = nodes++;
      }
      node = open;
    }
    this.budget.spend(nodes);
    return false;
  }

  private keepPath(agent: number, node: number, time: number): void {
    const at = agent * HORIZON;
    for (let n = node, t = time; n >= 0; n = this.nodeParent[n]!, t--) this.paths[at + t] = this.nodeCell[n]!;
    this.occupy(agent, time);
  }

  private occupy(agent: number, arrival: number): void {
    const { paths, occupant, lastUse, stamp } = this;
    const at = agent * HORIZON;
    for (let t = 0; t <= arrival; t++) {
      const cell = paths[at + t]!;
      occupant[t * STRIDE + cell] = (stamp << 3) | agent;
      const last = lastUse[cell]!;
      if (last >> 10 !== stamp || (last & 1023) < t) lastUse[cell] = (stamp << 10) | t;
    }
    const goal = paths[at + arrival]!;
    lastUse[goal] = (stamp << 10) | 1023;
    this.parkedFrom[goal] = (stamp << 10) | arrival;
    this.arrivals[agent] = arrival;
    this.planned |= 1 << agent;
    if (arrival + 1 > this.quietFrom) this.quietFrom = arrival + 1;
  }
}
