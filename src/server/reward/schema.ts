/**
 * What POST /v1/score takes and gives. A request is judged item by item: one item that cannot be judged has an `error` and no score, and
 * the others are scored all the same. Every result has the same keys, whatever became of its item; what does not apply is null.
 */
import { z } from "zod";
import { finishReasonSchema, rewardOptionsSchema } from "../../core/index.js";

export const MAX_ITEMS = 4096;

export const scoreItemSchema = z.strictObject({
  id: z.union([z.string(), z.int()]),
  /** The instance as an object, or as the JSON text of one (what a data set column holds). */
  instance: z.union([z.string(), z.record(z.string(), z.unknown())]),
  completion: z.string(),
  finish_reason: finishReasonSchema.default("stop"),
  /** Length of the completion in the policy's tokens. Without it: words of a compact answer, a token for three characters of a chat answer. */
  tokens: z.int().nonnegative().optional(),
});
export type ScoreItem = z.infer<typeof scoreItemSchema>;

/** The head of a request; what is left out is the service's. `items` are validated one by one. */
export const scoreRequestSchema = z.strictObject({
  family: z.string().optional(),
  rendering: z.enum(["chat", "compact"]).optional(),
  objective: z.string().optional(),
  /** Of a recipe. Without them, and without the service's, the score is the accuracy term alone. */
  reward: rewardOptionsSchema.optional(),
  /** The moving average of the valid rate, on which the accuracy weight depends. */
  ema_valid: z.number().min(0).max(1).optional(),
  items: z.array(z.unknown()).min(1).max(MAX_ITEMS),
});

/** Codes of an item's error; neither is a verdict. */
export type ItemErrorCode = "invalid-item" | "invalid-instance";

export interface ScoreResult {
  /** The item's; null where the item has none that can be read. */
  id: string | number | null;
  /** Position in the request. */
  index: number;
  /** The reward. null: not judged, see `error`. */
  score: number | null;
  valid: boolean | null;
  optimal: boolean | null;
  /** "valid" or the code of the first broken rule. */
  code: string | null;
  reason: string | null;
  accuracy: number | null;
  length: number | null;
  weight: number | null;
  /** (cost − optimum) / optimum of a valid plan. */
  gap: number | null;
  tokens: number | null;
  error: { code: ItemErrorCode; message: string } | null;
}
