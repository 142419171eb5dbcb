/**
 * Instances for a verb: a frozen benchmark set by name, or a file (JSON lines, JSON or Parquet) in which fields that files from elsewhere
 * leave out are computed, and whose fields a mapping may rename. Batches pass one after the other, so that a verb need not hold them all.
 */
import { statSync } from "node:fs";
import { extname } from "node:path";
import { InputError, type InstanceBase, nearest } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import { readRows } from "../store/index.js";

/** A row of a foreign file → a record of the family, in which what it does not say is missing. @throws {InputError} */
export type RowMapping = (row: unknown) => unknown;

interface Reading {
  mapping?: RowMapping | undefined;
  limit?: number | undefined;
}

/** The set, or its first `limit` instances, in batches. @throws {InputError} naming the row that is no instance of the family */
export async function* readInstanceSet(source: string, family: AnyFamily, how: Reading = {}): AsyncGenerator<InstanceBase[]> {
  const benchmark = await benchmarkNamed(source, family);
  if (benchmark !== undefined) yield benchmark.slice(0, how.limit);
  else yield* readEach(source, how, (record) => family.complete(record));
}

/** A row of a set by its board alone. */
export interface BoardRow {
  /** From 1. */
  row: number;
  /** Enough for its hash and its stratum; not solved. */
  board: InstanceBase;
  /** What the row says, beside the board also of its optimum: not held against the board. */
  record: unknown;
}

/** The boards of a set in batches: also those that have no solution. @throws {InputError} naming the row that is no board, or has another's hash */
export async function* readBoards(source: string, family: AnyFamily, mapping?: RowMapping): AsyncGenerator<BoardRow[]> {
  const each = (record: unknown, row: number): BoardRow => ({ row, board: identified(family, record), record });
  const benchmark = await benchmarkNamed(source, family);
  if (benchmark !== undefined) yield benchmark.map((instance, i) => each(instance, i + 1));
  else yield* readEach(source, { mapping }, each);
}

/** By what the record is, without what is certified of it where the family can do without. @throws {InputError} */
export function identified(family: AnyFamily, record: unknown): InstanceBase {
  return family.identify === undefined ? family.complete(record) : family.identify(record);
}

/** The benchmark set of that name; undefined for a file. @throws {InputError} for a folder, and for what is neither a file nor a set */
async function benchmarkNamed(source: string, family: AnyFamily): Promise<InstanceBase[] | undefined> {
  const there = statSync(source, { throwIfNoEntry: false });
  if (there?.isDirectory()) {
    throw new InputError({ message: `${source} is a folder`, value: source, expected: SETS, remedy: "name a file in it" });
  }
  if (family.name !== "mapf-frozenlake" || there !== undefined || extname(source) !== "") return undefined;
  const { BENCHMARKS, isBenchmark, loadBenchmark } = await import("../environments/mapf-frozenlake/benchmark.js");
  if (isBenchmark(source)) return loadBenchmark(source);
  const close = nearest(source, BENCHMARKS);
  throw new InputError({
    message: `${source}: no such file, and no benchmark set${close === undefined ? "" : `; did you mean "${close}"?`}`,
    value: source,
    expected: `${SETS} (${BENCHMARKS.join(", ")})`,
    remedy: "check the path",
  });
}

/** What a set may be. */
export const SETS = "a file that ends in .jsonl, .json or .parquet, or the name of a benchmark set";

async function* readEach<T>(source: string, how: Reading, each: (record: unknown, row: number) => T): AsyncGenerator<T[]> {
  const { mapping, limit } = how;
  let read = 0;
  for await (const rows of readRows(source)) {
    const wanted = limit === undefined ? rows : rows.slice(0, limit - read);
    if (wanted.length > 0) {
      yield wanted.map((row) => {
        const at = `${source}, row ${++read}`;
        if (mapping !== undefined) return within(at, () => each(mapping(row), read));
        refuseExported(row, at);
        return within(at, () => each(row, read));
      });
    }
    if (wanted.length < rows.length) return;
  }
  if (read === 0) throw emptyFile(source, "instance");
}

/** A file that was cut off or filtered away must not pass for a result. */
export function emptyFile(source: string, what: string): InputError {
  return new InputError({
    message: `${source} holds no ${what}`,
    value: source,
    expected: "at least one",
    remedy: "check the file",
  });
}

/** The whole set, or its first `limit` instances. @throws {InputError} naming the row that is no instance of the family */
export async function loadInstanceSet(source: string, family: AnyFamily, limit?: number, mapping?: RowMapping): Promise<InstanceBase[]> {
  const instances: InstanceBase[] = [];
  for await (const batch of readInstanceSet(source, family, { mapping, limit })) instances.push(...batch);
  return instances;
}

function refuseExported(row: unknown, at: string): void {
  const form = exportedForm(row);
  if (form === undefined) return;
  throw new InputError({
    message: `${at}: this is ${form}, and no instance`,
    value: at,
    expected: "instances",
    remedy: "give the set that it was made from; `envwright export SET --to instances --out FILE` writes instances",
  });
}

/** What a row is that was written for a trainer, a model or `envwright verify`; undefined for what may be an instance. */
function exportedForm(row: unknown): string | undefined {
  if (typeof row !== "object" || row === null || "size" in row || "agents" in row) return undefined;
  if ("reward_model" in row) return "a row for verl (export --to verl)";
  if (!("instance" in row)) return undefined;
  if ("completion" in row) return "a completion, as `envwright verify --completions` takes it";
  if (!("prompt" in row)) return undefined;
  return "id" in row ? "a row for TRL (export --to trl)" : "an exported prompt (export --to prompts)";
}

/** What `task` gives; what it refuses is told with the place, e.g. "boards.parquet, row 7". @throws {InputError} */
export function within<T>(at: string, task: () => T): T {
  try {
    return task();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError({
      message: `${at}: ${error.message}`,
      value: error.value,
      ...(error.expected === undefined ? {} : { expected: error.expected }),
      remedy: error.remedy ?? "correct the row",
      cause: error,
    });
  }
}
