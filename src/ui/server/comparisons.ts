/** What is compared with what: runs with runs on the same boards, evaluations with evaluations of the same set, arms of an experiment. */
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CorruptFileError, EnvwrightError, parseJsonWith } from "../../core/index.js";
import {
  buildReport,
  compareRuns,
  compareSetReports,
  isFinished,
  PUBLISHED,
  PUBLISHED_SOURCE,
  type SetReport,
  setReportSchema,
} from "../../evaluation/index.js";
import { type ArmSummary, matrixSchema } from "../../experiments/index.js";
import { RUN_FILE } from "../../store/index.js";
import type { Benchmarks, Comparison, EvaluationEntry, ExperimentEntry } from "../records.js";
import type { ServedRoot } from "./root.js";
import { stateOf } from "./run-state.js";
import type { RunShelf } from "./runs.js";

export async function comparison(shelf: RunShelf, ids: readonly string[]): Promise<Comparison> {
  const opened = [];
  for (const id of ids) opened.push({ id, ...(await shelf.open(id)) });
  const [first, ...others] = opened;
  return {
    runs: await Promise.all(
      opened.map(async ({ id, dir, history }) => ({
        id,
        report: buildReport(history),
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

/** @param against id of the evaluation that those of its set are compared with; the first of each set unless given */
export async function benchmarks(root: ServedRoot, against?: string): Promise<Benchmarks> {
  const evaluations: (EvaluationEntry & { full: SetReport | null })[] = [];
  for (const id of await root.ids("evaluation")) {
    const dir = root.folder("evaluation", id);
    const path = join(dir, "report.json");
    if (!existsSync(path)) {
      evaluations.push({ id, report: null, full: null, problem: `not finished; go on with it: envwright eval --resume ${dir}` });
      continue;
    }
    try {
      const full = parseJsonWith(setReportSchema, await readFile(path, "utf8"), path, CorruptFileError);
      const { outcomes: _, ...report } = full;
      evaluations.push({ id, report, full, problem: null });
    } catch (error) {
      evaluations.push({ id, report: null, full: null, problem: reason(error) });
    }
  }
  const paired: Benchmarks["paired"] = [];
  for (const entry of evaluations) {
    const same = evaluations.filter(
      ({ full }) => full !== null && full.set_sha256 === entry.full?.set_sha256 && full.objective === entry.full.objective,
    );
    const reference = same.find(({ id }) => id === against) ?? same[0];
    if (entry.full === null || reference?.full == null || reference === entry) continue;
    const { valid, optimal } = compareSetReports(reference.full, entry.full);
    const shown = ({ difference, interval, n }: typeof valid) => ({ difference, interval, n });
    paired.push({ id: entry.id, reference: reference.id, valid: shown(valid), optimal: shown(optimal) });
  }
  return {
    evaluations: evaluations.map(({ full: _, ...entry }) => entry),
    paired,
    published: { source: PUBLISHED_SOURCE, tables: PUBLISHED },
  };
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
