/** Proposal → config. */
import {
  type InstanceBase,
  proposalSchema,
  SCHEMA_VERSION,
  type StageConfig,
  stageConfigSchema,
  type ValidationReport,
} from "../../core/index.js";
import { shouldRollback } from "../../engineers/index.js";
import type { Workbench } from "../workbench.js";

/** The stage's config: random or given for the first, then the last proposal's, or that of the checkpoint that is returned to. */
export async function settleConfig<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  reports: readonly ValidationReport[],
): Promise<StageConfig> {
  const { folder, family, recipe, seed } = bench;
  if (await folder.has(stage, "config.json")) return folder.readRecord(stage, "config.json", stageConfigSchema);
  let settled: Pick<StageConfig, "requested" | "provenance" | "from_checkpoint">;
  if (stage === 0) {
    const requested =
      recipe.initial === "random"
        ? family.randomConfig(bench.template, seed.child("first-config").at(0))
        : family.configSchema.parse(recipe.config);
    settled = { requested, provenance: { source: "initial" }, from_checkpoint: 0 };
  } else {
    const proposal = await folder.readRecord(stage - 1, "proposal.json", proposalSchema);
    settled = { requested: proposal.config, provenance: proposal.provenance, from_checkpoint: stage };
    const rollback = recipe.engineer.guardrails.rollback ? shouldRollback(reports) : undefined;
    if (rollback !== undefined) {
      bench.events.emit({ type: "warning", stage, message: `returning to checkpoint ${rollback.to}: ${rollback.reason}` });
      settled = { ...settled, provenance: { ...proposal.provenance, source: "rollback" }, from_checkpoint: rollback.to };
      // The base checkpoint was trained under no config of this run: the proposal stands.
      if (rollback.to > 0) settled.requested = (await folder.readRecord(rollback.to - 1, "config.json", stageConfigSchema)).normalised;
    }
  }
  const { config, repairs } = family.normalise(family.configSchema.parse(settled.requested));
  const record: StageConfig = { schema_version: SCHEMA_VERSION, stage, normalised: config, repairs, ...settled };
  await folder.writeRecord(stage, "config.json", stageConfigSchema, record);
  return record;
}
