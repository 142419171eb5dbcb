/** Config → instances. */
import {
  type DatasetManifest,
  datasetManifestSchema,
  InfeasibleError,
  type InstanceBase,
  type StageConfig,
  stageConfigSchema,
} from "../../core/index.js";
import { readParquet, writeParquet } from "../../store/index.js";
import { type EvaluationSet, hashesApart } from "../evaluation-sets.js";
import type { Workbench } from "../workbench.js";
import { inPhase, signalOf } from "./phases.js";

/** Share of a stage's instances from which on repeats are told and not only counted. */
const TELL_REPEATS = 0.1;

/**
 * Instances of the stage: never one that is in an evaluation set (`apart`) or a benchmark set, under any symmetry. Each stage draws on its own:
 * an instance of an earlier stage may come again, as one of a set may in a later pass over it.
 */
export async function generateStage<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  config: StageConfig,
  apart: readonly EvaluationSet<I>[],
): Promise<{ instances: I[]; manifest: DatasetManifest }> {
  const { folder, family, recipe, seed } = bench;
  if (await folder.has(stage, "dataset.json")) {
    const manifest = await folder.readRecord(stage, "dataset.json", datasetManifestSchema);
    return { manifest, instances: await readParquet(await folder.verified(stage, "train.parquet"), family.instanceSchema) };
  }
  const exclude = await hashesApart(family, apart);
  const generate = (from: unknown) =>
    inPhase(bench, stage, "generate", (progress) =>
      family.generate(from, {
        count: recipe.instances,
        seed: seed.child("stage", stage, "instances"),
        exclude,
        repeats: "allow",
        workers: bench.workers,
        onProgress: progress,
        ...signalOf(bench),
      }),
    );
  let made: Awaited<ReturnType<typeof generate>>;
  try {
    made = await generate(config.normalised);
  } catch (error) {
    // Feasibility is checked when a config is proposed, but some classes turn out empty only when they are drawn. A proposal never stops a run.
    if (!(error instanceof InfeasibleError) || stage === 0) throw error;
    const previous = await folder.readRecord(stage - 1, "config.json", stageConfigSchema);
    bench.events.emit({
      type: "warning",
      stage,
      message: `the proposed config cannot be generated, the previous one stays: ${error.message}`,
    });
    const kept: StageConfig = { ...config, normalised: previous.normalised, provenance: { ...config.provenance, source: "previous" } };
    await folder.writeRecord(stage, "config.json", stageConfigSchema, kept);
    made = await generate(kept.normalised);
  }
  const { repeated = 0 } = made.manifest.sampling;
  if (repeated >= TELL_REPEATS * recipe.instances) {
    bench.events.emit({
      type: "warning",
      stage,
      message: `${repeated} of ${recipe.instances} instances repeat others of the stage: where the config wants most, there are no more different ones`,
    });
  }
  await folder.writeFile(stage, "train.parquet", (path) => writeParquet(path, family.instanceSchema, made.instances));
  await folder.writeRecord(stage, "dataset.json", datasetManifestSchema, made.manifest);
  return made;
}
