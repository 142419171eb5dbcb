/**
 * What the rows of a set record of their boards, held against what is certified when each is solved again from the board alone. Counts the
 * rows that do not hold and keeps the first few; refuses none of them, so that all are counted.
 */
import { canonicalJson, InputError } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import type { BoardRow } from "./instance-sets.js";

export interface FaultyRow {
  set: string;
  /** From 1. */
  row: number;
  id: string;
  /** Recorded otherwise than certified, by path, e.g. "optimum.makespan". */
  fields: { field: string; recorded: unknown; certified: unknown }[];
  /** Why nothing could be certified, e.g. that the board has no solution. */
  problem?: string;
}

export interface RecomputeReport {
  rows: number;
  faulty: number;
  /** The first of them. */
  examples: FaultyRow[];
}

const EXAMPLES = 5;

export class Recompute {
  readonly report: RecomputeReport = { rows: 0, faulty: 0, examples: [] };

  constructor(private readonly family: AnyFamily) {}

  check(set: string, { row, board, record }: BoardRow): void {
    const { report } = this;
    report.rows++;
    const found = this.compare(board as BoardRow["board"] & Record<string, unknown>, record as Record<string, unknown>);
    if (found.fields.length === 0 && found.problem === undefined) return;
    report.faulty++;
    if (report.examples.length < EXAMPLES) report.examples.push({ set, row, id: board.id, ...found });
  }

  private compare(
    { size, holes, agents, id }: Record<string, unknown>,
    record: Record<string, unknown>,
  ): Pick<FaultyRow, "fields" | "problem"> {
    const bare = { size, holes, agents, id };
    try {
      const { seed: _seed, ...certified } = this.family.complete(bare) as unknown as Record<string, unknown>;
      const computed = Object.entries(certified).filter(([field]) => !(field in bare));
      return { fields: computed.flatMap(([field, value]) => differences(field, record[field], value)) };
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return { fields: [], problem: error.message };
    }
  }
}

/** A row with what is wrong in it, in one line. */
export function describeFault({ set, row, id, fields, problem }: FaultyRow): string {
  const wrong = fields.map(
    ({ field, recorded, certified }) => `${field} is ${JSON.stringify(recorded)}, certified ${JSON.stringify(certified)}`,
  );
  return `${set}, row ${row}: ${problem ?? `instance ${id}: ${wrong.join("; ")}`}`;
}

function differences(field: string, recorded: unknown, certified: unknown): FaultyRow["fields"] {
  if (isNothing(recorded)) return [];
  if (isRecord(recorded) && isRecord(certified)) {
    const names = new Set([...Object.keys(certified), ...Object.keys(recorded)]);
    return [...names].flatMap((name) => differences(`${field}.${name}`, recorded[name], certified[name]));
  }
  if (canonicalJson(recorded) === canonicalJson(certified)) return [];
  return [{ field, recorded, certified: certified ?? null }];
}

/** A column that only some rows fill gives null: nothing is recorded then. */
export function isNothing(value: unknown): boolean {
  return value === undefined || value === null;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
