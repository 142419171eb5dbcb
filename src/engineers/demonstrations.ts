/**
 * Demonstrations of engineering for supervised base training: a random but plausible competence profile, written as the compact prompt of
 * variant V6, and the answer of the `rule` engineer. So a miniature's engineering prior is distilled from that rule; a pretrained model
 * would bring its own.
 */
import type { EnvironmentFamily, KnobSpec, Random } from "../core/index.js";
import { type Level, type LevelTable, levelOf, writeAnswer } from "./compact-language.js";
import { type CompactView, type EarlierStratumView, type StratumView, viewWords } from "./compact-view.js";
import { ruleTable } from "./rule-engineer.js";

export interface DemonstrationOptions {
  /** Show an earlier stage, as it stands in a run from its third stage on; in three of ten demonstrations there is none yet. */
  history: boolean;
}

export interface Demonstration {
  prompt: string;
  answer: string;
}

export function engineeringDemonstration(
  random: Random,
  strata: readonly string[],
  family: EnvironmentFamily,
  { history }: DemonstrationOptions,
): Demonstration {
  const profile = drawProfile(random, strata, family);
  let knobs = startingKnobs(random, strata, family.knobs);
  // Configs of a run in progress: the rule's own answers to earlier, weaker versions of the same policy.
  const stagesBefore = random.below(5);
  let earlier: EarlierStratumView[] | undefined;
  for (let i = stagesBefore; i > 0; i--) {
    const view = drawView(random, strata, family, profile, knobs, -0.35 * i);
    earlier = view.map((s) => earlierOf(s));
    knobs = ruleTable({ current: view }, family);
  }
  const current = drawView(random, strata, family, profile, knobs, 0);
  const view: CompactView = {
    guideline: true,
    training: { progress: random.between(1, 10), full: null },
    history: history && earlier !== undefined && random.float() < 0.875 ? [earlier] : [],
    current,
  };
  return { prompt: viewWords(view, family).join(""), answer: writeAnswer(ruleTable(view, family), strata, family) };
}

interface Profile {
  /** Log-odds of success at the easiest stratum, and how much each further one costs. */
  skill: number;
  slope: number;
  /** How often each code occurs among the failures, over all strata. */
  codes: number[];
  /** Share of valid answers that are optimal. */
  care: number;
}

function drawProfile(random: Random, strata: readonly string[], family: EnvironmentFamily): Profile {
  return {
    skill: 5.5 * random.float() - 1.5,
    // From "the same everywhere" to "certain at one end, hopeless at the other".
    slope: (6 * random.float()) / Math.max(1, strata.length - 1),
    // Cubed exponentials: mostly one or two codes dominate, as they do in practice.
    codes: family.failureCodes.map(() => exponential(random) ** 3),
    care: 0.6 + 0.4 * random.float(),
  };
}

/** What validation and training would show of a policy of this profile, `shift` log-odds stronger. */
function drawView(
  random: Random,
  strata: readonly string[],
  family: EnvironmentFamily,
  profile: Profile,
  knobs: LevelTable,
  shift: number,
): StratumView[] {
  return strata.map((stratum, i) => {
    const p = logistic(profile.skill + shift - profile.slope * i + 0.35 * random.normal());
    const valid = levelOf(p);
    // A stratum that almost always succeeds shows no failure half of the time.
    const flawless = valid === 10 && random.float() < 0.5;
    const weights = profile.codes.map((w) => w * exponential(random) + 1e-9);
    const sum = weights.reduce((a, b) => a + b, 0);
    const untrained = random.float() < 0.03;
    return {
      stratum,
      valid,
      optimal: levelOf(p * Math.min(1, profile.care + 0.1 * random.normal())),
      codes: Object.fromEntries(family.failureCodes.map((c, k) => [c.code, flawless ? 0 : levelOf(weights[k]! / sum)])),
      gap: valid === 0 && p < 0.01 ? null : levelOf((1 - profile.care) * random.float()),
      tokens: levelOf(0.1 + (0.5 * random.float() * (i + 1)) / strata.length),
      zeroVariance: untrained ? null : levelOf(Math.abs(2 * p - 1) ** 2 + 0.15 * random.normal()),
      knobs: knobs[stratum]!,
    };
  });
}

/** A random config, or one that is the same for all strata; shares on the scale of the largest. */
function startingKnobs(random: Random, strata: readonly string[], specs: readonly KnobSpec[]): LevelTable {
  const same = random.float() < 0.25;
  const table: LevelTable = Object.fromEntries(strata.map((s) => [s, {}]));
  for (const knob of specs) {
    const ceiling = random.between(3, 10);
    const common = random.between(0, 8);
    const drawn = strata.map(() => (knob.kind === "share" ? exponential(random) : random.between(0, ceiling)));
    const most = Math.max(...drawn);
    strata.forEach((s, i) => {
      const level = knob.kind === "share" ? (same ? 10 : levelOf(drawn[i]! / most)) : same ? common : drawn[i]!;
      table[s]![knob.name] = level;
    });
  }
  return table;
}

function earlierOf({ stratum, valid, codes, knobs }: StratumView): EarlierStratumView {
  let commonest: [string | null, Level] = [null, 0];
  for (const [code, level] of Object.entries(codes)) if (level > commonest[1]) commonest = [code, level];
  return { stratum, valid, code: commonest[0], share: commonest[1], knobs };
}

const logistic = (x: number) => 1 / (1 + Math.exp(-x));
const exponential = (random: Random) => -Math.log(1 - random.float());
