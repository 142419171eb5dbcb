/** Asks the solver and the brute force the same board and lists every difference; the plans are simulated as well. */
import type { Board } from "../../instance.js";
import { bruteForce } from "../brute-force.js";
import { certify, solve } from "../solve.js";
import { arrivals } from "./simulate.js";

export function differences(board: Board): string[] {
  const truth = bruteForce(board);
  const certificate = certify(board);
  const solved = solve(board);
  const found: string[] = [];
  const compare = (what: string, actual: unknown, expected: unknown) => {
    if (actual !== expected) found.push(`${what} is ${actual}, not ${expected}: ${JSON.stringify(board)}`);
  };
  compare("status of certify", certificate.status, truth.solvable ? "solved" : "unsolvable");
  compare("status of solve", solved.status, truth.solvable ? "solved" : "unsolvable");
  compare("sum of shortest", solved.sum_of_shortest, truth.sum_of_shortest);
  if (!truth.solvable || found.length > 0) return found;
  compare("certified sum of costs", certificate.optimum.sum_of_costs, truth.sum_of_costs);
  compare("certified makespan", certificate.optimum.makespan, truth.makespan);
  compare("conflict", certificate.conflict, truth.sum_of_costs! > truth.sum_of_shortest!);
  compare("wait required", certificate.wait_required, truth.wait_required);
  compare("sum of costs", solved.sum_of_costs, truth.sum_of_costs);
  compare("makespan", solved.makespan, truth.makespan);
  for (const objective of ["sum_of_costs", "makespan"] as const) {
    const plan = solved.plans[objective]!;
    const times = arrivals(board, plan);
    if (typeof times === "string") {
      found.push(`${objective} plan: ${times}: ${JSON.stringify(board)}`);
      continue;
    }
    const cost = objective === "makespan" ? Math.max(...times) : times.reduce((sum, time) => sum + time, 0);
    compare(`cost of the ${objective} plan`, cost, truth[objective]);
    compare("length of the actions", plan.map((actions) => actions.length).join(), times.join());
  }
  return found;
}
