/** Instances as rows of verl's RL data set (docs "Prepare Data for Post-Training"): its five fields, with the same types in every row. */
import { z } from "zod";
import { canonicalJson, type InstanceBase, type Rendering } from "../../core/index.js";

export const messagesSchema = z.array(z.strictObject({ role: z.string(), content: z.string() }));
export type Messages = z.infer<typeof messagesSchema>;

export const verlRowSchema = z.strictObject({
  data_source: z.string(),
  prompt: messagesSchema,
  ability: z.string(),
  reward_model: z.strictObject({ style: z.string(), ground_truth: z.string() }),
  extra_info: z.strictObject({
    split: z.string(),
    index: z.int(),
    id: z.string(),
    hash: z.string(),
    stratum: z.string(),
    rendering: z.string(),
  }),
});
export type VerlRow = z.infer<typeof verlRowSchema>;

export interface VerlRowParts {
  family: string;
  rendering: Rendering;
  instance: InstanceBase;
  stratum: string;
  prompt: Messages;
  split: string;
  index: number;
}

/**
 * `ground_truth` is the instance as JSON text, which verl's reward function hands to the service: a nested board has no fixed type across families.
 * `extra_info.rendering` says how answers to the prompt are read: a client that left it out would have them all judged as wrong.
 */
export function verlRow({ family, rendering, instance, stratum, prompt, split, index }: VerlRowParts): VerlRow {
  return {
    data_source: `envwright/${family}`,
    prompt,
    ability: "planning",
    reward_model: { style: "rule", ground_truth: canonicalJson(instance) },
    extra_info: { split, index, id: instance.id, hash: instance.hash, stratum, rendering },
  };
}
