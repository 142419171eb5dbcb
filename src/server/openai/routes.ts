/**
 * A policy as an OpenAI-compatible endpoint: GET /v1/models, POST /v1/chat/completions (n, temperature, top_p, seed, max_tokens, stream).
 * The content of the last user message is the prompt as it stands: no chat template is put around it. What a policy cannot honour (tools,
 * logprobs, stop, a response_format) is refused with a 400 that says so, never ignored. A stream carries each choice in one piece, as
 * policies answer whole.
 */
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { type Completion, type CompletionRequest, type Policy, Seed } from "../../core/index.js";
import type { ServedPart } from "../host.js";
import { Batcher, REQUEST_BOUNDARY } from "./batcher.js";
import { type ChatRequest, chatRequestSchema, promptOf } from "./schema.js";

export interface OpenAiOptions {
  policy: Policy;
  /** Its name in /v1/models; requests may name any model. */
  model: string;
  /** Longest completion, and the length where none is asked for; less where the policy has not the room. */
  maxTokens: number;
  /** Time of the answers, in milliseconds since 1970. */
  now?: () => number;
}

interface Choice {
  index: number;
  message: { role: "assistant"; content: string; reasoning?: string };
  finish_reason: "stop" | "length";
}

export function openAiPart({ policy, model, maxTokens, now = Date.now }: OpenAiOptions): ServedPart {
  const batcher = new Batcher(policy);
  const routes = new Hono();
  let served = 0;

  routes.get("/v1/models", (c) =>
    c.json({ object: "list", data: [{ id: model, object: "model", owned_by: "envwright", rendering: policy.rendering }] }),
  );

  routes.post("/v1/chat/completions", async (c) => {
    const body: unknown = await c.req.json().catch(() => undefined);
    const parsed = chatRequestSchema.safeParse(body);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const message = body === undefined ? "the body is not JSON" : `${issue!.path.join(".")}: ${issue!.message}`;
      return c.json(invalid(message, issue?.path.join(".")), 400);
    }
    const asked = parsed.data;
    const refused = refusal(asked, policy);
    if (refused !== undefined) return c.json(invalid(refused.message, refused.param), 400);
    const prompt = promptOf(asked);
    if (prompt === undefined) return c.json(invalid("there is no user message", "messages"), 400);

    const room = policy.room?.(prompt) ?? maxTokens;
    if (room < 1) return c.json(invalid("the prompt is too long for the policy", "messages", "context_length_exceeded"), 400);

    const number = served++;
    const requests = completionRequests(asked, prompt, number, Math.min(maxTokens, room));
    const answers = await Promise.all(requests.map((request) => batcher.ask(request)));
    const completions: Completion[] = [];
    for (const answer of answers) {
      if ("failure" in answer) {
        const { boundary, message } = answer.failure;
        if (boundary === REQUEST_BOUNDARY) return c.json(invalid(message, "messages"), 400);
        return c.json({ error: { message, type: "server_error" } }, 500);
      }
      completions.push(answer);
    }
    const choices = completions.map(choiceOf);
    const head = { id: `chatcmpl-${number}`, created: Math.floor(now() / 1000), model };
    const usage = usageOf(completions);
    if (asked.stream !== true) return c.json({ ...head, object: "chat.completion", choices, usage });
    const chunk = (rest: object) => ({ data: JSON.stringify({ ...head, object: "chat.completion.chunk", ...rest }) });
    return streamSSE(c, async (stream) => {
      for (const { index, message, finish_reason } of choices) {
        await stream.writeSSE(chunk({ choices: [{ index, delta: message, finish_reason: null }] }));
        await stream.writeSSE(chunk({ choices: [{ index, delta: {}, finish_reason }] }));
      }
      if (asked.stream_options?.include_usage === true) await stream.writeSSE(chunk({ choices: [], usage }));
      await stream.writeSSE({ data: "[DONE]" });
    });
  });

  return {
    name: "openai",
    routes,
    async close() {
      await batcher.idle();
      await policy.close();
    },
  };
}

function completionRequests(asked: ChatRequest, prompt: string, number: number, maxTokens: number): CompletionRequest[] {
  // Without a seed every request draws from a stream of its own, named by its number.
  const seed = Seed.root("openai").child(asked.seed == null ? "request" : "seed", asked.seed ?? number).path;
  const schema = asked.response_format?.json_schema?.schema;
  return Array.from({ length: asked.n ?? 1 }, (_, index) => ({
    prompt,
    seed,
    index,
    maxTokens: Math.min(asked.max_completion_tokens ?? asked.max_tokens ?? maxTokens, maxTokens),
    temperature: asked.temperature ?? 1,
    ...(asked.top_p == null ? {} : { topP: asked.top_p }),
    ...(schema === undefined ? {} : { jsonSchema: schema }),
  }));
}

function refusal({ response_format, stop }: ChatRequest, policy: Policy): { message: string; param: string } | undefined {
  if (stop != null) return { message: "stop is not supported: an answer ends where the policy ends it", param: "stop" };
  if (response_format == null || response_format.type === "text") return undefined;
  if (response_format.type === "json_schema" && response_format.json_schema !== undefined && policy.rendering === "chat") return undefined;
  return { message: `response_format ${response_format.type} is not supported by this policy`, param: "response_format" };
}

function choiceOf({ text, reasoning, finishReason }: Completion, index: number): Choice {
  const message = { role: "assistant" as const, content: text, ...(reasoning === undefined ? {} : { reasoning }) };
  return { index, message, finish_reason: finishReason };
}

/** A prompt is counted once, whatever `n` is; a policy that does not count its prompts gives 0. */
function usageOf(completions: readonly Completion[]): Record<string, number> {
  const prompt = completions[0]?.usage?.promptTokens ?? 0;
  const completion = completions.reduce((sum, { tokens }) => sum + tokens, 0);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function invalid(message: string, param: string | undefined, code: string | null = null): object {
  return { error: { message, type: "invalid_request_error", param: param ?? null, code } };
}
