/**
 * The closed loop, top to bottom, as in the paper's figure (arXiv 2606.17682, section 3):
 *
 *   config → instances → prompts → rollouts → verdicts → rewards → training → evaluation → failures → proposal → next config
 *
 * Each step below is one arrow or a few. A step whose record is already in the run folder is read back instead of done again: that is
 * all there is to resuming. Random streams are named by stage and purpose, so a resumed run writes the bytes of an uninterrupted one.
 */
import type { InstanceBase } from "../core/index.js";
import { takeStage } from "./stage-reuse.js";
import {
  diagnose,
  evaluateBase,
  evaluateHeldOut,
  evaluateStage,
  evaluationSets,
  generateStage,
  propose,
  settleConfig,
  trainStage,
} from "./steps/index.js";
import type { Workbench } from "./workbench.js";

export async function closedLoop<I extends InstanceBase>(bench: Workbench<I>): Promise<void> {
  const { validation, heldOut } = await evaluationSets(bench);
  const reports = [await evaluateBase(bench, validation)];

  for (let stage = 0; stage < bench.recipe.stages; stage++) {
    const config = await settleConfig(bench, stage, reports);
    await takeStage(bench, stage);
    const { instances, manifest } = await generateStage(bench, stage, config, [validation, heldOut]);
    const training = await trainStage(bench, stage, config, instances);
    const report = await evaluateStage(bench, stage, validation);
    reports.push(report);
    await diagnose(bench, stage, { report, training, manifest, set: validation });
    if (stage + 1 < bench.recipe.stages) await propose(bench, stage);
  }
  await evaluateHeldOut(bench, heldOut);
}
