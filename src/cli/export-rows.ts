/**
 * Instances as the rows that other trainers read: record schemas (they become the nested Parquet types) and how a row is made. The instance
 * travels as JSON text where the reward needs it, because a nested board has no fixed shape across families.
 */
import { z } from "zod";
import { canonicalJson, type InstanceBase, type Rendering } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import { messagesSchema, verlRow, verlRowSchema } from "../trainers/verl/verl-rows.js";

/**
 * TRL's prompt-only format, every further column of which reaches the reward function as a keyword argument: messages in chat, plain text in
 * compact, as a compact checkpoint's tokenizer has no chat template. `rendering` says how the answers are read.
 */
export const trlRowSchema = (rendering: Rendering) =>
  z.strictObject({
    prompt: rendering === "chat" ? messagesSchema : z.string(),
    instance: z.string(),
    id: z.string(),
    stratum: z.string(),
    rendering: z.string(),
  });

/** One prompt as text; an answer to it is judged by `envwright verify` under the same `instance`, and checked by the same `hash`. */
export const promptRowSchema = z.strictObject({ instance: z.string(), hash: z.string(), stratum: z.string(), prompt: z.string() });

export const EXPORTS = ["verl", "trl", "prompts", "instances"] as const;
export type Export = (typeof EXPORTS)[number];

export interface ExportOptions {
  family: AnyFamily;
  rendering: Rendering;
  split: string;
  /** A system message before the prompt. */
  system: string | undefined;
}

export interface RowMaker {
  schema: z.ZodType<unknown>;
  row(instance: InstanceBase, index: number): unknown;
}

export function rowMaker(target: Export, { family, rendering, split, system }: ExportOptions): RowMaker {
  const prompt = (instance: InstanceBase) => [
    ...(system === undefined ? [] : [{ role: "system", content: system }]),
    { role: "user", content: family.prompt(instance, rendering) },
  ];
  switch (target) {
    case "verl":
      return {
        schema: verlRowSchema,
        row: (instance, index) =>
          verlRow({ family: family.name, rendering, instance, stratum: family.stratum(instance), prompt: prompt(instance), split, index }),
      };
    case "trl":
      return {
        schema: trlRowSchema(rendering),
        row: (instance): z.infer<ReturnType<typeof trlRowSchema>> => ({
          prompt: rendering === "chat" ? prompt(instance) : family.prompt(instance, rendering),
          instance: canonicalJson(instance),
          id: instance.id,
          stratum: family.stratum(instance),
          rendering,
        }),
      };
    case "prompts":
      return {
        schema: promptRowSchema,
        row: (instance): z.infer<typeof promptRowSchema> => ({
          instance: instance.id,
          hash: instance.hash,
          stratum: family.stratum(instance),
          prompt: family.prompt(instance, rendering),
        }),
      };
    case "instances":
      return { schema: family.instanceSchema, row: (instance) => instance };
  }
}
