/**
 * Reads the plan from a compact answer: one path per agent, in the order of the prompt, as the cells it is on after each step,
 *
 *   <cell:r,c> … <next> <cell:r,c> …
 *
 * The start cell is not written: a path has as many words as moves, and writing the cell the agent is on is a WAIT. Whether a step is
 * possible is the verifier's to say. Blanks between words are ignored; any other text is refused. One pass over the characters.
 */
import type { FinishReason } from "../../core/index.js";
import { excerpt, type NoPlan, PLAN_STRIDE, type PlanBuffer, TRUNCATED } from "./plan.js";

const CELL = "<cell:";
const NEXT = "<next>";

/** Fills `plan` with cells, or says why there is none. Linear in the length of the text. */
export function parseCompact(text: string, finish: FinishReason, agents: number, limit: number, plan: PlanBuffer): NoPlan | undefined {
  if (finish === "length") return TRUNCATED;
  plan.layout = "cells";
  plan.lengths.fill(-1);
  const end = text.length;
  let agent = 0;
  let length = 0;
  let at = 0;
  while (at < end) {
    const code = text.charCodeAt(at);
    if (code === 32 || (code >= 9 && code <= 13)) {
      at++;
      continue;
    }
    if (text.startsWith(CELL, at)) {
      const row = text.charCodeAt(at + 6) - 48;
      const column = text.charCodeAt(at + 8) - 48;
      const wellFormed = at + 10 <= end && text.charCodeAt(at + 7) === 44 && text.charCodeAt(at + 9) === 62;
      if (!wellFormed || row < 0 || row > 9 || column < 0 || column > 9) return unknown(text, at);
      if (length === limit) return wrong(`the path of agent ${agent} is longer than ${limit} steps`);
      plan.steps[agent * PLAN_STRIDE + length++] = (row << 4) | column;
      at += 10;
    } else if (text.startsWith(NEXT, at)) {
      plan.lengths[agent++] = length;
      length = 0;
      at += 6;
      if (agent === agents) return wrong(`extra agent ${agent}: the board has agents 0 to ${agents - 1}`);
    } else return unknown(text, at);
  }
  plan.lengths[agent++] = length;
  return agent < agents ? wrong(`agent ${agent} is missing`) : undefined;
}

function unknown(text: string, at: number): NoPlan {
  return wrong(`unknown word ${excerpt(text, at, text.length)} in a path`);
}

function wrong(reason: string): NoPlan {
  return { code: "parse-error", reason };
}
