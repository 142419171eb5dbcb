/**
 * A model's text → a knob table, or the reason why not. Chat: the one answer object after any thinking, with fences and prose around it
 * tolerated and a second object that contradicts it refused. Compact: exactly the words of the answer's grammar. Total for any text and
 * linear in it; nothing is guessed.
 */

import { type FinishReason, type KnobTable, nearest, type Repair, shorten } from "../core/index.js";
import { type FoundObject, scanObjects } from "./answer-objects.js";
import { answerWords, knobValues, LEVELS, type LevelTable, levelWord, splitWords } from "./compact-language.js";
import { isObject, readTable, type TableTarget } from "./knob-table.js";
import { quoteText } from "./quoted-text.js";

export type Decoded = { ok: true; table: KnobTable; rationale: string; repairs: Repair[] } | { ok: false; reason: string };

const RATIONALE_CAP = 2000;
const KEYS = ["rationale", "config"];

export function decodeChatAnswer(text: string, finish: FinishReason, target: TableTarget): Decoded {
  if (finish === "length") return refuse("the answer was cut off at the token limit");
  const answer = afterThinking(text);
  if (answer === undefined) return refuse("the thinking block was never closed, so there is no answer");
  const { objects, broken } = scanObjects(answer);
  const answers = objects.filter((o) => Object.hasOwn(o.value, "config"));
  const proposals = answers.filter((o) => isKnobObject(o.value.config));
  const distinct = new Set(proposals.map((o) => knobKey(o.value.config as Record<string, Record<string, number>>)));
  if (distinct.size > 1) return refuse(`${distinct.size} configs that contradict each other; write one`);
  const last = proposals.at(-1) ?? answers.at(-1);
  if (last === undefined) {
    if (broken.length > 0) return refuse(`no complete answer object: ${broken.at(-1)!.problem}`);
    return refuse(objects.length === 0 ? "no JSON object in the answer" : 'no object with the key "config" in the answer');
  }
  // An answer that began after this one and broke off may have taken it back. What has no key of an answer is prose with brackets.
  const rival = broken.find(({ at, keys }) => at > last.end && KEYS.some((key) => keys.has(key)));
  if (rival !== undefined) return refuse(`a second object follows the answer and is broken: ${rival.problem}`);
  return readAnswer(last, target);
}

function readAnswer({ value, duplicateKey }: FoundObject, target: TableTarget): Decoded {
  if (duplicateKey !== undefined) return refuse(`the key ${quoteText(duplicateKey, 40)} is given twice`);
  for (const key of Object.keys(value)) {
    if (KEYS.includes(key)) continue;
    const close = nearest(key.slice(0, 40), KEYS);
    return refuse(`unknown key ${quoteText(key, 40)} (${close === undefined ? `known: ${KEYS.join(", ")}` : `did you mean ${close}?`})`);
  }
  const { rationale = "" } = value;
  if (typeof rationale !== "string") return refuse("the rationale is not a string");
  const read = readTable(value.config, target);
  return read.ok ? { ...read, rationale: shorten(rationale, RATIONALE_CAP) } : read;
}

/** The text behind the last closed thinking block; the opening tag may be missing. Undefined when a block stays open. */
function afterThinking(text: string): string | undefined {
  let rest = text;
  for (const closed of text.matchAll(/<\/think(?:ing)?>/g)) rest = text.slice(closed.index + closed[0].length);
  return /<think(?:ing)?>/.test(rest) ? undefined : rest;
}

/** Something that sets knobs: an object of objects of numbers, whether or not the names and values are good. */
function isKnobObject(config: unknown): boolean {
  if (!isObject(config)) return false;
  const rows = Object.values(config);
  return rows.length > 0 && rows.every((row) => isObject(row) && Object.values(row).every((v) => typeof v === "number"));
}

/** Equal for configs that set the same knobs to the same values, in whatever order. */
function knobKey(config: Record<string, Record<string, number>>): string {
  const cells = Object.entries(config).flatMap(([s, row]) => Object.entries(row).map(([k, v]) => JSON.stringify([s, k, String(v)])));
  return cells.sort().join("");
}

/** A compact answer: every stratum in order, each with one level for each knob. White space between words is skipped. */
export function decodeCompactAnswer(text: string, target: TableTarget): Decoded {
  const { strata, family } = target;
  const grammar = answerWords(strata, family);
  const longest = Math.max(...grammar.flat().map((word) => word.length));
  // Cheap before anything is split: no answer is longer than its grammar, white space included.
  if (text.length > grammar.length * (longest + 4))
    return refuse(`an answer of ${text.length} characters; the grammar has ${grammar.length} words`);
  const words = splitWords(text);
  if (words === undefined) return refuse(`not words alone: ${quoteText(text, 80)}`);
  if (words.length !== grammar.length) return refuse(`${words.length} words where the grammar has ${grammar.length}`);
  const wrong = words.findIndex((word, i) => !grammar[i]!.includes(word));
  if (wrong >= 0) return refuse(`word ${wrong + 1} is ${quoteText(words[wrong]!, 40)}, expected one of ${grammar[wrong]!.join(" ")}`);
  const levels: LevelTable = {};
  strata.forEach((stratum, row) => {
    const first = row * (family.knobs.length + 1) + 1;
    levels[stratum] = Object.fromEntries(
      family.knobs.map((knob, k) => [knob.name, LEVELS.findIndex((l) => levelWord(l) === words[first + k])]),
    );
  });
  const read = readTable(knobValues(levels, strata, family.knobs), target);
  return read.ok ? { ...read, rationale: "" } : read;
}

function refuse(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}
