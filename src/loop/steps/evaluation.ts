/** Checkpoint → validation report: the base before the first stage, each stage's checkpoint, and base and last on the held-out set. */
import { type InstanceBase, type Rollout, rolloutSchema, type ValidationReport, validationReportSchema } from "../../core/index.js";
import { validationReport } from "../../diagnosis/index.js";
import { writeParquet } from "../../store/index.js";
import { evaluatePolicy } from "../evaluate.js";
import type { EvaluationSet } from "../evaluation-sets.js";
import type { Workbench } from "../workbench.js";
import { inPhase, signalOf } from "./phases.js";

export async function evaluateBase<I extends InstanceBase>(bench: Workbench<I>, set: EvaluationSet<I>): Promise<ValidationReport> {
  const { folder } = bench;
  if (await folder.has("run", "base-validation.json")) return folder.readRecord("run", "base-validation.json", validationReportSchema);
  const { report } = await validate(bench, 0, set, 0);
  await folder.writeRecord("run", "base-validation.json", validationReportSchema, report);
  announce(bench, 0, report);
  return report;
}

export async function evaluateStage<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  set: EvaluationSet<I>,
): Promise<ValidationReport> {
  const { folder } = bench;
  if (await folder.has(stage, "validation.json")) return folder.readRecord(stage, "validation.json", validationReportSchema);
  const { report, rollouts } = await validate(bench, stage, set, stage + 1);
  await folder.writeFile(stage, "validation-rollouts.parquet", (path) => writeParquet(path, rolloutSchema, rollouts));
  await folder.writeRecord(stage, "validation.json", validationReportSchema, report);
  announce(bench, stage + 1, report);
  return report;
}

/** Base and last checkpoint on boards that no engineer was told about: the gain that is reported is not the one that was steered by. */
export async function evaluateHeldOut<I extends InstanceBase>(bench: Workbench<I>, set: EvaluationSet<I>): Promise<void> {
  const { folder, recipe } = bench;
  if (set.instances.length === 0) return;
  const last = recipe.stages - 1;
  // The last first: a server still has it.
  const checkpoints = { "held-out-last.json": last + 1, "held-out-base.json": 0 };
  for (const [name, checkpoint] of Object.entries(checkpoints)) {
    if (await folder.has("run", name)) continue;
    const { report } = await validate(bench, last, set, checkpoint);
    await folder.writeRecord("run", name, validationReportSchema, report);
  }
}

/** @param checkpoint 0 is the base, stage i's is i + 1. */
async function validate<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  set: EvaluationSet<I>,
  checkpoint: number,
): Promise<{ report: ValidationReport; rollouts: Rollout[] }> {
  const { family, recipe, objective } = bench;
  return inPhase(bench, stage, "evaluate", async (progress) => {
    const items = await evaluatePolicy({
      policy: await bench.checkpoints.open("policy", checkpoint, stage),
      family,
      instances: set.instances,
      // One stream for all checkpoints: sampled validations differ by the policy alone.
      seed: bench.seed.child("validation"),
      temperature: recipe.validation.temperature,
      maxTokens: recipe.validation.max_tokens,
      onProgress: progress,
      ...signalOf(bench),
    });
    const report = validationReport({
      stage,
      objective,
      setSha256: set.sha256,
      items: items.map(({ instance, verdict, tokens }) => ({
        stratum: family.stratum(instance),
        tags: family.tags(instance),
        verdict,
        tokens,
      })),
    });
    if (report.failed > 0) {
      const reason = items.find(({ failure }) => failure !== undefined)?.failure?.message;
      const message = `${report.failed} of ${items.length} boards had no answer and are in no rate: ${reason}`;
      bench.events.emit({ type: "warning", stage, message });
    }
    const rollouts = items.map(({ instance, completion, tokens, finishReason, verdict, failure }, i) => ({
      id: `${stage}/validation/0/${i}/0`,
      instance: instance.id,
      stratum: family.stratum(instance),
      stage,
      step: 0,
      sample: 0,
      completion,
      tokens,
      finish_reason: finishReason,
      ...(verdict === undefined ? {} : { verdict }),
      ...(failure === undefined ? {} : { failure }),
    }));
    return { report, rollouts };
  });
}

function announce(bench: Pick<Workbench, "events">, checkpoint: number, report: ValidationReport): void {
  bench.events.emit({ type: "validation", checkpoint, total: report.total, by_stratum: report.by_stratum });
}
