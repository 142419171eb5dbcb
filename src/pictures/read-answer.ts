/** The plan of an answer for drawing, read by the verifier's own parsers, or why there is none. Pure: runs in a page as well. */
import type { FinishReason, Rendering } from "../core/index.js";
import type { Board } from "../environments/mapf-frozenlake/instance.js";
import { parseChat } from "../environments/mapf-frozenlake/parse-chat.js";
import { parseCompact } from "../environments/mapf-frozenlake/parse-compact.js";
import { type NoPlan, PLAN_STRIDE, PlanBuffer } from "../environments/mapf-frozenlake/plan.js";
import { ACTIONS, stepLimit } from "../environments/mapf-frozenlake/rules.js";
import type { DrawnPlan } from "./replay.js";

/** @returns the plan, or `{code, reason}` as the verifier gives them for an answer without one */
export function readAnswer(board: Board, text: string, finish: FinishReason, rendering: Rendering): DrawnPlan | NoPlan {
  const buffer = new PlanBuffer();
  const parse = rendering === "chat" ? parseChat : parseCompact;
  const noPlan = parse(text, finish, board.agents.length, stepLimit(board.size), buffer);
  if (noPlan !== undefined) return noPlan;
  const written = board.agents.map((_, agent) => {
    const from = agent * PLAN_STRIDE;
    return [...buffer.steps.subarray(from, from + buffer.lengths[agent]!)];
  });
  return buffer.layout === "cells"
    ? { layout: "cells", agents: written.map((cells) => cells.map((cell) => [cell >> 4, cell & 15] as [number, number])) }
    : { layout: "actions", agents: written.map((actions) => actions.map((action) => ACTIONS[action]!)) };
}
