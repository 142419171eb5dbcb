/**
 * Engineer: whoever proposes the next config. One interface for policies, language models and rules; engineers.test.ts is the suite that
 * each of them passes. An engineer keeps no state: what it needs of earlier stages is in the context, so a run resumes from its files.
 */
import type { EnvironmentFamily, FinishReason, InfeasibleCell, KnobTable, Rendering, Seed } from "../core/index.js";
import type { EngineerContext } from "./context.js";
import type { Variant } from "./variants.js";

/** Why an earlier attempt at the same proposal was not usable. */
export interface Refusal {
  reason: string;
  /** Cells that the generator cannot make, if that was it. */
  infeasible: readonly InfeasibleCell[];
}

export interface EngineerRequest {
  context: EngineerContext;
  variant: Variant;
  family: EnvironmentFamily;
  /** Everything random in the answer comes from here; `attempt` is the index of its stream. */
  seed: Seed;
  /** 0 for the first. */
  attempt: number;
  /** One for each earlier attempt. */
  refusals: readonly Refusal[];
  /** 0 is greedy. */
  temperature: number;
  signal?: AbortSignal;
}

export interface EngineerReply {
  /** The answer exactly as it was given, for the record. */
  raw: string;
  tokens: number;
  /** How the context was shown; `none` for engineers that compute. */
  rendering: "chat" | "compact" | "none";
  content:
    | { kind: "text"; finish: FinishReason }
    | { kind: "knobs"; table: KnobTable; rationale: string }
    /** Nobody answered: an outside failure, or nothing to propose. */
    | { kind: "failure"; message: string };
}

export interface Engineer {
  readonly name: string;
  /** How a context is shown to it; absent for an engineer that computes. */
  readonly rendering?: Rendering;
  propose(request: EngineerRequest): Promise<EngineerReply>;
}

/** An engineer that computes: `compute` is a pure function of its request, its answer a table, its raw answer that table as JSON. */
export function computingEngineer(
  name: string,
  compute: (request: EngineerRequest) => { table: KnobTable; rationale: string } | { failure: string },
): Engineer {
  return {
    name,
    async propose(request) {
      const computed = compute(request);
      if ("failure" in computed) {
        return { raw: "", tokens: 0, rendering: "none", content: { kind: "failure", message: computed.failure } };
      }
      const table = withoutInfeasible(computed.table, request);
      const raw = JSON.stringify({ rationale: computed.rationale, config: table });
      return { raw, tokens: 0, rendering: "none", content: { kind: "knobs", table, rationale: computed.rationale } };
    },
  };
}

/** Strata that could not be generated keep the ratios they had, which could. */
function withoutInfeasible(table: KnobTable, { family, context, refusals }: EngineerRequest): KnobTable {
  const refused = new Set(refusals.flatMap((r) => r.infeasible.map((cell) => cell.stratum)));
  if (refused.size === 0) return table;
  const previous = family.knobTable(context.config);
  const ratios = family.knobs.filter((k) => k.kind === "ratio").map((k) => k.name);
  return Object.fromEntries(
    Object.entries(table).map(([stratum, row]) => {
      if (!refused.has(stratum)) return [stratum, row];
      const kept = ratios.flatMap((name) => (previous[stratum]?.[name] === undefined ? [] : [[name, previous[stratum][name]] as const]));
      return [stratum, { ...row, ...Object.fromEntries(kept) }];
    }),
  );
}
