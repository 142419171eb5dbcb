/**
 * What a file records about a board beside the board itself: its optimum, its flags, its hash. For `envwright solve`, which finds the truth
 * about a board, a record that differs from it is no mistake of the command's: it is told, and the board is solved all the same.
 */
import { z } from "zod";
import { type Board, certify, hashBoard, instanceSchema, optimumSchema, type SolveResult } from "../environments/mapf-frozenlake/index.js";

const { size, holes, agents, ...others } = instanceSchema.shape;
const recordedShape = z.object({ ...others, optimum: optimumSchema.partial() }).partial().shape;

/** A board and what may stand beside it; whether the board is one is `boardSchema`'s to say. */
export const boardRecordSchema = z.strictObject({ size, holes, agents, ...recordedShape });
export type BoardRecord = z.infer<typeof boardRecordSchema>;
export type Recorded = Omit<BoardRecord, keyof Board>;

/**
 * A sentence for each recorded field that differs from what was found, and for those that could not be checked.
 * @param budget nodes for the proof of a necessary wait, which the plans alone do not show
 */
export function recordedClaims(board: Board, recorded: Recorded, result: SolveResult, budget: number): string[] {
  const { hash, optimum = {}, conflict, wait_required } = recorded;
  const claims = Object.entries({
    "optimum.sum_of_costs": optimum.sum_of_costs,
    "optimum.makespan": optimum.makespan,
    "optimum.sum_of_shortest": optimum.sum_of_shortest,
    conflict,
    wait_required,
  }).filter(([, given]) => given !== undefined);
  const said: string[] = [];
  const compare = (field: string, given: unknown, found: unknown) => {
    if (given !== found) said.push(`${field} is recorded as ${JSON.stringify(given)}, but it is ${JSON.stringify(found)}`);
  };
  if (hash !== undefined) compare("hash", hash, hashBoard(board));
  if (claims.length === 0 || result.status === "budget-exhausted") return said;
  const fields = claims.map(([field]) => field).join(", ");
  if (result.status === "unsolvable") return [...said, `recorded: ${fields}; but the board has no solution`];
  const found = certify(board, { budget });
  if (found.status !== "solved") return [...said, `not checked within the budget: ${fields}`];
  const proven: Record<string, unknown> = { conflict: found.conflict, wait_required: found.wait_required };
  for (const [name, value] of Object.entries(found.optimum)) proven[`optimum.${name}`] = value;
  for (const [field, given] of claims) compare(field, given, proven[field]);
  return said;
}
