/**
 * proposeNext: context → proposal. Asks the engineer, decodes, repairs what has one meaning, applies the guardrails and checks that the
 * config can be generated; asks again with the reason while attempts are left, then keeps the previous config. It never stops a run: only
 * an interruption, the loss of the run's own server or a mistake in the program passes through.
 */
import {
  BoundaryError,
  type EngineerOptions,
  type EnvironmentFamily,
  type GuardrailAction,
  type InfeasibleCell,
  type KnobTable,
  type Proposal,
  type Repair,
  SCHEMA_VERSION,
  type Seed,
  ServingError,
} from "../core/index.js";
import type { EngineerContext } from "./context.js";
import { type Decoded, decodeChatAnswer, decodeCompactAnswer } from "./decode.js";
import type { Engineer, EngineerReply, Refusal } from "./engineer.js";
import { applyGuardrails } from "./guardrails.js";
import { readTable, type TableTarget } from "./knob-table.js";
import type { Variant } from "./variants.js";

export interface ProposeInput {
  engineer: Engineer;
  context: EngineerContext;
  variant: Variant;
  family: EnvironmentFamily;
  options: Pick<EngineerOptions, "attempts" | "temperature" | "guardrails">;
  /** Seed of this stage's proposal; attempts are streams of it. */
  seed: Seed;
  signal?: AbortSignal;
}

export async function proposeNext(input: ProposeInput): Promise<Proposal> {
  const { engineer, context, variant, family, options } = input;
  const target: TableTarget = { family, strata: family.strata(context.config), previous: family.knobTable(context.config) };
  const attempts: Proposal["attempts"] = [];
  const refusals: Refusal[] = [];
  let rendering: Proposal["rendering"] = "none";
  for (let attempt = 0; attempt < options.attempts; attempt++) {
    const reply = await ask(input, attempt, refusals);
    rendering = reply.rendering;
    const outcome = settle(reply, target, input);
    if (outcome.ok) {
      attempts.push({ raw: reply.raw, tokens: reply.tokens });
      return {
        ...header(input, rendering),
        attempts,
        rationale: outcome.rationale,
        outcome: outcome.repairs.length > 0 ? "repaired" : "accepted",
        reasons: refusals.map((r) => r.reason),
        repairs: outcome.repairs,
        guardrails: outcome.guardrails,
        config: outcome.config,
        provenance: { source: "proposal", engineer: engineer.name, variant: variant.name, from_stage: context.stage },
      };
    }
    attempts.push({ raw: reply.raw, tokens: reply.tokens, error: outcome.reason });
    refusals.push({ reason: outcome.reason, infeasible: outcome.infeasible });
  }
  return {
    ...header(input, rendering),
    attempts,
    rationale: "",
    outcome: "rejected",
    reasons: refusals.map((r) => r.reason),
    repairs: [],
    guardrails: [],
    config: context.config,
    provenance: { source: "previous", engineer: engineer.name, variant: variant.name, from_stage: context.stage },
  };
}

function header({ engineer, context, variant }: ProposeInput, rendering: Proposal["rendering"]) {
  return { schema_version: SCHEMA_VERSION, stage: context.stage, engineer: engineer.name, variant: variant.name, rendering } as const;
}

async function ask(input: ProposeInput, attempt: number, refusals: readonly Refusal[]): Promise<EngineerReply> {
  const { engineer, context, variant, family, options, seed, signal } = input;
  try {
    return await engineer.propose({
      context,
      variant,
      family,
      seed,
      attempt,
      refusals: [...refusals],
      temperature: options.temperature,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    // Without its server the policy has not answered at all: that is no proposal of it.
    if (!(error instanceof BoundaryError) || error instanceof ServingError) throw error;
    const message = `${error.boundary}: ${error.message}`;
    return { raw: "", tokens: 0, rendering: "none", content: { kind: "failure", message } };
  }
}

type Settled =
  | { ok: true; config: unknown; rationale: string; repairs: Repair[]; guardrails: GuardrailAction[] }
  | { ok: false; reason: string; infeasible: readonly InfeasibleCell[] };

/** One reply → a config that satisfies the family's schema and can be generated, or the reason why not. */
function settle(reply: EngineerReply, target: TableTarget, { context, family, options }: ProposeInput): Settled {
  const decoded = decode(reply, target);
  if (!decoded.ok) return { ...decoded, infeasible: [] };
  const guarded = applyGuardrails(decoded.table, context, family, options.guardrails);
  const parsed = family.configSchema.safeParse(family.withKnobs(context.config, guarded.table));
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    return { ok: false, reason: `not a config of ${family.name}: ${issues.slice(0, 5).join("; ")}`, infeasible: [] };
  }
  const { config, repairs } = family.normalise(parsed.data);
  const infeasible = family.infeasible(config);
  if (infeasible.length > 0) {
    const cells = infeasible.map((c) => `${family.stratumLabel} ${c.stratum}: ${c.problem} (nearest: ${c.nearest})`);
    return { ok: false, reason: `cannot be generated: ${cells.join("; ")}`, infeasible };
  }
  return { ok: true, config, rationale: decoded.rationale, repairs: [...decoded.repairs, ...repairs], guardrails: guarded.actions };
}

function decode({ raw, rendering, content }: EngineerReply, target: TableTarget): Decoded {
  if (content.kind === "failure") return { ok: false, reason: content.message };
  if (content.kind === "text") {
    return rendering === "compact" ? decodeCompactAnswer(raw, target) : decodeChatAnswer(raw, content.finish, target);
  }
  const read = readTable(content.table as KnobTable, target);
  return read.ok ? { ...read, rationale: content.rationale } : read;
}
