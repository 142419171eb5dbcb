/**
 * What an evaluation would ask, before anything is spent: how many completions, how many tokens, and what they cost where prices are given.
 * Says of every estimate how it was made. Asks nobody.
 */
import { canonicalJson, type InstanceBase, type Rendering } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import type { SetReport } from "../evaluation/index.js";
import type { Slot } from "./evaluation-ledger.js";
import type { EvaluationRequest } from "./evaluation-run.js";

const CHARACTERS_PER_TOKEN = 4;

export interface TokenEstimate {
  total: number;
  /** How the number came about; "at most" for a bound. */
  method: string;
}

export interface EvaluationPlan extends EvaluationRequest {
  instances: number;
  /** Still to be asked; on --resume what is missing or failed. */
  completions: number;
  prompt_tokens: TokenEstimate;
  completion_tokens: TokenEstimate;
  /** US dollars; null without prices. */
  price: { total: number; method: string } | null;
  first_prompt: string;
}

export interface PlanInput {
  request: EvaluationRequest;
  family: AnyFamily;
  instances: readonly InstanceBase[];
  rendering: Rendering;
  slots: readonly Slot[];
  /** An earlier evaluation whose measured lengths are taken. */
  earlier: { dir: string; report: SetReport } | undefined;
}

export async function planEvaluation({ request, family, instances, rendering, slots, earlier }: PlanInput): Promise<EvaluationPlan> {
  const prompt = (instance: InstanceBase) => family.prompt(instance, rendering);
  const times = new Uint32Array(instances.length);
  for (const { instance } of slots) times[instance]! += 1;
  const total = (tokens: (text: string) => number) =>
    instances.reduce((sum, instance, i) => (times[i] === 0 ? sum : sum + times[i]! * tokens(prompt(instance))), 0);
  const measured = earlier?.report.total;
  const prompts = await promptTokens(request.policy, total, measured?.prompt_tokens ?? null, earlier?.dir, slots.length);
  const answers = measured !== undefined && measured.answers > 0
    ? { total: Math.round(slots.length * measured.tokens), method: `mean of ${measured.answers} answers in ${earlier!.dir}` }
    : { total: slots.length * request.max_tokens, method: `at most: ${request.max_tokens} (${request.settings?.max_tokens === undefined ? "--max-tokens" : "the policy file"}) for each` }; // biome-ignore format: one expression
  const { prices } = request;
  return {
    ...request,
    instances: instances.length,
    completions: slots.length,
    prompt_tokens: prompts,
    completion_tokens: answers,
    price:
      prices === undefined
        ? null
        : {
            total: (prompts.total * prices.input + answers.total * prices.output) / 1e6,
            method: `$${prices.input} and $${prices.output} for a million tokens of prompts and completions; ${answers.method}`,
          },
    first_prompt: instances[0] === undefined ? "" : prompt(instances[0]),
  };
}

async function promptTokens(
  policy: string,
  total: (tokens: (text: string) => number) => number,
  measured: number | null,
  dir: string | undefined,
  count: number,
): Promise<TokenEstimate> {
  if (policy.startsWith("embedded:")) {
    const { readCheckpoint } = await import("../nn/index.js");
    const { tokenizer } = await readCheckpoint(policy.slice("embedded:".length));
    return { total: total((text) => tokenizer.encode(text).length), method: "exact: the checkpoint's tokenizer" };
  }
  if (measured !== null) return { total: Math.round(count * measured), method: `mean of the prompts in ${dir}` };
  return {
    total: total((text) => Math.ceil(text.length / CHARACTERS_PER_TOKEN)),
    method: `estimated: one token for ${CHARACTERS_PER_TOKEN} characters`,
  };
}

/** The plan as lines of text, the first prompt last. */
export function planText({ first_prompt, prompt_tokens, completion_tokens, price, prices: _, ...rest }: EvaluationPlan): string {
  return [
    ...Object.entries(rest).map(([name, value]) => `${name}: ${typeof value === "object" ? canonicalJson(value) : value}`),
    `prompt tokens: ${prompt_tokens.total} (${prompt_tokens.method})`,
    `completion tokens: ${completion_tokens.total} (${completion_tokens.method})`,
    price === null
      ? "price: unknown (give --price-in and --price-out, in US dollars for a million tokens)"
      : `price: $${price.total.toFixed(4)} (${price.method})`,
    `first prompt:\n${first_prompt}`,
  ].join("\n");
}
