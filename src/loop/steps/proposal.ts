/** Failures → proposal. */
import { type InstanceBase, type Policy, type Proposal, proposalSchema } from "../../core/index.js";
import { humanEngineer, proposeNext, sameKnobs } from "../../engineers/index.js";
import { contextOfStage, contextText, type EngineerPolicies, engineerFor, openLanguageModel } from "../engineering.js";
import { humanDesk } from "../human-desk.js";
import type { Workbench } from "../workbench.js";
import { inPhase, signalOf } from "./phases.js";

/** Asks the engineer for the next config and stores what it was shown, what it said and what became of it. */
export async function propose<I extends InstanceBase>(bench: Workbench<I>, stage: number): Promise<Proposal> {
  const { folder, recipe, variant, family } = bench;
  if (await folder.has(stage, "proposal.json")) return folder.readRecord(stage, "proposal.json", proposalSchema);
  const proposal = await inPhase(bench, stage, "propose", async () => {
    const context = await contextOfStage(folder, stage, family);
    const asked = { context, variant, family, seed: bench.seed.child("stage", stage, "proposal"), ...signalOf(bench) };
    const options = recipe.engineer;
    // A person is asked until the answer can be used.
    const patient = { ...options, attempts: Number.POSITIVE_INFINITY };
    const desk = humanDesk({ folder, stage, events: bench.events });
    const opened: Policy[] = [];
    const policies: EngineerPolicies = {
      self: () => bench.checkpoints.open("self", stage + 1, stage),
      base: () => bench.checkpoints.open("base", 0, stage),
      llm: async () => {
        const model = await openLanguageModel(options, bench.openPolicy, { family, objective: bench.objective, workers: bench.workers });
        opened.push(model);
        return model;
      },
    };
    try {
      const engineer = await engineerFor(options, family, policies, desk);
      const rendering = engineer.rendering ?? (options.approve ? "chat" : recipe.rendering);
      await folder.writeText(stage, "context.md", contextText(context, variant, family, rendering, options));
      if (options.name === "human") return await proposeNext({ engineer, options: patient, ...asked });
      if (!options.approve) return await proposeNext({ engineer, options, ...asked });
      const draft = (await folder.has(stage, "draft.json"))
        ? await folder.readRecord(stage, "draft.json", proposalSchema)
        : await proposeNext({ engineer, options, ...asked });
      await folder.writeRecord(stage, "draft.json", proposalSchema, draft);
      const settled = await proposeNext({ engineer: humanEngineer(desk, draft), options: patient, ...asked });
      const table = (p: Proposal) => family.knobTable(family.configSchema.parse(p.config));
      return sameKnobs(table(draft), table(settled)) ? draft : settled;
    } finally {
      for (const model of opened) await model.close();
    }
  });
  await folder.writeRecord(stage, "proposal.json", proposalSchema, proposal);
  const { engineer, outcome, reasons, config } = proposal;
  bench.events.emit({ type: "proposal", stage, engineer, variant: variant.name, outcome, reasons, config });
  return proposal;
}
