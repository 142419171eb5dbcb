/**
 * Engineers that are models: `self` (the checkpoint that has just been trained), `base` (the first one, frozen) and `llm`. They differ in
 * the policy behind them alone. The context is rendered as the policy reads it; the answer is text, to be decoded by decode.ts.
 */
import type { CompletionRequest, Policy } from "../core/index.js";
import { answerSchema } from "./answer-format.js";
import { type ChatOptions, renderChat } from "./chat-rendering.js";
import { answerWords } from "./compact-language.js";
import { type CompactOptions, renderCompact } from "./compact-rendering.js";
import type { Engineer, EngineerRequest } from "./engineer.js";

export interface ModelEngineerOptions {
  chat?: ChatOptions;
  compact?: CompactOptions;
  /** Tokens of a chat answer, thinking included. A compact answer has as many as its grammar, and the end. */
  maxTokens?: number;
}

/** A retry in the compact rendering cannot be told why, so it is sampled at this temperature or above. */
const RETRY_TEMPERATURE = 0.7;

export function modelEngineer(name: string, policy: Policy, options: ModelEngineerOptions = {}): Engineer {
  return {
    name,
    rendering: policy.rendering,
    async propose(request) {
      const { rendering } = policy;
      const asked = completionRequest(request, rendering, options);
      const [answer] = await policy.complete([asked], request.signal === undefined ? {} : { signal: request.signal });
      if (answer === undefined)
        return { raw: "", tokens: 0, rendering, content: { kind: "failure", message: `${policy.name} gave no answer` } };
      if ("failure" in answer) {
        const { boundary, message, attempts } = answer.failure;
        return {
          raw: "",
          tokens: 0,
          rendering,
          content: { kind: "failure", message: `${boundary}: ${message} (after ${attempts} attempts)` },
        };
      }
      return { raw: answer.text, tokens: answer.tokens, rendering, content: { kind: "text", finish: answer.finishReason } };
    },
  };
}

/** What a policy of this rendering is asked; its prompt is the text to keep as the stage's context. */
export function completionRequest(
  request: EngineerRequest,
  rendering: Policy["rendering"],
  options: ModelEngineerOptions = {},
): CompletionRequest {
  const { context, variant, family, seed, attempt, refusals, temperature } = request;
  const strata = family.strata(context.config);
  const stream = { seed: seed.child("answer").path, index: attempt };
  if (rendering === "compact") {
    const words = answerWords(strata, family);
    return {
      ...stream,
      prompt: renderCompact(context, variant, family, options.compact),
      maxTokens: words.length + 1,
      temperature: attempt === 0 ? temperature : Math.max(temperature, RETRY_TEMPERATURE),
      words,
    };
  }
  const reasons = refusals.map((r, i) => `- attempt ${i + 1}: ${r.reason}`);
  const retry = reasons.length === 0 ? "" : `\n## Refused answers\n\nYour earlier answers could not be used:\n\n${reasons.join("\n")}\n`;
  return {
    ...stream,
    prompt: renderChat(context, variant, family, options.chat) + retry,
    maxTokens: options.maxTokens ?? 4096,
    temperature,
    jsonSchema: answerSchema(strata, family),
  };
}
