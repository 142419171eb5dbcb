/**
 * Reads the plan from a chat answer. The last complete <answer> block after the thinking counts, so an answer may be retracted and
 * corrected. One pass over the characters; refuses everything that is not exactly one line of moves per agent.
 *
 * Thinking ends at the last </think>, whether or not it was opened; a <think> after that was never closed. Letter case and blanks are
 * free; moves are separated by commas; an agent's list may be empty (it waits where it is).
 */
import type { FinishReason } from "../../core/index.js";
import { excerpt, type NoPlan, PLAN_STRIDE, type PlanBuffer, TRUNCATED } from "./plan.js";

const OPEN = "<answer>";
const CLOSE = "</answer>";
const COMMA = 44;
const COLON = 58;
const NEWLINE = 10;

/** Fills `plan` with actions, or says why there is none. Linear in the length of the text. */
export function parseChat(text: string, finish: FinishReason, agents: number, limit: number, plan: PlanBuffer): NoPlan | undefined {
  if (finish === "length") return TRUNCATED;
  const from = thinkingEnd(text);
  if (typeof from === "object") return from;
  const lastClose = text.lastIndexOf(CLOSE);
  const open = lastClose < from ? -1 : text.lastIndexOf(OPEN, lastClose);
  if (open < from) return wrong(describeMissing(text, from));
  return parseLines(text, open + OPEN.length, text.indexOf(CLOSE, open), agents, limit, plan);
}

/** Where the answer begins: behind the last </think>, or at 0. Thinking that was never closed leaves no answer. */
export function thinkingEnd(text: string): number | NoPlan {
  const thought = text.lastIndexOf("</think>");
  if (text.lastIndexOf("<think>") > thought) return { code: "truncated", reason: "the thinking was never closed" };
  return thought < 0 ? 0 : thought + "</think>".length;
}

function describeMissing(text: string, from: number): string {
  if (text.indexOf(OPEN, from) >= 0) return `${OPEN} was opened but not closed by ${CLOSE}`;
  if (text.indexOf(CLOSE, from) >= 0) return `${CLOSE} stands without ${OPEN}`;
  return text.includes(OPEN) ? "no answer block after the thinking" : "no answer block";
}

function parseLines(text: string, start: number, end: number, agents: number, limit: number, plan: PlanBuffer): NoPlan | undefined {
  plan.layout = "actions";
  plan.lengths.fill(-1);
  let at = skipSpace(text, start, end);
  while (at < end) {
    if (!isWordAgent(text, at, end)) return wrong(`unknown word ${excerpt(text, at, end)} where a line "Agent i: …" was expected`);
    at = skipBlanks(text, at + 5, end);
    const number = at;
    let agent = -1;
    for (let digit = text.charCodeAt(at) - 48; at < end && digit >= 0 && digit <= 9; digit = text.charCodeAt(++at) - 48) {
      agent = Math.min(9999, Math.max(agent, 0) * 10 + digit);
    }
    if (agent < 0) return wrong('a line "Agent i: …" has no agent number');
    const numberEnd = at;
    at = skipBlanks(text, at, end);
    if (at >= end || text.charCodeAt(at) !== COLON) return wrong(`agent ${numeral(text, number, numberEnd)} is not followed by a colon`);
    if (agent >= agents) return wrong(`extra agent ${numeral(text, number, numberEnd)}: the board has agents 0 to ${agents - 1}`);
    if (plan.lengths[agent]! >= 0) return wrong(`agent ${agent} is given twice`);

    const base = agent * PLAN_STRIDE;
    let length = 0;
    let afterComma = false;
    for (at = skipBlanks(text, at + 1, end); ; at = skipBlanks(text, at + 1, end)) {
      if (at >= end || text.charCodeAt(at) === NEWLINE) {
        if (afterComma) return wrong(`a move is missing after the last comma of agent ${agent}`);
        break;
      }
      let stop = at;
      while (stop < end && isLetter(text.charCodeAt(stop))) stop++;
      const action = actionOf(text, at, stop);
      if (action < 0) return wrong(`unknown word ${excerpt(text, at, end)} among the moves of agent ${agent}`);
      if (length === limit) return wrong(`the plan of agent ${agent} is longer than ${limit} steps`);
      plan.steps[base + length++] = action;
      at = skipBlanks(text, stop, end);
      if (at >= end || text.charCodeAt(at) === NEWLINE) break;
      if (text.charCodeAt(at) !== COMMA) return wrong(describeNoComma(text, at, end, agent));
      afterComma = true;
    }
    plan.lengths[agent] = length;
    at = skipSpace(text, at, end);
  }
  for (let agent = 0; agent < agents; agent++) if (plan.lengths[agent]! < 0) return wrong(`agent ${agent} is missing`);
  return undefined;
}

/** What follows a move without a comma: a word that is a move is not unknown. */
function describeNoComma(text: string, at: number, end: number, agent: number): string {
  let stop = at;
  while (stop < end && isLetter(text.charCodeAt(stop))) stop++;
  return actionOf(text, at, stop) < 0
    ? `unknown word ${excerpt(text, at, end)} among the moves of agent ${agent}`
    : `no comma before ${JSON.stringify(text.slice(at, stop))} among the moves of agent ${agent}: moves are separated by commas`;
}

/** An agent's number as it was written, cut after 24 digits. */
function numeral(text: string, start: number, stop: number): string {
  return stop - start > 24 ? `${text.slice(start, start + 24)}…` : text.slice(start, stop);
}

function wrong(reason: string): NoPlan {
  return { code: "parse-error", reason };
}

function isLetter(code: number): boolean {
  const lower = code | 32;
  return lower >= 97 && lower <= 122;
}

/** Blanks within a line; a carriage return is one. */
function skipBlanks(text: string, at: number, end: number): number {
  let i = at;
  for (let code = text.charCodeAt(i); i < end && (code === 32 || code === 9 || code === 13); code = text.charCodeAt(++i));
  return i;
}

function skipSpace(text: string, at: number, end: number): number {
  let i = at;
  for (let code = text.charCodeAt(i); i < end && (code === 32 || (code >= 9 && code <= 13)); code = text.charCodeAt(++i));
  return i;
}

/** "agent" in any case, followed by a blank. */
function isWordAgent(text: string, at: number, end: number): boolean {
  return (
    at + 6 < end &&
    (text.charCodeAt(at) | 32) === 97 &&
    (text.charCodeAt(at + 1) | 32) === 103 &&
    (text.charCodeAt(at + 2) | 32) === 101 &&
    (text.charCodeAt(at + 3) | 32) === 110 &&
    (text.charCodeAt(at + 4) | 32) === 116 &&
    (text.charCodeAt(at + 5) === 32 || text.charCodeAt(at + 5) === 9)
  );
}

const WORDS = ["up", "down", "left", "right", "wait"];

/** Index into ACTIONS of the letters in [at, stop), −1 for any other word. */
function actionOf(text: string, at: number, stop: number): number {
  const first = text.charCodeAt(at) | 32;
  const action = first === 117 ? 0 : first === 100 ? 1 : first === 108 ? 2 : first === 114 ? 3 : first === 119 ? 4 : -1;
  if (action < 0) return -1;
  const word = WORDS[action]!;
  if (stop - at !== word.length) return -1;
  for (let i = 1; i < word.length; i++) if ((text.charCodeAt(at + i) | 32) !== word.charCodeAt(i)) return -1;
  return action;
}
