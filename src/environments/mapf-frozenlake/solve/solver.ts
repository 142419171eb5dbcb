/**
 * The certified optimal solver. For sum of costs: prioritised plans give an upper bound, the smallest cover of the exact pair increases a
 * lower one; where they differ, joint searches on a growing set of agents, or over the exact increases of sets, close the gap.
 * What it returns is proven; where the node budget ends first it says so instead. A Solver reuses its memory: one a thread.
 */
import { MAX_AGENTS, type Optimum } from "../instance.js";
import { smallestCover } from "./cover.js";
import { DONE, Grid } from "./grid.js";
import { JointSearch } from "./joint-search.js";
import { KeptPlan } from "./kept-plan.js";
import { MakespanSearch } from "./makespan-search.js";
import { BudgetExhausted, NodeBudget } from "./node-budget.js";
import { PairIncreases } from "./pair-increases.js";
import { PairMakespans } from "./pair-makespans.js";
import { type Path, withoutTrailingWaits } from "./plan.js";
import { PrioritisedPlanner } from "./prioritised.js";
import { Reachability } from "./reachability.js";
import { MOST_INCREASE, TupleIncreases } from "./tuple-increases.js";

/** Search nodes a board may cost unless the caller says otherwise. */
export const DEFAULT_BUDGET = 20_000_000;

const ORDERS = 12;
const ORDERS_OF_REST = 4;
/** More than any plan costs. */
const UNBOUNDED = 1 << 20;
const PAIR_CAP = 12;
/** Nodes for a plan of a board that may have none: most that have one take fewer. */
const UNDECIDED_NODES = 1_000_000;

export type SolveStatus = "solved" | "unsolvable" | "budget-exhausted";

export interface PackedOptions {
  /** Search nodes. */
  budget?: number;
  /** Default true; when false, `optimum.makespan` is −1. */
  needMakespan?: boolean;
  /** Default true; when false, `wait_required` is false. */
  needWait?: boolean;
  /** Drop the board with the status `above-shortest` as soon as SOC > SIC is certain. */
  stopAboveSic?: boolean;
}

export interface Certificate {
  status: SolveStatus | "above-shortest";
  /** Only meaningful for `solved`, but for `sum_of_shortest`, which is −1 when some agent cannot reach its goal alone. */
  optimum: Optimum;
  conflict: boolean;
  wait_required: boolean;
}

/** By number of agents: all sets of three agents and more, smaller sets first. */
const SETS: readonly (readonly (readonly number[])[])[] = Array.from({ length: MAX_AGENTS + 1 }, (_, count) =>
  Array.from({ length: 1 << count }, (_, set) => Array.from({ length: count }, (_, agent) => agent).filter((agent) => (set >> agent) & 1))
    .filter((set) => set.length >= 3)
    .sort((a, b) => a.length - b.length),
);

class AboveShortest extends Error {}

export class Solver {
  private readonly budget = new NodeBudget();
  private readonly grid = new Grid();
  private readonly planner = new PrioritisedPlanner(this.grid, this.budget);
  private readonly pairs = new PairIncreases(this.grid, this.budget);
  private readonly joint = new JointSearch(this.grid, this.pairs, this.budget);
  private readonly pairMakespans = new PairMakespans(this.grid, this.budget);
  private readonly together = new MakespanSearch(this.grid, this.pairMakespans, this.budget);
  private readonly reachability = new Reachability(this.grid, this.budget);
  private readonly tuples = new TupleIncreases(this.grid, this.pairs, this.budget);
  private readonly sumPlan = new KeptPlan();
  private readonly spanPlan = new KeptPlan();

  private readonly order = new Int32Array(MAX_AGENTS);
  private readonly delta = new Int32Array(MAX_AGENTS * MAX_AGENTS);
  /** Bit j of member i: some plan delays neither of the two, so their increase is 0. */
  private readonly undelayed = new Int32Array(MAX_AGENTS);
  private stopAboveSic = false;
  /** Up to three agents are closed by growing sets: their plans are part of what the shipped base policy was trained on. */
  private growsSets = false;

  /** Nodes spent on the last board. */
  get nodes(): number {
    return this.budget.spent;
  }

  /**
   * Certifies a packed board without building plans.
   * @param holes 1 where there is a hole, by cell row·size + column; `starts` and `goals`: cells of the first `count` agents.
   */
  certifyPacked(
    size: number,
    holes: ArrayLike<number>,
    starts: ArrayLike<number>,
    goals: ArrayLike<number>,
    count: number,
    options: PackedOptions = {},
  ): Certificate {
    const { needMakespan = true, needWait = true, stopAboveSic = false } = options;
    const optimum: Optimum = { sum_of_costs: -1, makespan: -1, sum_of_shortest: -1 };
    const certificate: Certificate = { status: "unsolvable", optimum, conflict: false, wait_required: false };
    this.budget.start(options.budget ?? DEFAULT_BUDGET);
    this.stopAboveSic = stopAboveSic;
    this.growsSets = count < 4;
    if (!this.grid.load(size, holes, starts, goals, count)) return certificate;
    optimum.sum_of_shortest = this.grid.sumOfShortest;
    try {
      const extra = this.leastExtra();
      if (extra < 0) return certificate;
      optimum.sum_of_costs = this.grid.sumOfShortest + extra;
      certificate.conflict = extra > 0;
      if (needMakespan) optimum.makespan = this.leastMakespan();
      if (needWait) certificate.wait_required = this.mustWait(extra);
      certificate.status = "solved";
    } catch (error) {
      if (error instanceof BudgetExhausted) certificate.status = "budget-exhausted";
      else if (error instanceof AboveShortest) certificate.status = "above-shortest";
      else throw error;
    }
    return certificate;
  }

  /** The path of an agent in the plan of least sum of costs found last, up to its final arrival. */
  sumOfCostsPath(agent: number): Path {
    return this.sumPlan.path(agent);
  }

  /** The path of an agent in the plan of least makespan found last, up to its final arrival. */
  makespanPath(agent: number): Path {
    return withoutTrailingWaits(this.spanPlan.path(agent));
  }

  /** The least sum of costs above SIC; −1: unsolvable. Leaves its plan in `sumPlan`. */
  private leastExtra(): number {
    this.orderByDistance();
    if (this.everyoneOnTime()) return 0;
    this.grid.completeDistances();
    if (this.reachability.isCheap && this.reachability.isSolvable() === false) return -1;
    this.pairs.reset();
    this.tuples.reset();
    const extra = this.closeGap(0, this.stopAboveSic ? 1 : UNBOUNDED);
    if (this.stopAboveSic && extra > 0) throw new AboveShortest();
    return extra === UNBOUNDED ? -1 : extra;
  }

  private mustWait(extra: number): boolean {
    if (extra === 0) return false;
    if (extra % 2 === 1) return true;
    if (!this.sumPlan.hasWait()) return false;
    this.grid.forbidWaits(true);
    this.pairs.reset();
    this.tuples.reset();
    return this.closeGap(extra, extra + 1) > extra;
  }

  /**
   * The least extra cost under the grid's present moves, given that it is at least `lower`; `upper` when it is not below `upper`.
   * Leaves a plan below `upper` in `sumPlan` (unless waits are forbidden).
   */
  private closeGap(lower: number, upper: number): number {
    this.undelayed.fill(0);
    this.orderByDistance();
    upper = this.prioritise(0, 0, lower, upper, ORDERS);
    if (upper <= lower) return upper;
    let isSolvable: boolean | undefined = true;
    if (upper === UNBOUNDED && !this.reachability.isCheap) isSolvable = this.reachability.isSolvable();
    if (isSolvable === false) return upper;
    const fromPairs = this.boundFromPairs(upper);
    if (fromPairs > lower) lower = fromPairs;
    if (upper <= lower) return upper;
    if (this.growsSets) return this.growSet(lower, upper);
    if (isSolvable) return this.deepen(lower, upper);
    // Growing sets decide solvability as well; deepening would not end where there is no plan, and is far faster where there is one.
    return this.budget.attempt(UNDECIDED_NODES, () => this.deepen(lower, upper)) ?? this.growSet(lower, upper);
  }

  /**
   * Asks for a plan that is cheaper than the best one, or, while there is none, for one within the lower bound and growing steps above it.
   * Sets of three agents are asked first, then larger ones: where one of them does not fit, all agents do not.
   */
  private deepen(lower: number, upper: number): number {
    const { grid, tuples, planner } = this;
    const sets = SETS[grid.count]!;
    const all = sets[sets.length - 1]!;
    let step = 0;
    while (lower < upper) {
      const most = upper - 1 <= MOST_INCREASE ? upper - 1 : lower + step;
      step = 2 * step + 1;
      if (most > MOST_INCREASE) return this.growSet(lower, upper);
      let fits = true;
      for (const set of sets) {
        fits = tuples.fitsFromStart(set, most, set.length === grid.count);
        if (!fits) break;
      }
      if (!fits) {
        lower = most + 1;
        continue;
      }
      planner.clear();
      let cost = 0;
      for (const agent of all) {
        const path = tuples.path(agent, agent);
        cost += path.length - 1;
        planner.place(agent, path);
      }
      upper = cost - grid.sumOfShortest;
      if (!grid.waitForbidden) this.sumPlan.copy(planner, grid.count);
    }
    return upper;
  }

  /** Whether the first order of agents already gives a plan without delays; leaves it in `sumPlan`. */
  private everyoneOnTime(): boolean {
    const { grid, order, planner } = this;
    planner.clear();
    for (let a = 0; a < grid.count; a++) if (!planner.planOnTime(order[a]!)) return false;
    this.sumPlan.copy(planner, grid.count);
    return true;
  }

  private orderByDistance(): void {
    const { grid, order } = this;
    for (let a = 0; a < grid.count; a++) {
      let at = a;
      for (; at > 0 && grid.shortest[order[at - 1]!]! < grid.shortest[a]!; at--) order[at] = order[at - 1]!;
      order[at] = a;
    }
  }

  /**
   * Plans the agents order[placed…] after those already in `order` before them, whose paths `placeSet` puts down and which cost
   * `placedExtra`. The first agent that is delayed or stuck goes to the front for the next attempt. The least extra cost, if below `upper`.
   */
  private prioritise(placed: number, placedExtra: number, lower: number, upper: number, attempts: number): number {
    const { grid, planner, order } = this;
    const { count } = grid;
    for (let attempt = 0; attempt < attempts; attempt++) {
      planner.clear();
      for (let a = 0; a < placed; a++) planner.place(order[a]!, this.joint.path(a));
      let extra = placedExtra;
      let blamed = -1;
      let onTime = 0;
      for (let a = placed; a < count; a++) {
        const agent = order[a]!;
        const d = grid.shortest[agent]!;
        const arrival = planner.plan(agent, d + upper - 1 - extra);
        if (arrival < 0) {
          blamed = a;
          extra = UNBOUNDED;
          break;
        }
        if (arrival === d) onTime |= 1 << agent;
        else if (blamed < 0) blamed = a;
        extra += arrival - d;
      }
      if (placed === 0)
        for (let agent = 0; agent < count; agent++) if ((onTime >> agent) & 1) this.undelayed[agent] = this.undelayed[agent]! | onTime;
      if (extra < upper) {
        upper = extra;
        if (!grid.waitForbidden) this.sumPlan.copy(planner, count);
        if (upper <= lower) return upper;
      }
      if (blamed <= placed) return upper;
      this.toFront(blamed, placed);
    }
    return upper;
  }

  private boundFromPairs(upper: number): number {
    const { grid, delta, undelayed } = this;
    const cap = Math.min(upper - 1, PAIR_CAP);
    for (let i = 0; i < grid.count; i++) {
      for (let j = i + 1; j < grid.count; j++) {
        const isZero = (undelayed[i]! >> j) & 1;
        delta[i * MAX_AGENTS + j] = isZero ? 0 : this.rootIncrease(i, j, cap);
      }
    }
    return smallestCover(delta, grid.count);
  }

  /** An agent that starts on its goal may have arrived already, or still has to leave and come back (2 extra). */
  private rootIncrease(i: number, j: number, cap: number): number {
    const { grid, pairs } = this;
    const a = grid.starts[i]!;
    const b = grid.starts[j]!;
    const codesOfI = a === grid.goals[i] ? 2 : 1;
    const codesOfJ = b === grid.goals[j] ? 2 : 1;
    let least = cap + 1;
    for (let u = 0; u < codesOfI; u++) {
      for (let v = 0; v < codesOfJ; v++) {
        const added = (codesOfI - 1 - u) * 2 + (codesOfJ - 1 - v) * 2;
        const codeA = codesOfI === 2 && u === 1 ? DONE : a;
        const codeB = codesOfJ === 2 && v === 1 ? DONE : b;
        if (added < least) least = Math.min(least, added + pairs.increase(i, j, codeA, codeB, least - 1 - added));
      }
    }
    return least;
  }

  /** Joint searches on a set of agents that grows by whoever the others' plans still delay; exact at the latest when all are in. */
  private growSet(lower: number, upper: number): number {
    const { grid, order, planner, joint } = this;
    const { count } = grid;
    let placed = this.mostIncreasedFirst();
    for (;;) {
      const extra = joint.run(order, placed, upper - 1);
      if (extra < 0) return upper;
      if (extra > lower) lower = extra;
      if (placed === count) {
        planner.clear();
        for (let a = 0; a < placed; a++) planner.place(order[a]!, joint.path(a));
        if (!grid.waitForbidden) this.sumPlan.copy(planner, count);
        return extra;
      }
      upper = this.prioritise(placed, extra, lower, upper, ORDERS_OF_REST);
      if (upper <= lower) return upper;
      placed++;
    }
  }

  /** Puts the pair of the largest increase in front. The number of agents to begin with. */
  private mostIncreasedFirst(): number {
    const { grid, order, delta } = this;
    let most = 0;
    let first = -1;
    let second = -1;
    for (let i = 0; i < grid.count; i++) {
      for (let j = i + 1; j < grid.count; j++) {
        const d = delta[i * MAX_AGENTS + j]!;
        if (d <= most) continue;
        most = d;
        first = i;
        second = j;
      }
    }
    if (most === 0) return 1;
    this.toFront(order.indexOf(second), 0);
    this.toFront(order.indexOf(first), 0);
    return 2;
  }

  private toFront(from: number, to: number): void {
    const { order } = this;
    const agent = order[from]!;
    for (let a = from; a > to; a--) order[a] = order[a - 1]!;
    order[to] = agent;
  }

  /**
   * The least makespan. The board has a plan in `sumPlan`, which bounds it from above. Joint searches on a growing set of agents each give
   * the set's least makespan, within which the others are planned around it; where even the set needs `upper`, the plan at hand is the best.
   */
  private leastMakespan(): number {
    const { grid, order, planner, sumPlan, spanPlan, together } = this;
    const { count } = grid;
    let lower = 0;
    for (let a = 0; a < count; a++) if (grid.shortest[a]! > lower) lower = grid.shortest[a]!;
    spanPlan.adopt(sumPlan);
    const upper = sumPlan.makespan();
    if (upper === lower) return lower;
    this.orderByDistance();
    this.pairMakespans.reset();
    together.asksPairs = !this.growsSets;
    for (let placed = 0; placed < count; ) {
      if (this.prioritiseBy(lower, placed)) {
        spanPlan.copy(planner, count);
        return lower;
      }
      placed++;
      const least = together.run(order, placed, upper - 1);
      if (least < 0) return upper;
      if (least > lower) lower = least;
    }
    planner.clear();
    for (let a = 0; a < count; a++) planner.place(order[a]!, withoutTrailingWaits(together.path(a)));
    spanPlan.copy(planner, count);
    return lower;
  }

  /** As `prioritise`, for plans in which everyone has arrived by `deadline`. */
  private prioritiseBy(deadline: number, placed: number): boolean {
    const { grid, planner, order, together } = this;
    for (let attempt = 0; attempt < (placed === 0 ? ORDERS : ORDERS_OF_REST); attempt++) {
      planner.clear();
      for (let a = 0; a < placed; a++) planner.place(order[a]!, withoutTrailingWaits(together.path(a)));
      let a = placed;
      while (a < grid.count && planner.plan(order[a]!, deadline) >= 0) a++;
      if (a === grid.count) return true;
      this.toFront(a, placed);
      if (a === placed) return false;
    }
    return false;
  }
}
