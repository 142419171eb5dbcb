/** Instances → prompts → rollouts → verdicts → rewards → checkpoint. */
import { rm } from "node:fs/promises";
import {
  type InstanceBase,
  type Metrics,
  rolloutSchema,
  type StageConfig,
  type TrainingSummary,
  trainingSummarySchema,
} from "../../core/index.js";
import { TrainingAccumulator } from "../../diagnosis/index.js";
import { ParquetWriter } from "../../store/index.js";
import type { Workbench } from "../workbench.js";
import { inPhase, signalOf } from "./phases.js";

export async function trainStage<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  config: StageConfig,
  instances: I[],
): Promise<TrainingSummary> {
  const { folder, family, trainer } = bench;
  if (await folder.has(stage, "training.json")) return folder.readRecord(stage, "training.json", trainingSummarySchema);
  await folder.truncateMetrics(stage);
  const accumulator = new TrainingAccumulator();
  const from = config.from_checkpoint === 0 ? bench.baseFolder : await folder.verified(config.from_checkpoint - 1, "checkpoint");
  const to = folder.path(stage, "checkpoint");
  await rm(to, { recursive: true, force: true });
  await bench.checkpoints.release();
  await inPhase(bench, stage, "train", (progress) =>
    folder.writeFile(stage, "rollouts.parquet", async (path) => {
      const rollouts = await ParquetWriter.open(path, rolloutSchema);
      let done = 0;
      try {
        await trainer.trainStage({
          stage,
          seed: bench.seed.child("stage", stage, "train"),
          instances,
          prompt: (instance) => family.prompt(instance, bench.recipe.rendering),
          stratum: (instance) => family.stratum(instance),
          scorer: bench.newScorer(),
          from,
          to,
          ...signalOf(bench),
          onStep: (metrics: Metrics, seconds: number) => {
            folder.appendMetrics(metrics);
            const { stage: _, step, ...values } = metrics;
            bench.events.emit({ type: "step", stage, step, metrics: values, seconds });
            progress(++done, trainer.stepsPerStage);
          },
          onLog: (line) => bench.events.emit({ type: "log", stage, source: trainer.kind, line }),
          onRestart: async (message) => {
            bench.events.emit({ type: "warning", stage, message });
            await folder.truncateMetrics(stage);
            done = 0;
          },
          onRollouts: async (groups) => {
            for (const group of groups) accumulator.add(group);
            await rollouts.append(groups.flat());
          },
        });
        await rollouts.close();
      } catch (error) {
        await rollouts.abort();
        throw error;
      }
    }),
  );
  await folder.register(stage, "checkpoint");
  const summary = accumulator.summary();
  await folder.writeRecord(stage, "training.json", trainingSummarySchema, summary);
  return summary;
}
