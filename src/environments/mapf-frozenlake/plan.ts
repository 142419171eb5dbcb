/**
 * The plan as it was read from an answer, in flat reusable memory: parsing and judging thousands of answers a second leaves no garbage.
 * A plan holds either actions (chat) or the cell after each step (compact); the verifier walks both.
 */
import { MAX_AGENTS, MAX_SIZE } from "./instance.js";
import { stepLimit } from "./rules.js";

export const PLAN_STRIDE = stepLimit(MAX_SIZE);

export class PlanBuffer {
  /** `actions`: indices into ACTIONS. `cells`: row·16 + column. */
  layout: "actions" | "cells" = "actions";
  /** Agent a's steps stand at [a·PLAN_STRIDE, a·PLAN_STRIDE + lengths[a]). */
  readonly steps = new Uint8Array(MAX_AGENTS * PLAN_STRIDE);
  /** Steps of each agent; −1 before the agent was met. */
  readonly lengths = new Int32Array(MAX_AGENTS);
}

/** Why an answer holds no plan. */
export interface NoPlan {
  code: "parse-error" | "truncated";
  reason: string;
}

export const TRUNCATED: NoPlan = { code: "truncated", reason: "the answer was cut off by the length limit" };

/** A piece of the answer at `position` for a message: at most 24 characters up to the next separator, escaped. */
export function excerpt(text: string, position: number, end: number): string {
  let stop = position + 1;
  while (stop < end && stop < position + 24 && !isSeparator(text.charCodeAt(stop))) stop++;
  return JSON.stringify(text.slice(position, stop));
}

function isSeparator(code: number): boolean {
  return code <= 32 || code === 44;
}
