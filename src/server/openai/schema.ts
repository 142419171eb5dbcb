/** What POST /v1/chat/completions takes here: the part of OpenAI's chat request that a policy can honour; the rest is refused by name. */
import { z } from "zod";

const part = z.object({ type: z.literal("text"), text: z.string() });
const message = z.object({
  role: z.enum(["system", "developer", "user", "assistant"]),
  content: z.union([z.string(), z.array(part).min(1)]),
});

export const chatRequestSchema = z.object({
  model: z.string(),
  messages: z.array(message).min(1),
  n: z.int().min(1).max(128).nullish(),
  temperature: z.number().min(0).max(10).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  seed: z.int().nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  response_format: z
    .object({ type: z.string(), json_schema: z.object({ schema: z.record(z.string(), z.unknown()) }).optional() })
    .nullish(),
  tools: z.array(z.unknown()).max(0, "tools are not supported").nullish(),
  logprobs: z.literal(false, "logprobs are not supported").nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
});
export type ChatRequest = z.infer<typeof chatRequestSchema>;

/** The prompt of a request: the content of the last user message. */
export function promptOf({ messages }: ChatRequest): string | undefined {
  const last = messages.findLast(({ role }) => role === "user");
  if (last === undefined) return undefined;
  return typeof last.content === "string" ? last.content : last.content.map(({ text }) => text).join("");
}
