/**
 * One line for every request that was made of a policy: what was asked (never the key), what came back, how often it was tried and how long
 * it took. Enough to answer the same requests again without the policy (replay.ts).
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import {
  type Completion,
  type CompletionFailure,
  type CompletionRequest,
  canonicalJson,
  finishReasonSchema,
  SCHEMA_VERSION,
  schemaVersion,
} from "../../core/index.js";

const milliseconds = z.number().nonnegative();

export const attemptSchema = z.strictObject({
  /** HTTP status; missing when there was no response. */
  status: z.int().optional(),
  /** Why it did not serve; missing for the attempt that did. */
  problem: z.string().optional(),
  ms: milliseconds,
  /** Wait before the next attempt. */
  waited_ms: milliseconds.optional(),
});
export type AttemptRecord = z.infer<typeof attemptSchema>;

const usageSchema = z.strictObject({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  reasoning_tokens: z.number().optional(),
  estimated: z.literal(true).optional(),
});

export const callRecordSchema = z.strictObject({
  schema_version: schemaVersion,
  policy: z.string(),
  /** SHA-256 of the request: what it is found by. */
  key: z.string(),
  request: z.strictObject({
    prompt: z.string(),
    seed: z.string(),
    index: z.int(),
    max_tokens: z.int(),
    temperature: z.number(),
    top_p: z.number().optional(),
    words: z.array(z.array(z.string())).optional(),
    json_schema: z.record(z.string(), z.unknown()).optional(),
  }),
  completion: z
    .strictObject({
      text: z.string(),
      tokens: z.number(),
      finish_reason: finishReasonSchema,
      reasoning: z.string().optional(),
      usage: usageSchema.optional(),
      ms: milliseconds.optional(),
    })
    .optional(),
  failure: z.strictObject({ boundary: z.string(), message: z.string(), attempts: z.int() }).optional(),
  attempts: z.array(attemptSchema),
  /** What the endpoint says of itself. */
  response: z.strictObject({ id: z.string().optional(), model: z.string().optional() }).optional(),
});
export type CallRecord = z.infer<typeof callRecordSchema>;

/** Where records go; one call at a time, in the order in which requests end. */
export interface CallRecorder {
  record(call: CallRecord): void;
}

export interface CallDetail {
  attempts?: readonly AttemptRecord[];
  response?: { id?: string; model?: string };
}

export function callRecord(
  policy: string,
  request: CompletionRequest,
  result: Completion | CompletionFailure,
  detail: CallDetail = {},
): CallRecord {
  const asked = requestOf(request);
  return {
    schema_version: SCHEMA_VERSION,
    policy,
    key: keyOf(asked),
    request: asked,
    ...("failure" in result ? { failure: result.failure } : { completion: completionOf(result) }),
    attempts: [...(detail.attempts ?? [])],
    ...(detail.response === undefined ? {} : { response: detail.response }),
  };
}

/** The result that a record holds. */
export function resultOf({ completion, failure }: CallRecord): Completion | CompletionFailure {
  if (completion === undefined) return { failure: failure ?? { boundary: "replay", message: "the record holds no answer", attempts: 0 } };
  const { text, tokens, finish_reason, reasoning, usage, ms } = completion;
  return {
    text,
    tokens,
    finishReason: finish_reason,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(usage === undefined
      ? {}
      : {
          usage: {
            promptTokens: usage.prompt_tokens,
            completionTokens: usage.completion_tokens,
            ...(usage.reasoning_tokens === undefined ? {} : { reasoningTokens: usage.reasoning_tokens }),
            ...(usage.estimated === undefined ? {} : { isEstimated: true }),
          },
        }),
    ...(ms === undefined ? {} : { latencyMs: ms }),
  };
}

/** What a request is found by: everything that may change its answer. */
export const requestKey = (request: CompletionRequest): string => keyOf(requestOf(request));

const keyOf = (request: CallRecord["request"]): string => createHash("sha256").update(canonicalJson(request)).digest("hex");

/** A request as it is recorded. */
export function requestOf(request: CompletionRequest): CallRecord["request"] {
  const { prompt, seed, index, maxTokens, temperature, topP, words, jsonSchema } = request;
  return {
    prompt,
    seed,
    index,
    max_tokens: maxTokens,
    temperature,
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(words === undefined ? {} : { words: words.map((allowed) => [...allowed]) }),
    ...(jsonSchema === undefined ? {} : { json_schema: jsonSchema }),
  };
}

function completionOf({ text, tokens, finishReason, reasoning, usage, latencyMs }: Completion): CallRecord["completion"] {
  return {
    text,
    tokens,
    finish_reason: finishReason,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(usage === undefined
      ? {}
      : {
          usage: {
            prompt_tokens: usage.promptTokens,
            completion_tokens: usage.completionTokens,
            ...(usage.reasoningTokens === undefined ? {} : { reasoning_tokens: usage.reasoningTokens }),
            ...(usage.isEstimated === true ? { estimated: true as const } : {}),
          },
        }),
    ...(latencyMs === undefined ? {} : { ms: latencyMs }),
  };
}
