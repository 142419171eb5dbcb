/** Reports → failures: what the engineer is told. */
import {
  type DatasetManifest,
  type FailureSummary,
  failureSummarySchema,
  type InstanceBase,
  type KnobTable,
  rolloutSchema,
  type TrainingSummary,
  type ValidationReport,
} from "../../core/index.js";
import { failureSummary } from "../../diagnosis/index.js";
import { readParquet } from "../../store/index.js";
import type { EvaluationSet } from "../evaluation-sets.js";
import type { Workbench } from "../workbench.js";
import { inPhase } from "./phases.js";

/** Verdicts → what the engineer is told. */
export async function diagnose<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  evidence: { report: ValidationReport; training: TrainingSummary; manifest: DatasetManifest; set: EvaluationSet<I> },
): Promise<FailureSummary> {
  const { folder, family, recipe } = bench;
  if (await folder.has(stage, "failures.json")) return folder.readRecord(stage, "failures.json", failureSummarySchema);
  const summary = await inPhase(bench, stage, "diagnose", async () => {
    const { report, training, manifest, set } = evidence;
    const knobs = (which: "requested" | "realised"): KnobTable =>
      Object.fromEntries(Object.entries(manifest.strata).map(([stratum, cell]) => [stratum, cell[which]]));
    const count = recipe.engineer.examples;
    // People and language models read boards as text, whatever the policy reads.
    const readsText = ["llm", "human"].includes(recipe.engineer.name) || recipe.engineer.approve;
    const rollouts = count === 0 ? [] : await readParquet(await folder.verified(stage, "validation-rollouts.parquet"), rolloutSchema);
    return failureSummary({
      stage,
      report,
      training,
      environment: { requested: knobs("requested"), realised: knobs("realised") },
      examples: {
        count,
        seed: bench.seed.child("stage", stage, "examples"),
        candidates: rollouts.flatMap(({ stratum, completion, verdict }, i) =>
          verdict === undefined || verdict.ok
            ? []
            : [
                {
                  stratum,
                  code: verdict.code,
                  prompt: family.prompt(set.instances[i]!, readsText ? "chat" : recipe.rendering),
                  completion,
                  reason: verdict.reason,
                },
              ],
        ),
      },
    });
  });
  await folder.writeRecord(stage, "failures.json", failureSummarySchema, summary);
  return summary;
}
