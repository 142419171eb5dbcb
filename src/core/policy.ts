/**
 * Policy: prompt → completion, whoever answers. Evaluation, rollouts and engineers ask through this interface; the embedded miniature,
 * endpoints, GGUF files and scripted answers stand behind it. A policy never throws for one request: an outside failure comes back as
 * data on that request, after the retries its own budget allows.
 */
import type { Rendering } from "./family.js";
import type { FinishReason } from "./records.js";

export interface CompletionRequest {
  prompt: string;
  /** Path of the seed and index of the random stream that samples this completion. */
  seed: string;
  index: number;
  maxTokens: number;
  /** 0 is greedy. */
  temperature: number;
  topP?: number;
  /** Constrains the answer: the words allowed at each position, then the end (compact rendering). */
  words?: readonly (readonly string[])[];
  /** Constrains the answer to a JSON Schema where the endpoint supports it (chat rendering). */
  jsonSchema?: Record<string, unknown>;
}

export interface Completion {
  text: string;
  tokens: number;
  finishReason: FinishReason;
  /** What was thought before the answer, where it is told apart; `tokens` counts it, `text` does not hold it. */
  reasoning?: string;
  usage?: CompletionUsage;
  /** From the first attempt to the answer, waits between attempts included, in milliseconds. */
  latencyMs?: number;
}

/** Tokens as whoever answered counted them, or as estimated where nobody did. */
export interface CompletionUsage {
  promptTokens: number;
  completionTokens: number;
  reasoningTokens?: number;
  /** The endpoint gave no numbers: four characters to a token. */
  isEstimated?: boolean;
}

export interface CompletionFailure {
  failure: { boundary: string; message: string; attempts: number };
}

export interface CompleteOptions {
  /** Aborted: no further request is made and `complete` throws an InterruptedError. */
  signal?: AbortSignal;
  onProgress?: (done: number) => void;
  /** Each result once, as soon as it is there and in any order, so that an interruption loses none that was paid for. */
  onResult?: (index: number, result: Completion | CompletionFailure) => void;
}

export interface Policy {
  /** How it is named in reports, e.g. "embedded:runs/x/stages/03/checkpoint". */
  readonly name: string;
  readonly rendering: Rendering;
  /** JSON that decides the answers beside the request, never a key: `temperature`, `top_p` and `max_tokens` here win over the request's. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** One result per request, in order. `instance` hints (oracle policies) travel in the prompt alone. */
  complete(requests: readonly CompletionRequest[], options?: CompleteOptions): Promise<(Completion | CompletionFailure)[]>;
  /** Tokens that an answer to this prompt can have at most, 0 or less where the prompt does not fit; absent where only the outside knows. */
  room?(prompt: string): number;
  close(): Promise<void>;
}
