/**
 * Instances for a verb: a frozen benchmark set by name, or a file (JSON lines, JSON or Parquet) in which fields that files from elsewhere
 * leave out are computed.
 */
import { existsSync } from "node:fs";
import { extname } from "node:path";
import { InputError, type InstanceBase } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import { readRows } from "../store/index.js";

/** @throws {InputError} naming the row that is no instance of the family. */
export async function loadInstanceSet(source: string, family: AnyFamily, limit?: number): Promise<InstanceBase[]> {
  if (family.name === "mapf-frozenlake" && extname(source) === "" && !existsSync(source)) {
    const { loadBenchmark } = await import("../environments/mapf-frozenlake/benchmark.js");
    return loadBenchmark(source).slice(0, limit);
  }
  const instances: InstanceBase[] = [];
  for await (const rows of readRows(source)) {
    for (const row of rows) {
      if (instances.length === limit) return instances;
      instances.push(completed(row, family, `${source}, line ${instances.length + 1}`));
    }
  }
  return instances;
}

function completed(row: unknown, family: AnyFamily, at: string): InstanceBase {
  try {
    return family.complete(row);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError({
      message: `${at}: ${error.message}`,
      value: error.value,
      ...(error.expected === undefined ? {} : { expected: error.expected }),
      remedy: error.remedy ?? "correct the line",
      cause: error,
    });
  }
}
