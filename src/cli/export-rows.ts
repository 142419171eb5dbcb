/**
 * Instances as the rows that other trainers read: record schemas (they become the nested Parquet types) and how a row is made. The instance
 * travels as JSON text where the reward needs it, because a nested board has no fixed shape across families.
 */
import { z } from "zod";
import { canonicalJson, type InstanceBase, type Rendering } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import { messagesSchema, verlRow, verlRowSchema } from "../trainers/verl/verl-rows.js";

/** TRL's conversational prompt-only format; every further column reaches the reward function as a keyword argument. */
export const trlRowSchema = z.strictObject({ prompt: messagesSchema, instance: z.string(), id: z.string(), stratum: z.string() });

/** One prompt as text; an answer to it is judged by `envwright verify` under the same `instance`. */
export const promptRowSchema = z.strictObject({ instance: z.string(), stratum: z.string(), prompt: z.string() });

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
          verlRow({ family: family.name, instance, stratum: family.stratum(instance), prompt: prompt(instance), split, index }),
      };
    case "trl":
      return {
        schema: trlRowSchema,
        row: (instance): z.infer<typeof trlRowSchema> => ({
          prompt: prompt(instance),
          instance: canonicalJson(instance),
          id: instance.id,
          stratum: family.stratum(instance),
        }),
      };
    case "prompts":
      return {
        schema: promptRowSchema,
        row: (instance): z.infer<typeof promptRowSchema> => ({
          instance: instance.id,
          stratum: family.stratum(instance),
          prompt: family.prompt(instance, rendering),
        }),
      };
    case "instances":
      return { schema: family.instanceSchema, row: (instance) => instance };
  }
}
