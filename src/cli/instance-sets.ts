/**
 * Instances for a verb: a frozen benchmark set by name, or a file (JSON lines, JSON or Parquet) in which fields that files from elsewhere
 * leave out are computed, and whose fields a mapping may rename. Batches pass one after the other, so that a verb need not hold them all.
 */
import { existsSync } from "node:fs";
import { extname } from "node:path";
import { InputError, type InstanceBase } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import { readRows } from "../store/index.js";

/** A row of a foreign file → a record of the family, in which what it does not say is missing. @throws {InputError} */
export type RowMapping = (row: unknown) => unknown;

/** The set, or its first `limit` instances, in batches. @throws {InputError} naming the row that is no instance of the family */
export async function* readInstanceSet(
  source: string,
  family: AnyFamily,
  how: { mapping?: RowMapping | undefined; limit?: number | undefined } = {},
): AsyncGenerator<InstanceBase[]> {
  if (family.name === "mapf-frozenlake" && extname(source) === "" && !existsSync(source)) {
    const { loadBenchmark } = await import("../environments/mapf-frozenlake/benchmark.js");
    yield loadBenchmark(source).slice(0, how.limit);
    return;
  }
  let read = 0;
  for await (const rows of readRows(source)) {
    const wanted = how.limit === undefined ? rows : rows.slice(0, how.limit - read);
    if (wanted.length > 0) yield wanted.map((row) => completed(row, family, how.mapping, `${source}, row ${++read}`));
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

function completed(row: unknown, family: AnyFamily, mapping: RowMapping | undefined, at: string): InstanceBase {
  const form = mapping === undefined ? exportedForm(row) : undefined;
  if (form !== undefined) {
    throw new InputError({
      message: `${at}: this is ${form}, and no instance`,
      value: at,
      expected: "instances",
      remedy: "give the set that it was made from; `envwright export SET --to instances --out FILE` writes instances",
    });
  }
  return within(at, () => family.complete(mapping === undefined ? row : mapping(row)));
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
