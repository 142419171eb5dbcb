/** The solver for boards as they stand in files, with plans as lists of actions. For many boards in a row see `Solver.certifyPacked`. */
import { InputError, parseWith } from "../../../core/index.js";
import { type Board, boardSchema, type Optimum } from "../instance.js";
import { type Action, OBJECTIVES, type Objective } from "../rules.js";
import { packBoard } from "./pack-board.js";
import { actionsOf } from "./plan.js";
import { DEFAULT_BUDGET, Solver, type SolveStatus } from "./solver.js";

export interface SolveOptions {
  /** Default: both. */
  objectives?: readonly Objective[];
  /** Search nodes the board may cost, never time; what is above 2·10⁹ counts as that. */
  budget?: number;
}

export interface SolveResult {
  status: SolveStatus;
  sum_of_costs?: number;
  makespan?: number;
  /** SIC; absent when some agent cannot reach its goal even alone. */
  sum_of_shortest?: number;
  /** One list per agent, ending with its final arrival (empty for an agent that never moves). */
  plans: { sum_of_costs?: Action[][]; makespan?: Action[][] };
  /** Search nodes spent. */
  nodes: number;
}

export interface CertifyResult {
  status: SolveStatus;
  /** −1 where nothing is proven. */
  optimum: Optimum;
  /** SOC > SIC. */
  conflict: boolean;
  /** Every plan of optimal sum of costs has a WAIT before that agent's own final arrival. */
  wait_required: boolean;
  nodes: number;
}

let shared: Solver | undefined;

/** Optimal plans for the objectives asked for. @throws {InputError} for a board against `boardSchema`, which is never judged */
export function solve(given: Board, options: SolveOptions = {}): SolveResult {
  const board = requireBoard(given);
  const objectives = options.objectives ?? OBJECTIVES;
  const unknown = objectives.find((objective) => !OBJECTIVES.includes(objective));
  if (unknown !== undefined) {
    throw new InputError({
      message: `"${unknown}" is no objective`,
      value: unknown,
      expected: `of ${OBJECTIVES.join(" and ")}`,
      remedy: "correct the name",
    });
  }
  const solver = sharedSolver();
  const needMakespan = objectives.includes("makespan");
  const certificate = run(solver, board, { budget: budgetOf(options), needMakespan, needWait: false });
  const result: SolveResult = { status: certificate.status, plans: {}, nodes: solver.nodes };
  const { optimum } = certificate;
  if (optimum.sum_of_shortest >= 0) result.sum_of_shortest = optimum.sum_of_shortest;
  if (certificate.status !== "solved") return result;
  const actions = (path: (agent: number) => number[]) => board.agents.map((_, agent) => actionsOf(path(agent), board.size));
  if (objectives.includes("sum_of_costs")) {
    result.sum_of_costs = optimum.sum_of_costs;
    result.plans.sum_of_costs = actions((agent) => solver.sumOfCostsPath(agent));
  }
  if (needMakespan) {
    result.makespan = optimum.makespan;
    result.plans.makespan = actions((agent) => solver.makespanPath(agent));
  }
  return result;
}

/** Both optima and the flags of a board, without plans. @throws {InputError} for a board against `boardSchema`, which is never judged */
export function certify(given: Board, options: { budget?: number } = {}): CertifyResult {
  const board = requireBoard(given);
  const solver = sharedSolver();
  const { status, optimum, conflict, wait_required } = run(solver, board, { budget: budgetOf(options) });
  return { status, optimum, conflict, wait_required, nodes: solver.nodes };
}

function requireBoard(board: Board): Board {
  return parseWith(boardSchema, board, "the board", InputError, "size, holes and agents (docs/mapf-frozenlake.md)");
}

function budgetOf({ budget = DEFAULT_BUDGET }: { budget?: number }): number {
  if (Number.isInteger(budget) && budget >= 1) return budget;
  throw new InputError({
    message: `${budget} is no budget of search nodes`,
    value: budget,
    expected: "a whole number of at least 1; what is above 2,000,000,000 counts as that",
    remedy: "correct the budget, or leave it out",
  });
}

function sharedSolver(): Solver {
  shared ??= new Solver();
  return shared;
}

function run(solver: Solver, board: Board, options: { budget: number; needMakespan?: boolean; needWait?: boolean }) {
  const { size, holes, starts, goals } = packBoard(board);
  const certificate = solver.certifyPacked(size, holes, starts, goals, starts.length, options);
  if (certificate.status === "above-shortest") throw new Error("unreachable: boards are only dropped on request");
  return { ...certificate, status: certificate.status };
}
