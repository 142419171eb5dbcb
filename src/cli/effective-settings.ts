/**
 * What an evaluation really asks with. A policy may bring settings of its own, which win over the command line's: they are what is stored,
 * planned with and compared on --resume, so that no evaluation mixes answers of two models or two samplings.
 */
import { createHash } from "node:crypto";
import { ConfigError, canonicalJson, InputError, type Policy, type Rendering } from "../core/index.js";
import { withoutAddress } from "../policies/endpoint/address.js";
import type { Continuation, EvaluationRequest } from "./evaluation-run.js";

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

/** Where an evaluation is asked now: as it was started, or as it was gone on with last. */
export function presentPolicy({ policy, settings, continued }: EvaluationRequest): { policy: string; base_url?: unknown } {
  return continued?.at(-1) ?? { policy, base_url: settings?.base_url };
}

/** The policy, where `spec` asks it elsewhere than before; undefined where nothing is to be added to eval.json. */
export function continuationOf(request: EvaluationRequest, spec: string, policy: Pick<Policy, "settings">): Continuation | undefined {
  const present = presentPolicy(request);
  const url = policy.settings?.base_url;
  if (typeof url !== "string" || typeof present.base_url !== "string") return undefined;
  return url === present.base_url && spec === present.policy ? undefined : { policy: spec, base_url: url };
}

/** @throws {InputError} for a --policy beside --resume that is no other address of the policy that the evaluation was started with. */
export function requireMovedPolicy(request: EvaluationRequest, spec: string, policy: Pick<Policy, "name" | "settings">): void {
  const name = request.policy_name ?? request.policy;
  const isSame = request.settings_sha256 !== undefined && withoutAddress(name) === withoutAddress(policy.name);
  if (isSame && typeof policy.settings?.base_url === "string" && spec !== presentPolicy(request).policy) return;
  const why =
    spec === presentPolicy(request).policy
      ? "changes nothing"
      : request.settings_sha256 === undefined
        ? "cannot be compared with what eval.json, made before settings were kept, says of its policy"
        : `is another policy than ${name}`;
  throw new InputError({
    message: `--policy ${spec} ${why}: --resume asks the policy that the evaluation was started with`,
    value: spec,
    expected: `--resume DIR alone, or ${withoutAddress(name)} at another address where it is an endpoint's`,
    remedy: "leave --policy out, or start a new evaluation",
  });
}

/**
 * The base URL may be another: the same policy, moved.
 * @throws {InputError} when the policy is not what the evaluation was started with. Folders without a hash say nothing and are let pass.
 */
export function requireSamePolicy(request: EvaluationRequest, policy: Pick<Policy, "settings"> & Partial<Pick<Policy, "name">>): void {
  if (request.settings_sha256 === undefined) return;
  // Another preset sends other fields under the same settings: its name tells.
  const named = (settings: Pick<Policy, "settings">["settings"], name: string | undefined): Record<string, unknown> => ({
    ...settings,
    ...(request.policy_name === undefined || policy.name === undefined || name === undefined ? {} : { policy: withoutAddress(name) }),
  });
  const [before, now] = [named(request.settings, request.policy_name), named(policy.settings, policy.name)];
  const differing = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (name) => canonicalJson({ is: before[name] }) !== canonicalJson({ is: now[name] }),
  );
  const hasMoved = typeof before.base_url === "string" && typeof now.base_url === "string";
  if (differing.length === 0 || (hasMoved && differing.join() === "base_url")) return;
  const fields = differing.filter((name) => name !== "policy");
  const told = fields.every((name) => name === "base_url") ? differing : fields;
  throw new InputError({
    message: `${request.policy} has changed since the evaluation was started: ${told.sort().join(", ")}`,
    value: Object.fromEntries(told.map((name) => [name, now[name] ?? null])),
    expected: `the settings in eval.json: ${canonicalJson(Object.fromEntries(told.map((name) => [name, before[name] ?? null])))}`,
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
