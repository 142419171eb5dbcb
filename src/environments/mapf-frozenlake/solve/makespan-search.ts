/**
 * A* over the joint positions of a set of agents, for the least makespan. Agents that are early wait on their goals for free and may step
 * aside again, so the state is the positions alone and the first time at which all stand on their goals is the makespan.
 *
 * The estimate of a position is the largest distance left; with `asksPairs` the largest makespan of two agents alone (pair-makespans.ts).
 *
 * Expansion is partial (see joint-search.ts): a child is made only when time plus its estimate is the priority at
 * hand. Ties are broken last in, first out. Within one estimate a state always has the same time, so the first visit is the best one.
 */
import { MAX_AGENTS } from "../instance.js";
import { type Grid, STRIDE } from "./grid.js";
import { JointNodes } from "./joint-nodes.js";
import type { NodeBudget } from "./node-budget.js";
import type { PairMakespans } from "./pair-makespans.js";
import type { Path } from "./plan.js";

export class MakespanSearch {
  private readonly nodes = new JointNodes();
  private readonly agents = new Int32Array(MAX_AGENTS);
  /** Pairs cost more than they save with few agents. */
  asksPairs = false;
  private size = 0;
  private goalNode = -1;
  /** The estimate at the root: the first bucket. */
  private least = 0;

  // The node under expansion and the child under construction.
  private node = 0;
  private time = 0;
  private priority = 0;
  /** The largest estimate a child may have. */
  private reach = 0;
  /** Whether children must use it up: the others were made when the node was expanded before. */
  private mustUseReach = false;
  private readonly cell = new Int32Array(MAX_AGENTS);
  private readonly childCell = new Int32Array(MAX_AGENTS);

  constructor(
    private readonly grid: Grid,
    private readonly pairs: PairMakespans,
    private readonly budget: NodeBudget,
  ) {}

  /**
   * The least makespan of these agents together, if it is at most `most`; otherwise −1.
   * @throws {BudgetExhausted}
   */
  run(agents: ArrayLike<number>, size: number, most: number): number {
    const { grid, nodes, childCell } = this;
    this.size = size;
    for (let a = 0; a < size; a++) this.agents[a] = agents[a]!;
    nodes.reset();
    this.goalNode = -1;
    this.node = -1;
    this.time = -1;
    this.priority = 0;
    for (let a = 0; a < size; a++) {
      childCell[a] = grid.starts[agents[a]!]!;
      if (grid.shortest[agents[a]!]! > this.priority) this.priority = grid.shortest[agents[a]!]!;
    }
    if (this.priority > most) return -1;
    this.least = this.priority;
    this.finishChild();
    for (let priority = this.least; priority <= nodes.lastBucket + this.least && priority <= most; priority++) {
      this.priority = priority;
      for (let node = nodes.pop(priority - this.least); node >= 0 && this.goalNode < 0; node = nodes.pop(priority - this.least)) {
        this.expand(node, most);
      }
      if (this.goalNode >= 0) return priority;
    }
    return -1;
  }

  /** The path of the a-th agent of the set in the solution found last; it may end with waits at the goal. */
  path(a: number): Path {
    const path: Path = [];
    for (let node = this.goalNode; node >= 0; node = this.nodes.parent[node]!) path.push(this.nodes.code(node, a));
    return path.reverse();
  }

  private expand(node: number, most: number): void {
    const { nodes, cell, size } = this;
    const time = nodes.cost[node]!;
    let largest = 0;
    for (let a = 0; a < size; a++) {
      cell[a] = nodes.code(node, a);
      const d = this.grid.distances[this.agents[a]! * STRIDE + cell[a]!]!;
      if (d > largest) largest = d;
      if (this.asksPairs) largest = this.largestWithPairs(cell, a, cell[a]!, largest, this.priority - time);
    }
    this.node = node;
    this.time = time;
    this.reach = this.priority - time - 1;
    this.mustUseReach = nodes.slice[node] === 1;
    this.extend(0, false);
    // The estimate grows by at most one a step, since every step can be taken back.
    if (this.reach <= largest && this.priority < most) {
      nodes.slice[node] = 1;
      nodes.push(node, this.priority + 1 - this.least);
    }
  }

  private extend(a: number, hasUsedReach: boolean): void {
    if (this.goalNode >= 0) return;
    if (a === this.size) {
      if (!this.mustUseReach || hasUsedReach) this.finishChild();
      return;
    }
    const { grid, cell, childCell, reach } = this;
    const here = cell[a]!;
    const table = this.agents[a]! * STRIDE;
    moves: for (let direction = 0; direction < 5; direction++) {
      const next = direction === 4 ? here : grid.neighbours[here * 4 + direction]!;
      const d = grid.distances[table + next]!;
      if (d > reach) continue;
      for (let b = 0; b < a; b++) {
        if (childCell[b] === next || (childCell[b] === here && cell[b] === next)) continue moves;
      }
      const estimate = this.asksPairs ? this.largestWithPairs(childCell, a, next, d, reach) : d;
      if (estimate > reach) continue;
      childCell[a] = next;
      this.extend(a + 1, hasUsedReach || estimate === reach);
    }
  }

  /** The largest of `largest` and the makespans, up to `cap` + 1, of agent a at `cell` with each of those before it at `cells`. */
  private largestWithPairs(cells: Int32Array, a: number, cell: number, largest: number, cap: number): number {
    for (let b = 0; b < a && largest <= cap; b++) {
      const makespan = this.pairs.makespan(this.agents[b]!, this.agents[a]!, cells[b]!, cell, cap);
      if (makespan > largest) largest = makespan;
    }
    return largest;
  }

  private finishChild(): void {
    const { childCell, size, nodes, grid } = this;
    let low = 0;
    let high = 0;
    let isGoal = true;
    for (let a = 0; a < size; a++) {
      const cell = childCell[a]!;
      if (cell !== grid.goals[this.agents[a]!]) isGoal = false;
      if (a < 4) low |= cell << (7 * a);
      else high |= cell << (7 * (a - 4));
    }
    if (nodes.find(low, high) >= 0) return;
    this.budget.spend(1);
    const node = nodes.add(low, high, this.time + 1, this.node);
    if (isGoal) this.goalNode = node;
    nodes.push(node, this.priority - this.least);
  }
}
