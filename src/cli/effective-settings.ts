/**
 * What an evaluation really asks with. A policy may bring settings of its own, which win over the command line's: they are what is stored,
 * planned with and compared on --resume, so that no evaluation mixes answers of two models or two samplings.
 */
import { createHash } from "node:crypto";
import { ConfigError, canonicalJson, InputError, type Policy, type Rendering } from "../core/index.js";
import type { EvaluationRequest } from "./evaluation-run.js";

/** Longest completion unless given: a plan in the compact rendering, thinking and prose before the plan in chat. */
const MOST_TOKENS: Readonly<Record<Rendering, number>> = { compact: 128, chat: 4096 };

/** Share of truncated answers above which the limit, and not the policy, may be what is measured. */
const MANY_TRUNCATED = 0.2;

export interface AskedSampling {
  temperature: number | undefined;
  maxTokens: number | undefined;
  samples: number;
}

type Settled = Pick<EvaluationRequest, "policy_name" | "settings" | "settings_sha256" | "temperature" | "top_p" | "max_tokens">;
type Described = Pick<Policy, "name" | "rendering" | "settings">;

/** The values that are sent, with what brought them. Tells of every one that the command line gave in vain. @throws {ConfigError} */
export function effectiveSettings(spec: string, policy: Described, asked: AskedSampling, note: (text: string) => void): Settled {
  const { settings } = policy;
  const own = (name: string): number | undefined => {
    const value = settings?.[name];
    if (value === undefined || typeof value === "number") return value;
    throw new ConfigError({ message: `${spec}: ${name} is not a number`, value, expected: "a number", remedy: "correct the policy file" });
  };
  const temperature = own("temperature");
  const maxTokens = own("max_tokens");
  const topP = own("top_p");
  const inVain = (option: string, given: number | undefined, used: number | undefined) => {
    if (given !== undefined && used !== undefined && given !== used) note(`${option} ${given} has no effect: ${spec} sets ${used}`);
  };
  inVain("--temperature", asked.temperature, temperature);
  inVain("--max-tokens", asked.maxTokens, maxTokens);
  return {
    ...(policy.name === spec ? {} : { policy_name: policy.name }),
    ...(settings === undefined ? {} : { settings: settings as NonNullable<Settled["settings"]>, settings_sha256: settingsHash(settings) }),
    temperature: temperature ?? asked.temperature ?? (asked.samples > 1 ? 1 : 0),
    ...(topP === undefined ? {} : { top_p: topP }),
    max_tokens: maxTokens ?? asked.maxTokens ?? MOST_TOKENS[policy.rendering],
  };
}

/** SHA-256 of the canonical JSON. */
export function settingsHash(settings: Readonly<Record<string, unknown>>): string {
  return createHash("sha256").update(canonicalJson(settings)).digest("hex");
}

/** @throws {InputError} when the policy is not what the evaluation was started with. Folders without a hash say nothing and are let pass. */
export function requireSamePolicy(request: EvaluationRequest, policy: Pick<Policy, "settings">): void {
  if (request.settings_sha256 === undefined) return;
  const now = policy.settings ?? {};
  if (settingsHash(now) === request.settings_sha256) return;
  const before = request.settings ?? {};
  const differing = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (name) => canonicalJson({ is: before[name] }) !== canonicalJson({ is: now[name] }),
  );
  throw new InputError({
    message: `${request.policy} has changed since the evaluation was started: ${differing.sort().join(", ")}`,
    value: Object.fromEntries(differing.map((name) => [name, now[name] ?? null])),
    expected: `the settings in eval.json: ${canonicalJson(Object.fromEntries(differing.map((name) => [name, before[name] ?? null])))}`,
    remedy: "restore the policy file or the checkpoint, or start a new evaluation",
  });
}

/** A warning where many answers ran into the limit; undefined where few did. */
export function truncationNote(
  { answers, codes }: { answers: number; codes: Readonly<Record<string, number>> },
  limit: number,
): string | undefined {
  const truncated = codes.truncated ?? 0;
  if (truncated <= MANY_TRUNCATED * answers) return undefined;
  return `warning: ${truncated} of ${answers} answers (${((100 * truncated) / answers).toFixed(0)} %) were truncated at ${limit} tokens; a larger --max-tokens (or max_tokens of the policy file) measures the policy and not the limit`;
}
