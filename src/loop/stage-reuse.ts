/**
 * A stage that another run has made already. Two runs that differ in their engineer alone make their first stage of the same bytes, and every
 * later one for which both came to the same config from the same checkpoint. A stage is known by a key over all that its bytes depend on; where a
 * finished one with that key lies in another run, its instances, training and validation are copied in place of being made.
 *
 * Copies are compared with the checksums of the run that they are from. The run folder comes out as if the stage had been made in it, down to
 * the byte; its event log says where the stage is from. Other runs are only read, and only what they have finished, so any number of
 * processes may look at one another. A stage is taken whole or, where this run has begun it, not at all.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { canonicalJson, InputError, type InstanceBase, StorageError, stageConfigSchema, validationReportSchema } from "../core/index.js";
import { hasOneMaker, RUN_FILE, RunFolder, storageFailure } from "../store/index.js";
import type { Workbench } from "./workbench.js";

/** In the order in which the loop makes them; the metrics of training come before its summary, whose presence says that they are whole. */
const BEFORE_METRICS = ["train.parquet", "dataset.json", "rollouts.parquet", "checkpoint"];
const AFTER_METRICS = ["training.json", "validation-rollouts.parquet", "validation.json"];

/** Puts the stage's files in place where a run below one of `bench.reuse` has them; the steps that follow read them back. */
export async function takeStage<I extends InstanceBase>(bench: Workbench<I>, stage: number): Promise<void> {
  const { folder, reuse, events } = bench;
  if (reuse.length === 0 || (await folder.has(stage, "dataset.json"))) return;
  const key = await stageKey(folder, stage);
  if (key === undefined) return;
  for (const dir of await runsBelow(reuse)) {
    const other = dir === folder.dir ? undefined : await finishedStage(dir, stage, key);
    if (other === undefined) continue;
    try {
      await copyStage(other, folder, stage);
    } catch (error) {
      if (!isObstacle(error)) throw error;
      await folder.remove(stage, [...BEFORE_METRICS, ...AFTER_METRICS]);
      events.emit({ type: "warning", stage, message: `the stage is not taken from ${dir}: ${error.message}` });
      continue;
    }
    events.emit({ type: "stage-reused", stage, from: dir });
    const { total, by_stratum } = await folder.readRecord(stage, "validation.json", validationReportSchema);
    events.emit({ type: "validation", checkpoint: stage + 1, total, by_stratum });
    return;
  }
}

/** The run in `dir` where it has finished the stage of this key. A run that cannot be read is no obstacle: it has none. */
async function finishedStage(dir: string, stage: number, key: string): Promise<RunFolder | undefined> {
  try {
    const run = await RunFolder.open(dir);
    return (await run.has(stage, "validation.json")) && (await stageKey(run, stage)) === key ? run : undefined;
  } catch (error) {
    if (isObstacle(error)) return undefined;
    throw error;
  }
}

/**
 * Whether it is for the sake of the other run: it cannot be read, its bytes are others, it is taken away while it is copied. A disk of one's
 * own that refuses looks the same; it then refuses the stage as well, which is made in its place.
 */
function isObstacle(error: unknown): error is Error {
  return error instanceof InputError || storageFailure(error, "read", "") instanceof StorageError;
}

/**
 * What the stage's bytes depend on, once its config is settled: versions, program and machine, seed, all of the recipe but what names the run and who proposes,
 * both evaluation sets, the settled config beside the recipe's, and the checkpoint that it starts from with its trainer's state. Undefined for a stage that does not
 * depend on these alone (an engine or a server outside of this process), has no config yet, or is of a run that several programs may have made.
 */
export async function stageKey(run: RunFolder, stage: number): Promise<string | undefined> {
  const { recipe, seed, versions, base_sha256 } = run.record;
  const { name: _name, description: _description, workers: _workers, seed: _seed, ...named } = recipe;
  const { base: _base, stages: _stages, engineer: _engineer, pretrain: _pretrain, ...rest } = named;
  if (recipe.trainer.kind !== "embedded" || recipe.serving !== undefined || base_sha256 === undefined) return undefined;
  if (!hasOneMaker(run.record)) return undefined;
  if (!(await run.has(stage, "config.json"))) return undefined;
  const { normalised, from_checkpoint } = await run.readRecord(stage, "config.json", stageConfigSchema);
  const from = from_checkpoint === 0 ? "base" : await run.checksum(from_checkpoint - 1, "checkpoint");
  const sets = [await run.checksum("run", "validation.parquet"), await run.checksum("run", "held-out.parquet")];
  if (from === undefined || sets[0] === undefined) return undefined;
  const parts = { ...rest, versions, seed, stage, base: base_sha256, from, sets: sets.map((set) => set ?? null), settled: normalised };
  return createHash("sha256").update(canonicalJson(parts)).digest("hex");
}

async function copyStage(from: RunFolder, to: RunFolder, stage: number): Promise<void> {
  for (const name of BEFORE_METRICS) await to.copyFrom(from, stage, name);
  await to.truncateMetrics(stage);
  for (const metrics of await from.readMetrics()) if (metrics.stage === stage) to.appendMetrics(metrics);
  for (const name of AFTER_METRICS) await to.copyFrom(from, stage, name);
}

/** Run folders directly below the folders given, in the order of their names. */
async function runsBelow(folders: readonly string[]): Promise<string[]> {
  const runs: string[] = [];
  for (const folder of folders) {
    // A folder that is not there (yet), or any more, has no runs.
    const names = await readdir(folder).catch(() => []);
    runs.push(
      ...names
        .sort()
        .map((name) => join(folder, name))
        .filter((dir) => existsSync(join(dir, RUN_FILE))),
    );
  }
  return runs;
}
