/** Proposals for one stage side by side: how far each goes from a config, whether it follows the evidence, and what it cost in tokens. */
import { type EnvironmentFamily, type FailureSummary, type KnobTable, mean, type Proposal } from "../core/index.js";
import { totalVariation } from "./guardrails.js";
import { type Correlation, evidenceAlignment } from "./measures.js";

export interface KnobDistance {
  /** Total variation between the data ratios, in [0, 1]; the mean where a family has several share knobs. */
  shares: number;
  /** Mean absolute difference of the other knobs, each as a part of its range, in [0, 1]. */
  ratios: number;
}

export function knobDistance(a: KnobTable, b: KnobTable, family: EnvironmentFamily): KnobDistance {
  const strata = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  const column = (table: KnobTable, knob: string) => strata.map((s) => table[s]?.[knob] ?? 0);
  const shares = family.knobs.filter((k) => k.kind === "share").map((k) => totalVariation(column(a, k.name), column(b, k.name)));
  const ratios = family.knobs
    .filter((k) => k.kind === "ratio")
    .flatMap((k) => {
      const [from, to] = [column(a, k.name), column(b, k.name)];
      return from.map((value, i) => Math.abs(value - to[i]!) / (k.max - k.min));
    });
  return { shares: mean(shares), ratios: mean(ratios) };
}

export interface ProposalComparison {
  engineer: string;
  variant: string;
  outcome: Proposal["outcome"];
  /** Times it was asked, and the tokens of all its answers. */
  asked: number;
  tokens: number;
  /** From the config of the stage. */
  change: KnobDistance;
  /** From the proposal that the run took; absent where it took none. */
  from_taken?: KnobDistance;
  /** Knob → rank correlation over the strata of this stage: share of the failures that it answers, and its change. */
  evidence_alignment: Record<string, Correlation>;
}

export function compareProposals(
  proposals: readonly Proposal[],
  stage: { config: unknown; failures: FailureSummary; taken: Proposal | undefined },
  family: EnvironmentFamily,
): ProposalComparison[] {
  const tableOf = (config: unknown) => family.knobTable(family.configSchema.parse(config));
  const before = tableOf(stage.config);
  return proposals.map((proposal) => {
    const after = tableOf(proposal.config);
    return {
      engineer: proposal.engineer,
      variant: proposal.variant,
      outcome: proposal.outcome,
      asked: proposal.attempts.length,
      tokens: proposal.attempts.reduce((sum, a) => sum + a.tokens, 0),
      change: knobDistance(before, after, family),
      ...(stage.taken === undefined ? {} : { from_taken: knobDistance(tableOf(stage.taken.config), after, family) }),
      evidence_alignment: evidenceAlignment([{ failures: stage.failures, before, after }], family),
    };
  });
}
