/**
 * Partial-expansion A* over the joint positions of a set of agents, for the least sum of costs (Goldenberg et al., "Enhanced Partial
 * Expansion A*", JAIR 2014): a node is expanded in slices, each with exactly one amount added to the sum of individual costs, so children
 * that cost too much are never made. All costs here are *extra*: above the agents' individual shortest costs.
 *
 * Deviations: the heuristic is the smallest cover of the pairs' exact increases, looked up lazily; a child whose prefix of agents already
 * exceeds the bound is never completed. Ties are broken last in, first out. Nothing is allocated but to grow.
 */
import { MAX_AGENTS } from "../instance.js";
import { smallestCover } from "./cover.js";
import { DONE, type Grid } from "./grid.js";
import { JointNodes } from "./joint-nodes.js";
import type { NodeBudget } from "./node-budget.js";
import type { PairIncreases } from "./pair-increases.js";
import type { Path } from "./plan.js";

/** Pair increases are looked up to this value; beyond it they only slow the search down. */
const LOOK_UP = 12;

export class JointSearch {
  private readonly nodes = new JointNodes();
  private readonly agents = new Int32Array(MAX_AGENTS);
  private size = 0;
  private bound = 0;
  private goalNode = -1;
  private priority = 0;

  // The node under expansion and the child under construction.
  private node = 0;
  private nodeExtra = 0;
  private leastAdded = 0;
  private mostAdded = 0;
  private readonly code = new Int32Array(MAX_AGENTS);
  private readonly cell = new Int32Array(MAX_AGENTS);
  private readonly restMost = new Int32Array(MAX_AGENTS + 1);
  private readonly childCode = new Int32Array(MAX_AGENTS);
  private readonly childCell = new Int32Array(MAX_AGENTS);
  private readonly delta = new Int32Array(MAX_AGENTS * MAX_AGENTS);

  constructor(
    private readonly grid: Grid,
    private readonly pairs: PairIncreases,
    private readonly budget: NodeBudget,
  ) {}

  /**
   * The least extra cost of these agents together, if it is at most `bound`; otherwise −1.
   * @throws {BudgetExhausted}
   */
  run(agents: ArrayLike<number>, size: number, bound: number): number {
    this.size = size;
    this.bound = bound;
    for (let a = 0; a < size; a++) this.agents[a] = agents[a]!;
    this.nodes.reset();
    this.goalNode = -1;
    this.leastAdded = 0;
    this.mostAdded = bound;
    this.node = -1;
    this.nodeExtra = 0;
    this.priority = 0;
    this.makeRoots(0, 0);
    if (this.goalNode >= 0 && this.bound === 0) return 0;
    for (let priority = 0; priority <= this.nodes.lastBucket && priority <= this.bound; priority++) {
      this.priority = priority;
      for (let node = this.nodes.pop(priority); node >= 0; node = this.nodes.pop(priority)) {
        this.expand(node);
        if (this.goalNode >= 0 && this.bound <= priority) return this.bound;
      }
    }
    return -1;
  }

  /** The path of the a-th agent of the set in the solution found last: up to its final arrival. */
  path(a: number): Path {
    const agent = this.agents[a]!;
    const path: Path = [];
    let isDone = true;
    for (let node = this.goalNode; node >= 0; node = this.nodes.parent[node]!) {
      const code = this.nodes.code(node, a);
      if (code !== DONE && isDone) {
        isDone = false;
        path.push(this.grid.goals[agent]!);
      }
      if (code !== DONE) path.push(code);
    }
    return isDone ? [this.grid.goals[agent]!] : path.reverse();
  }

  /** An agent that starts on its goal may have arrived already, or may still have to leave and come back (2 extra). */
  private makeRoots(a: number, added: number): void {
    if (added > this.bound) return;
    if (a === this.size) {
      this.finishChild(added);
      return;
    }
    const agent = this.agents[a]!;
    const start = this.grid.starts[agent]!;
    this.childCell[a] = start;
    if (start === this.grid.goals[agent]) {
      this.childCode[a] = DONE;
      if (this.lookUpPairs(a, added)) this.makeRoots(a + 1, added);
      added += 2;
    }
    this.childCode[a] = start;
    if (this.lookUpPairs(a, added)) this.makeRoots(a + 1, added);
  }

  private expand(node: number): void {
    const { grid, size, agents, code, cell, restMost, nodes, priority } = this;
    const extra = nodes.cost[node]!;
    if (nodes.find(nodes.low[node]!, nodes.high[node]!) !== node) return; // reached more cheaply since
    for (let a = 0; a < size; a++) {
      code[a] = this.nodes.code(node, a);
      cell[a] = grid.cellOf(agents[a]!, code[a]!);
    }
    restMost[size] = 0;
    for (let a = size - 1; a >= 0; a--) restMost[a] = restMost[a + 1]! + (code[a] === DONE ? 0 : 2);
    this.node = node;
    this.nodeExtra = extra;
    this.leastAdded = nodes.slice[node]!;
    this.mostAdded = priority - extra;
    this.extend(0, 0);
    const next = priority - extra + 1;
    if (next <= restMost[0]! && priority + 1 <= this.bound) {
      nodes.slice[node] = next;
      nodes.push(node, priority + 1);
    }
  }

  /** Chooses the moves of agent a and those after it; those before have added `added`. */
  private extend(a: number, added: number): void {
    if (added + this.restMost[a]! < this.leastAdded) return;
    if (a === this.size) {
      this.finishChild(added);
      return;
    }
    const { grid, cell, childCell, childCode } = this;
    const agent = this.agents[a]!;
    const code = this.code[a]!;
    const here = cell[a]!;
    let index = grid.firstOption(agent, code);
    const end = grid.optionEnd(agent, code, this.mostAdded - added);
    options: for (; index < end; index++) {
      const move = grid.option(index);
      const next = (move >> 2) & 127;
      for (let b = 0; b < a; b++) {
        if (childCell[b] === next || (childCell[b] === here && cell[b] === next)) continue options;
      }
      childCode[a] = move >> 9;
      childCell[a] = next;
      const total = added + (move & 3);
      if (this.lookUpPairs(a, total)) this.extend(a + 1, total);
    }
  }

  /** Fills δ of agent a with those before it; false when one alone exceeds what is left. */
  private lookUpPairs(a: number, added: number): boolean {
    const left = this.bound - this.nodeExtra - added;
    if (left < 0) return false;
    const cap = Math.min(left, LOOK_UP);
    for (let b = 0; b < a; b++) {
      const d = this.pairs.increase(this.agents[b]!, this.agents[a]!, this.childCode[b]!, this.childCode[a]!, cap);
      if (d > left) return false;
      this.delta[b * MAX_AGENTS + a] = d;
    }
    return true;
  }

  private finishChild(added: number): void {
    const extra = this.nodeExtra + added;
    const priority = extra + (this.size > 1 ? smallestCover(this.delta, this.size) : 0);
    if (priority > this.bound) return;
    const { childCode, size } = this;
    let low = 0;
    let high = 0;
    let isGoal = true;
    for (let a = 0; a < size; a++) {
      const code = childCode[a]!;
      if (code !== DONE) isGoal = false;
      if (a < 4) low |= code << (7 * a);
      else high |= code << (7 * (a - 4));
    }
    const known = this.nodes.find(low, high);
    if (known >= 0 && this.nodes.cost[known]! <= extra) return;
    this.budget.spend(1);
    const node = this.nodes.add(low, high, extra, this.node);
    if (isGoal) {
      this.goalNode = node;
      this.bound = extra;
    }
    // The heuristic is consistent; the maximum guards against a bucket that has been emptied.
    this.nodes.push(node, Math.max(priority, this.priority));
  }
}
