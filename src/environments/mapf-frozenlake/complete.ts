/**
 * A record from elsewhere → a complete instance. Holes are put in reading order; what is missing (optimum, flags, hash, id, seed) is
 * computed; what is given is checked for consistency with itself, and the hash always. Whether a recorded optimum is right is the audit's
 * to ask: it costs a solve. A board alone is identified without one, whether it has a solution or not.
 */
import { z } from "zod";
import { canonicalJson, InputError, parseWith } from "../../core/index.js";
import { hashBoard } from "./hash.js";
import { type Board, boardSchema, type Instance, instanceSchema, optimumSchema } from "./instance.js";
import { stepLimit } from "./rules.js";
import { certify } from "./solve/index.js";

const namesSchema = z.object({ id: z.string().min(1).nullish(), hash: z.string().nullish() });

const extrasSchema = z.object({
  optimum: optimumSchema.optional(),
  conflict: z.boolean().optional(),
  wait_required: z.boolean().optional(),
  seed: z.string().optional(),
});

/** A board with its name and its canonical hash. */
export interface IdentifiedBoard extends Board {
  id: string;
  hash: string;
}

/** The board of a record, unsolved; what the record says of its optimum is not looked at. @throws {InputError} for no board, or a wrong hash */
export function identifyBoard(value: unknown): IdentifiedBoard {
  const given = parseWith(boardSchema, value, "instance", InputError);
  const names = parseWith(namesSchema, value, "instance", InputError);
  const holes = [...given.holes].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const board: Board = { size: given.size, holes, agents: given.agents };
  const hash = hashBoard(board);
  // A column that only some rows fill gives null.
  if (names.hash !== undefined && names.hash !== null && names.hash !== hash) {
    throw contradiction("hash", names.hash, hash, "leave the hash out; it is computed");
  }
  return { id: names.id ?? hash, ...board, hash };
}

/** @throws {InputError} for a record that is no board, contradicts itself, or has no solution */
export function completeInstance(value: unknown): Instance {
  const { id, hash, ...board } = identifyBoard(value);
  const extras = parseWith(extrasSchema, value, "instance", InputError);
  const seed = extras.seed ?? "external";
  const { optimum, wait_required } = extras;
  if (optimum !== undefined && wait_required !== undefined) {
    const conflict = optimum.sum_of_costs > optimum.sum_of_shortest;
    if (extras.conflict !== undefined && extras.conflict !== conflict) {
      throw contradiction("conflict", extras.conflict, conflict, "conflict means sum_of_costs > sum_of_shortest");
    }
    if (wait_required && !conflict) throw contradiction("wait_required", true, false, "without a conflict nobody has to wait");
    return parseWith(instanceSchema, { id, ...board, optimum, conflict, wait_required, seed, hash }, "instance", InputError);
  }
  const certificate = certify(board);
  if (certificate.status !== "solved") {
    throw new InputError({
      message: `instance ${id}: ${certificate.status === "unsolvable" ? "the board has no solution" : "the solver's budget ran out"}`,
      value: board,
      expected: "a board on which every agent can reach its goal under the rules",
      remedy: "leave the instance out of the file",
    });
  }
  if (certificate.optimum.makespan > stepLimit(board.size)) {
    throw new InputError({ message: `instance ${id}: its shortest plan exceeds the step limit`, value: certificate.optimum.makespan });
  }
  const { conflict } = certificate;
  for (const [field, given, proven] of [
    ["optimum", optimum, certificate.optimum],
    ["conflict", extras.conflict, conflict],
    ["wait_required", wait_required, certificate.wait_required],
  ] as const) {
    if (given !== undefined && canonicalJson(given) !== canonicalJson(proven)) {
      throw contradiction(field, canonicalJson(given), canonicalJson(proven), `leave ${field} out; it is computed`);
    }
  }
  return { id, ...board, optimum: certificate.optimum, conflict, wait_required: certificate.wait_required, seed, hash };
}

function contradiction(field: string, given: unknown, expected: unknown, remedy: string): InputError {
  return new InputError({
    message: `instance: ${field} is ${given} but should be ${expected}`,
    value: given,
    expected: String(expected),
    remedy,
  });
}
