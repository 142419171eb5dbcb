/**
 * The records of a run, read in the order of the loop: what every report and plot is made of. Reads through `RunReader`, which a run folder
 * satisfies; a stage that is not finished has the records that it has so far.
 */
import type { z } from "zod";
import {
  type DatasetManifest,
  datasetManifestSchema,
  type Proposal,
  proposalSchema,
  type Recipe,
  type StageConfig,
  stageConfigSchema,
  type TrainingSummary,
  trainingSummarySchema,
  type ValidationReport,
  validationReportSchema,
} from "../core/index.js";

/** Reading access to a run folder. */
export interface RunReader {
  readonly dir: string;
  readonly record: { recipe: Recipe; seed: number; versions: Record<string, string> };
  stages(): Promise<number[]>;
  has(scope: number | "run", name: string): Promise<boolean>;
  readRecord<T>(scope: number | "run", name: string, schema: z.ZodType<T>): Promise<T>;
}

export interface StageHistory {
  index: number;
  config: StageConfig;
  dataset: DatasetManifest | undefined;
  training: TrainingSummary | undefined;
  /** Of the checkpoint that this stage's training made. */
  validation: ValidationReport | undefined;
  /** Whether its failures have been summed up, which is a stage's last record but for the proposal. */
  diagnosed: boolean;
  /** For the next stage; the last stage has none. */
  proposal: Proposal | undefined;
}

export interface RunHistory {
  dir: string;
  recipe: Recipe;
  seed: number;
  versions: Record<string, string>;
  /** Of the base checkpoint. */
  base: ValidationReport | undefined;
  stages: StageHistory[];
  /** Base and last checkpoint on the held-out set; undefined where the recipe has none, or the run is not there yet. */
  heldOut: { base: ValidationReport; last: ValidationReport } | undefined;
}

/** @throws {CorruptFileError} when a record is not what its checksum or schema says. */
export async function readHistory(run: RunReader): Promise<RunHistory> {
  const read = async <T>(scope: number | "run", name: string, schema: z.ZodType<T>): Promise<T | undefined> =>
    (await run.has(scope, name)) ? run.readRecord(scope, name, schema) : undefined;
  const stages: StageHistory[] = [];
  for (const index of await run.stages()) {
    const config = await read(index, "config.json", stageConfigSchema);
    if (config === undefined) continue;
    stages.push({
      index,
      config,
      dataset: await read(index, "dataset.json", datasetManifestSchema),
      training: await read(index, "training.json", trainingSummarySchema),
      validation: await read(index, "validation.json", validationReportSchema),
      diagnosed: await run.has(index, "failures.json"),
      proposal: await read(index, "proposal.json", proposalSchema),
    });
  }
  const { recipe, seed, versions } = run.record;
  const base = await read("run", "base-validation.json", validationReportSchema);
  const apart = await read("run", "held-out-base.json", validationReportSchema);
  const last = await read("run", "held-out-last.json", validationReportSchema);
  const heldOut = apart === undefined || last === undefined ? undefined : { base: apart, last };
  return { dir: run.dir, recipe, seed, versions, base, stages, heldOut };
}

/** Whether nothing of the recipe is left to do. */
export function isFinished({ recipe, stages, heldOut }: RunHistory): boolean {
  const done = stages.filter((s) => s.validation !== undefined && s.diagnosed).length;
  return done === recipe.stages && (recipe.held_out.count === 0 || heldOut !== undefined);
}
