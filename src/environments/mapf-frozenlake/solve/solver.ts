/** Certified optima of packed boards. A Solver reuses its memory: one a thread. What it does is in assembly/solver.ts. */
import { MAX_AGENTS, MAX_SIZE, type Optimum } from "../instance.js";
import { BudgetExhausted } from "./budget-exhausted.js";
import { type Path, withoutTrailingWaits } from "./plan.js";
import { Searches } from "./searches.js";

/** Search nodes a board may cost unless the caller says otherwise. */
export const DEFAULT_BUDGET = 20_000_000;

export type SolveStatus = "solved" | "unsolvable" | "budget-exhausted";

export interface PackedOptions {
  /** Search nodes; what is above 2·10⁹ counts as that. */
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

/** A small board that is hard. */
const TRIAL = { size: 3, holes: [0, 0, 0, 1, 0, 0, 0, 0, 0], starts: [6, 8, 2, 0, 4], goals: [1, 7, 5, 4, 8] };

export class Solver {
  private searches = new Searches();

  constructor() {
    // Memory that is touched for the first time costs more than a small board does.
    const { size, holes, starts, goals } = TRIAL;
    this.certifyPacked(size, holes, starts, goals, starts.length);
  }

  /** Nodes spent on the last board. */
  get nodes(): number {
    return this.searches.nodes;
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
    // The searches' memory has room for no more, and nothing else would notice.
    if (size > MAX_SIZE || count > MAX_AGENTS) {
      throw new RangeError(
        `a board of size ${size} with ${count} agents; the solver takes sizes up to ${MAX_SIZE} and up to ${MAX_AGENTS} agents`,
      );
    }
    const { needMakespan = true, needWait = true, stopAboveSic = false, budget = DEFAULT_BUDGET } = options;
    const { searches } = this;
    let status: Certificate["status"];
    try {
      status = searches.certify(size, holes, starts, goals, count, budget, needMakespan, needWait, stopAboveSic);
    } catch (error) {
      if (!(error instanceof BudgetExhausted)) {
        // Out of memory, say: nothing is left to rely on.
        this.searches = new Searches();
        throw error;
      }
      status = "budget-exhausted";
    }
    const optimum = { sum_of_costs: searches.sumOfCosts, makespan: searches.makespan, sum_of_shortest: searches.sumOfShortest };
    return { status, optimum, conflict: optimum.sum_of_costs > optimum.sum_of_shortest, wait_required: searches.waitRequired };
  }

  /** The path of an agent in the plan of least sum of costs found last, up to its final arrival. */
  sumOfCostsPath(agent: number): Path {
    return this.searches.sumOfCostsPath(agent);
  }

  /** The path of an agent in the plan of least makespan found last, up to its final arrival. */
  makespanPath(agent: number): Path {
    return withoutTrailingWaits(this.searches.makespanPath(agent));
  }
}
