/** What is compared with what: runs with runs on the same boards, arms of an experiment. */
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CorruptFileError, EnvwrightError, parseJsonWith } from "../../core/index.js";
import { compareRuns, isFinished } from "../../evaluation/index.js";
import { type ArmSummary, matrixSchema } from "../../experiments/index.js";
import { RUN_FILE } from "../../store/index.js";
import type { Comparison, ExperimentEntry } from "../records.js";
import type { ServedRoot } from "./root.js";
import { stateOf } from "./run-state.js";
import type { RunShelf } from "./runs.js";

export async function comparison(shelf: RunShelf, ids: readonly string[]): Promise<Comparison> {
  const opened = [];
  for (const id of ids) opened.push({ id, ...(await shelf.open(id)) });
  const [first, ...others] = opened;
  return {
    runs: await Promise.all(
      opened.map(async ({ id, dir, history, report }) => ({
        id,
        report,
        state: await stateOf(dir, isFinished(history), history.stages.at(-1)?.index),
      })),
    ),
    differences: differences(opened.map(({ folder }) => ({ ...folder.record.recipe, seed: folder.record.seed }))),
    paired: others.map(({ id, history }) => {
      try {
        const { set, valid, optimal } = compareRuns(first!.history, history);
        return { id, set, gain: { valid, optimal }, problem: null };
      } catch (error) {
        return { id, set: "", gain: null, problem: reason(error) };
      }
    }),
  };
}

/** Leaves of the records that are not equal in all of them. */
function differences(records: readonly unknown[]): Comparison["differences"] {
  const leaves = records.map((record) => new Map(flat(record, "")));
  const paths = [...new Set(leaves.flatMap((map) => [...map.keys()]))].sort();
  return paths
    .map((path) => ({ path, values: leaves.map((map) => map.get(path) ?? "—") }))
    .filter(({ values }) => new Set(values).size > 1);
}

function flat(value: unknown, path: string): [string, string][] {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([name, inner]) => flat(inner, path === "" ? name : `${path}.${name}`));
  }
  return [[path, typeof value === "string" ? value : JSON.stringify(value)]];
}

const resultsSchema = z.object({
  name: z.string(),
  reference: z.string(),
  cells: z.array(z.object({ arm: z.string(), seed: z.number(), state: z.string() })).default([]),
  arms: z.array(z.looseObject({ arm: z.string() })),
});

export async function experiments(root: ServedRoot): Promise<ExperimentEntry[]> {
  const entries: ExperimentEntry[] = [];
  for (const id of await root.ids("experiment")) {
    const dir = root.folder("experiment", id);
    try {
      const path = join(dir, "results.json");
      const results = parseJsonWith(resultsSchema, await readFile(path, "utf8"), path, CorruptFileError);
      const matrix = matrixSchema.safeParse(JSON.parse(readFileSync(join(dir, "matrix.json"), "utf8")));
      entries.push({
        id,
        name: results.name,
        reference: results.reference,
        description: matrix.success ? matrix.data.description : "",
        arms: results.arms as unknown as ArmSummary[],
        cells: results.cells.map(({ arm, seed, state }) => {
          const run = join(dir, `${arm}-seed${seed}`);
          return { arm, seed, state, run: existsSync(join(run, RUN_FILE)) ? root.idOf(run) : null };
        }),
        problem: null,
      });
    } catch (error) {
      entries.push({ id, name: id, reference: "", description: "", arms: [], cells: [], problem: reason(error) });
    }
  }
  return entries;
}

function reason(error: unknown): string {
  return error instanceof EnvwrightError ? error.explain() : String((error as Error).message);
}
