/**
 * CompactView: what a compact prompt shows, as a record of levels. It is made from the same facts as the Markdown, written as words, and
 * read back from words. What the levels leave out, on purpose: number of instances and errors, the parts of the training reward,
 * realised knobs, absolute counts of module T, of an earlier stage every code but the commonest, and all text (guideline, quotes, S).
 */
import type { EnvironmentFamily } from "../core/index.js";
import {
  CURRENT,
  codeWord,
  GUIDELINE,
  HISTORY,
  knobLevels,
  type Level,
  type LevelTable,
  levelOf,
  levelWord,
  NO_FAILURE,
  OPENING,
  objectiveWord,
  PROPOSE,
  STEP,
  stratumWord,
  TRAINING,
} from "./compact-language.js";
import type { StageFacts } from "./context.js";

/** Cost gaps are shown on a scale that ends at this one: half as much again as the optimum. */
const WIDEST_GAP = 0.5;

export interface StratumView {
  stratum: string;
  valid: Level | null;
  optimal: Level | null;
  /** Share of each code among the failures; all 0 where nothing failed. */
  codes: Record<string, Level>;
  gap: Level | null;
  /** Mean length on the scale of the token limit. */
  tokens: Level | null;
  /** Share of training groups without variance. */
  zeroVariance: Level | null;
  knobs: Record<string, Level>;
}

export interface EarlierStratumView {
  stratum: string;
  valid: Level | null;
  /** The commonest failure code (the family's order breaks ties), or null. */
  code: string | null;
  /** Its share among the failures. */
  share: Level;
  knobs: Record<string, Level>;
}

export interface CompactView {
  guideline: boolean;
  training: { progress: Level; full: { objective: string; weight: Level } | null } | null;
  /** Earlier stages, oldest first. */
  history: EarlierStratumView[][];
  current: StratumView[];
}

export function currentView(facts: StageFacts, maxTokens: number, family: EnvironmentFamily): StratumView[] {
  const knobs = levelsOfFacts(facts, family);
  const level = (value: number | null, scale = 1) => (value === null ? null : levelOf(value / scale));
  return facts.strata.map((s) => {
    const failures = sum(Object.values(s.codes));
    return {
      stratum: s.stratum,
      valid: level(s.valid),
      optimal: level(s.optimal),
      codes: Object.fromEntries(Object.entries(s.codes).map(([code, count]) => [code, failures === 0 ? 0 : levelOf(count / failures)])),
      gap: level(s.gap, WIDEST_GAP),
      tokens: level(s.tokens, maxTokens),
      zeroVariance: level(s.training?.zeroVariance ?? null),
      knobs: knobs[s.stratum]!,
    };
  });
}

export function earlierView(facts: StageFacts, family: EnvironmentFamily): EarlierStratumView[] {
  const knobs = levelsOfFacts(facts, family);
  return facts.strata.map((s) => {
    const failures = sum(Object.values(s.codes));
    let commonest: [string, number] = ["", 0];
    for (const entry of Object.entries(s.codes)) if (entry[1] > commonest[1]) commonest = entry;
    return {
      stratum: s.stratum,
      valid: s.valid === null ? null : levelOf(s.valid),
      code: failures === 0 ? null : commonest[0],
      share: failures === 0 ? 0 : levelOf(commonest[1] / failures),
      knobs: knobs[s.stratum]!,
    };
  });
}

function levelsOfFacts(facts: StageFacts, family: EnvironmentFamily): LevelTable {
  const table = Object.fromEntries(facts.strata.map((s) => [s.stratum, s.knobs]));
  return knobLevels(
    table,
    facts.strata.map((s) => s.stratum),
    family.knobs,
  );
}

/** The words of a prompt, in the order that compact-language.ts gives. */
export function viewWords(view: CompactView, family: EnvironmentFamily): string[] {
  const knobWords = (knobs: Record<string, Level>) => family.knobs.map((knob) => levelWord(knobs[knob.name] ?? null));
  const words = [OPENING];
  if (view.guideline) words.push(GUIDELINE);
  if (view.training !== null) {
    words.push(TRAINING, levelWord(view.training.progress));
    const { full } = view.training;
    if (full !== null) words.push(objectiveWord(full.objective), levelWord(full.weight));
  }
  if (view.history.length > 0) words.push(HISTORY);
  for (const stage of view.history) {
    words.push(STEP);
    for (const s of stage) {
      words.push(stratumWord(s.stratum), levelWord(s.valid), s.code === null ? NO_FAILURE : codeWord(s.code), levelWord(s.share));
      words.push(...knobWords(s.knobs));
    }
  }
  words.push(CURRENT);
  for (const s of view.current) {
    words.push(stratumWord(s.stratum), levelWord(s.valid), levelWord(s.optimal));
    words.push(...family.failureCodes.map((c) => levelWord(s.codes[c.code] ?? 0)));
    words.push(levelWord(s.gap), levelWord(s.tokens), levelWord(s.zeroVariance), ...knobWords(s.knobs));
  }
  words.push(PROPOSE);
  return words;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
