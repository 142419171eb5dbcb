/**
 * The body of a chat completion → one outcome a choice. Tells an answer (even a wrong or empty one: that is the model's) from a choice in
 * which there is none (that is the endpoint's, and is asked again). Reasoning is taken from `reasoning`, `reasoning_content` or think tags.
 */
import { z } from "zod";
import type { Completion, CompletionUsage, FinishReason } from "../../core/index.js";

const text = z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]).nullish();
const choiceSchema = z.looseObject({
  index: z.int().nullish(),
  finish_reason: z.string().nullish(),
  message: z.looseObject({
    content: text,
    refusal: z.string().nullish(),
    reasoning: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(z.unknown()).nullish(),
  }),
});
const count = z.number().nonnegative().nullish();
export const chatResponseSchema = z.looseObject({
  id: z.string().nullish(),
  model: z.string().nullish(),
  choices: z.array(choiceSchema),
  usage: z
    .looseObject({
      prompt_tokens: count,
      completion_tokens: count,
      completion_tokens_details: z.looseObject({ reasoning_tokens: count }).nullish(),
    })
    .nullish(),
});
export type ChatResponse = z.infer<typeof chatResponseSchema>;
type Choice = z.infer<typeof choiceSchema>;

/** Characters to a token where the endpoint does not count. */
const CHARACTERS = 4;
const LENGTH = new Set(["length", "max_tokens", "max_output_tokens", "MAX_TOKENS"]);
/** The endpoint ended the answer, not the model. */
const ENDED = new Set(["error", "abort", "content_filter", "insufficient_system_resource"]);

export type ChoiceOutcome = { completion: Completion } | { problem: string; isFinal: boolean };

/** Usage of the whole response, estimated where it gives none. */
export function usageOf({ usage, choices }: ChatResponse, prompt: string): CompletionUsage {
  const { prompt_tokens, completion_tokens, completion_tokens_details } = usage ?? {};
  const reasoning = completion_tokens_details?.reasoning_tokens;
  return {
    promptTokens: prompt_tokens ?? Math.ceil(prompt.length / CHARACTERS),
    completionTokens: completion_tokens ?? choices.reduce((sum, choice) => sum + estimatedTokens(choice), 0),
    ...(reasoning == null ? {} : { reasoningTokens: reasoning }),
    ...(prompt_tokens == null || completion_tokens == null ? { isEstimated: true } : {}),
  };
}

/** What a finish reason says where it was the endpoint that ended the answer and not the model. */
export function endedByEndpoint(reason: string | null | undefined): string | undefined {
  return reason != null && ENDED.has(reason) ? `the endpoint ended the answer (finish_reason ${reason})` : undefined;
}

/** @param share what this choice has of the response's usage. */
export function outcomeOf(choice: Choice, share: CompletionUsage, maxTokens: number): ChoiceOutcome {
  const { message, finish_reason } = choice;
  const ended = endedByEndpoint(finish_reason);
  if (ended !== undefined) return { problem: ended, isFinal: finish_reason === "content_filter" };
  const content = plain(message.content) || (message.refusal ?? "");
  const given = message.reasoning_content ?? message.reasoning ?? "";
  const counted = share.isEstimated === true ? 0 : share.completionTokens;
  // A model may answer with nothing; then it has spent the token that ends an answer, and says why it stopped.
  const hasSpoken = content !== "" || given !== "" || (message.tool_calls?.length ?? 0) > 0 || (counted > 0 && finish_reason != null);
  if (!hasSpoken) return { problem: "the endpoint gave an empty choice", isFinal: false };
  const split = splitThinking(content);
  const reasoning = [given, split.reasoning].filter((part) => part !== "").join("\n");
  return {
    completion: {
      text: split.text,
      tokens: share.completionTokens,
      finishReason: split.isOpen ? "length" : finishOf(finish_reason, counted, maxTokens),
      ...(reasoning === "" ? {} : { reasoning }),
      usage: share,
    },
  };
}

/** What a choice has of the usage of a response with several: by the length of its text. */
export function sharesOf(usage: CompletionUsage, choices: readonly Choice[]): CompletionUsage[] {
  if (choices.length === 1) return [usage];
  const sizes = choices.map(estimatedTokens);
  const sum = sizes.reduce((a, b) => a + b, 0);
  const share = (total: number, i: number) => Math.round(sum === 0 ? total / sizes.length : (total * sizes[i]!) / sum);
  return choices.map((_, i) => ({
    promptTokens: Math.round(usage.promptTokens / choices.length),
    completionTokens: share(usage.completionTokens, i),
    ...(usage.reasoningTokens === undefined ? {} : { reasoningTokens: share(usage.reasoningTokens, i) }),
    ...(usage.isEstimated === undefined ? {} : { isEstimated: usage.isEstimated }),
  }));
}

/** As models write them without a reasoning parser in front; `thought` is what Google's compatible layer writes. */
const OPENING = /<think>|<thought>|◁think▷/g;
const CLOSING = /<\/think>|<\/thought>|◁\/think▷/g;

/** Thinking ends at the last closing tag, whether or not it was opened; thinking that stays open has no answer behind it. */
export function splitThinking(content: string): { text: string; reasoning: string; isOpen: boolean } {
  const opened = [...content.matchAll(OPENING)].at(-1);
  const closed = [...content.matchAll(CLOSING)].at(-1);
  const bare = (part: string) => part.replace(/^\s*(?:<think>|<thought>|◁think▷)/, "").trim();
  if (opened !== undefined && opened.index > (closed?.index ?? -1)) return { text: "", reasoning: bare(content), isOpen: true };
  if (closed === undefined) return { text: content, reasoning: "", isOpen: false };
  const text = content.slice(closed.index + closed[0].length).trimStart();
  return { text, reasoning: bare(content.slice(0, closed.index)), isOpen: false };
}

/** How the model's answer ended. Without a reason the length tells, where that is known. */
export function finishOf(reason: string | null | undefined, tokens = 0, maxTokens = Number.POSITIVE_INFINITY): FinishReason {
  if (reason == null) return tokens >= maxTokens ? "length" : "stop";
  return LENGTH.has(reason) ? "length" : "stop";
}

function plain(content: z.infer<typeof text>): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}

function estimatedTokens({ message }: Choice): number {
  const length = plain(message.content).length + (message.reasoning_content ?? message.reasoning ?? "").length;
  return Math.ceil(length / CHARACTERS);
}
