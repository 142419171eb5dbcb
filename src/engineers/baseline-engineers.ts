/**
 * The engineers to compare with: `hardest`, `random`, `fixed` and `replay`. None of them reads more of the evidence than is said at each.
 */
import type { KnobTable, Proposal } from "../core/index.js";
import { computingEngineer, type Engineer } from "./engineer.js";
import { validRates, withShares } from "./shares.js";

/** All data at the stratum with the lowest valid rate, the later one of equals; ratios stay. */
export function hardestEngineer(): Engineer {
  return computingEngineer("hardest", ({ context, family }) => {
    const rates = validRates(context, family).map((p) => p ?? Number.POSITIVE_INFINITY);
    const hardest = rates.lastIndexOf(Math.min(...rates));
    const stratum = family.strata(context.config)[hardest];
    const weights = rates.map((p, i) => (i === hardest && Number.isFinite(p) ? 1 : 0));
    return {
      table: withShares(context, family, weights),
      rationale: `All data at ${family.stratumLabel} ${stratum}, where least succeeds.`,
    };
  });
}

/** A fresh random config of the family for every stage; reads nothing. */
export function randomEngineer(): Engineer {
  return computingEngineer("random", ({ context, family, seed, attempt }) => ({
    table: family.knobTable(family.randomConfig(context.config, seed.child("random-config").at(attempt))),
    rationale: "A fresh random config.",
  }));
}

/** The config that the run started from, throughout; or a given one, the control. Reads nothing. */
export function fixedEngineer(given?: KnobTable): Engineer {
  return computingEngineer("fixed", ({ context, family }) => ({
    table: given ?? family.knobTable((context.history[0] ?? context).config),
    rationale: given === undefined ? "The config that the run started from." : "The given config.",
  }));
}

/** The proposals of an earlier run, stage by stage; a stage that it does not have keeps its config. */
export function replayEngineer(proposals: readonly Proposal[]): Engineer {
  return computingEngineer("replay", ({ context, family }) => {
    const proposal = proposals.find((p) => p.stage === context.stage);
    if (proposal === undefined) return { failure: `the earlier run has no proposal after stage ${context.stage}` };
    const config = family.configSchema.safeParse(proposal.config);
    if (!config.success) return { failure: `the earlier run's config after stage ${context.stage} is not one of ${family.name}` };
    return { table: family.knobTable(config.data), rationale: `As ${proposal.engineer} proposed: ${proposal.rationale}`.trim() };
  });
}
