/**
 * What a file records about a board beside the board itself: its optimum, its flags, its hash. For `envwright solve`, which finds the truth
 * about a board, a record that differs from it is no mistake of the command's: it is told, and the board is solved all the same.
 */
import { z } from "zod";
import { type Board, certify, hashBoard, instanceSchema, type SolveResult } from "../environments/mapf-frozenlake/index.js";
import { isNothing, isRecord } from "./recompute.js";

const { size, holes, agents } = instanceSchema.shape;
const anything = z.unknown().optional();

/** A board and what may stand beside it, of whatever kind; whether the board is one is `boardSchema`'s to say. */
export const boardRecordSchema = z.strictObject({
  ...{ size, holes, agents },
  ...{ id: anything, optimum: anything, conflict: anything, wait_required: anything, seed: anything, hash: anything },
});
export type Recorded = Omit<z.infer<typeof boardRecordSchema>, keyof Board>;

/** A sentence for each recorded field that differs from what was found, and for those that could not be checked within the budget. */
export function recordedClaims(board: Board, recorded: Recorded, result: SolveResult, budget: number): string[] {
  const said: string[] = [];
  const compare = (field: string, given: unknown, found: unknown) => {
    if (given !== found) said.push(`${field} is recorded as ${JSON.stringify(given)}, but it is ${JSON.stringify(found)}`);
  };
  if (!isNothing(recorded.hash)) compare("hash", recorded.hash, hashBoard(board));
  const claims = claimsOf(recorded);
  if (claims.length === 0) return said;
  if (result.status === "unsolvable") return [...said, `recorded: ${namesOf(claims)}; but the board has no solution`];
  let found = foundBy(result);
  if (result.status === "solved" && claims.some(([field]) => found[field] === undefined)) found = { ...found, ...certified(board, budget) };
  const unchecked: Claim[] = [];
  for (const claim of claims) {
    const [field, given] = claim;
    if (!FIELDS.includes(field)) said.push(`${field} is recorded as ${JSON.stringify(given)}, and nothing of that kind is known`);
    else if (found[field] === undefined) unchecked.push(claim);
    else compare(field, given, found[field]);
  }
  return unchecked.length === 0 ? said : [...said, `not checked within the budget: ${namesOf(unchecked)}`];
}

type Claim = [field: string, given: unknown];
type Found = Record<string, number | boolean | undefined>;

const FIELDS: readonly string[] = ["optimum.sum_of_costs", "optimum.makespan", "optimum.sum_of_shortest", "conflict", "wait_required"];

function claimsOf({ optimum, conflict, wait_required }: Recorded): Claim[] {
  const costs: Claim[] = isRecord(optimum)
    ? Object.entries(optimum).map(([name, given]) => [`optimum.${name}`, given])
    : [["optimum", optimum]];
  return [...costs, ["conflict", conflict] as Claim, ["wait_required", wait_required] as Claim].filter(([, given]) => !isNothing(given));
}

function foundBy({ sum_of_costs, makespan, sum_of_shortest }: Omit<SolveResult, "plans" | "nodes">): Found {
  const conflict = sum_of_costs === undefined || sum_of_shortest === undefined ? undefined : sum_of_costs > sum_of_shortest;
  return {
    "optimum.sum_of_costs": sum_of_costs,
    "optimum.makespan": makespan,
    "optimum.sum_of_shortest": sum_of_shortest,
    conflict,
  };
}

/** What the plans alone do not show: a second search, within a budget of its own. */
function certified(board: Board, budget: number): Found {
  const { status, optimum, conflict, wait_required } = certify(board, { budget });
  return status === "solved" ? { ...foundBy({ status, ...optimum }), conflict, wait_required } : {};
}

const namesOf = (claims: readonly Claim[]): string => claims.map(([field]) => field).join(", ");
