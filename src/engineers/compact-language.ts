/**
 * The engineer's words in the compact rendering: a closed vocabulary of markers, strata, failure codes and levels, joined without
 * separators. Field order is fixed, so that a miniature learns each field's place. No text of a policy can be written in it.
 *
 *   prompt   <engineer> [<guideline>] [<training> progress [<objective:o> weight]] [<history> (<step> stratum…)…] <current> stratum… <propose>
 *   current  <stratum:s> valid optimal code₁…codeₖ gap tokens zero-variance knob₁…knobₘ
 *   earlier  <stratum:s> valid <code:c> share knob₁…knobₘ
 *   answer   (<stratum:s> knob₁…knobₘ)…
 */
import type { EnvironmentFamily, KnobSpec, KnobTable } from "../core/index.js";

/** A quantity on eleven steps, 0 to 10. */
export type Level = number;
export const LEVELS: readonly Level[] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** Stratum → knob → level. */
export type LevelTable = Record<string, Record<string, Level>>;

export const OPENING = "<engineer>";
/** Ends a compact engineering prompt; the answer follows it. */
export const PROPOSE = "<propose>";
export const GUIDELINE = "<guideline>";
export const TRAINING = "<training>";
export const HISTORY = "<history>";
export const STEP = "<step>";
export const CURRENT = "<current>";
/** Nothing was measured. */
export const NONE = "<level:none>";
/** Stands for the commonest failure code where there was no failure. */
export const NO_FAILURE = "<code:none>";

export const levelWord = (level: Level | null): string => (level === null ? NONE : `<level:${level}>`);
export const stratumWord = (stratum: string): string => `<stratum:${stratum}>`;
export const codeWord = (code: string): string => `<code:${code}>`;
export const objectiveWord = (objective: string): string => `<objective:${objective}>`;

/** Every word that an engineering prompt or answer over these strata can hold, in a fixed order and without repetition. */
export function engineerWords(strata: readonly string[], family: EnvironmentFamily): string[] {
  return [
    OPENING,
    GUIDELINE,
    TRAINING,
    HISTORY,
    STEP,
    CURRENT,
    PROPOSE,
    ...LEVELS.map(levelWord),
    NONE,
    ...strata.map(stratumWord),
    ...family.failureCodes.map((c) => codeWord(c.code)),
    NO_FAILURE,
    ...family.objectives.map(objectiveWord),
  ];
}

/** The words allowed at each position of an answer: for every stratum its word, then one level for each knob. */
export function answerWords(strata: readonly string[], family: EnvironmentFamily): string[][] {
  const levels = LEVELS.map(levelWord);
  return strata.flatMap((stratum) => [[stratumWord(stratum)], ...family.knobs.map(() => levels)]);
}

export function writeAnswer(levels: LevelTable, strata: readonly string[], family: EnvironmentFamily): string {
  return strata.map((s) => stratumWord(s) + family.knobs.map((knob) => levelWord(levels[s]![knob.name]!)).join("")).join("");
}

/** Splits a compact text into words. Undefined when anything but words and white space stands in it. */
export function splitWords(text: string): string[] | undefined {
  const words = text.match(/<[^<>\s]+>/g) ?? [];
  const length = words.reduce((sum, word) => sum + word.length, 0);
  return length === text.replace(/\s+/g, "").length ? words : undefined;
}

/** The nearest of the eleven steps to a quantity in [0, 1]; clamped. */
export function levelOf(fraction: number): Level {
  return Math.min(10, Math.max(0, Math.round(fraction * 10)));
}

/** Shares on the scale of the largest one (10 = largest); ratios between their bounds. Strata that lack a knob get 0. */
export function knobLevels(table: KnobTable, strata: readonly string[], knobs: readonly KnobSpec[]): LevelTable {
  const levels: LevelTable = Object.fromEntries(strata.map((s) => [s, {}]));
  for (const knob of knobs) {
    const value = (s: string) => table[s]?.[knob.name] ?? knob.min;
    const top = knob.kind === "share" ? Math.max(...strata.map(value)) : knob.max - knob.min;
    const bottom = knob.kind === "share" ? 0 : knob.min;
    for (const s of strata) levels[s]![knob.name] = top > 0 ? levelOf((value(s) - bottom) / top) : 0;
  }
  return levels;
}

/** The inverse, up to quantisation: shares sum to 1 again (they stay 0 when every level is 0). */
export function knobValues(levels: LevelTable, strata: readonly string[], knobs: readonly KnobSpec[]): KnobTable {
  const table: KnobTable = Object.fromEntries(strata.map((s) => [s, {}]));
  for (const knob of knobs) {
    const sum = strata.reduce((total, s) => total + levels[s]![knob.name]!, 0);
    for (const s of strata) {
      const level = levels[s]![knob.name]!;
      table[s]![knob.name] = knob.kind === "share" ? (sum === 0 ? 0 : level / sum) : knob.min + ((knob.max - knob.min) * level) / 10;
    }
  }
  return table;
}
