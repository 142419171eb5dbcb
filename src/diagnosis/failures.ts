/**
 * ValidationReport, TrainingSummary and the config's knobs → FailureSummary: what an engineer is told (module F). Examples are drawn by
 * seed over the commonest failure codes and shortened; nothing here interprets them.
 */
import {
  type FailureSummary,
  type KnobTable,
  SCHEMA_VERSION,
  type Seed,
  shorten,
  type TrainingSummary,
  type ValidationReport,
} from "../core/index.js";

export type FailureExample = FailureSummary["examples"][number];

/** Characters kept of a quoted prompt and of a quoted completion. */
const PROMPT_CAP = 900;
const COMPLETION_CAP = 400;
const REASON_CAP = 200;

export interface FailureInput {
  stage: number;
  report: ValidationReport;
  training: TrainingSummary;
  /** The knobs as they were asked for and as the generator met them. */
  environment: { requested: KnobTable; realised: KnobTable };
  /** `candidates` holds failed answers; `count` of them are shown. */
  examples?: { count: number; seed: Seed; candidates: readonly FailureExample[] };
}

export function failureSummary(input: FailureInput): FailureSummary {
  const { examples } = input;
  return {
    schema_version: SCHEMA_VERSION,
    stage: input.stage,
    objective: input.report.objective,
    validation: input.report.by_stratum,
    training: input.training,
    environment: input.environment,
    examples: examples === undefined ? [] : drawExamples(examples.candidates, examples.count, examples.seed),
  };
}

/** `count` examples: one of the commonest code, one of the next, and so on round; within a code a seeded order. */
export function drawExamples(candidates: readonly FailureExample[], count: number, seed: Seed): FailureExample[] {
  const byCode = new Map<string, FailureExample[]>();
  for (const example of candidates) {
    const pile = byCode.get(example.code);
    if (pile === undefined) byCode.set(example.code, [example]);
    else pile.push(example);
  }
  const piles = [...byCode]
    .sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1))
    .map(([code, pile]) =>
      seed
        .child(code)
        .at(0)
        .shuffle([...pile]),
    );
  const drawn: FailureExample[] = [];
  for (let round = 0; drawn.length < count && piles.some((pile) => round < pile.length); round++) {
    for (const pile of piles) {
      const example = pile[round];
      if (example !== undefined && drawn.length < count) drawn.push(shortenExample(example));
    }
  }
  return drawn;
}

function shortenExample(example: FailureExample): FailureExample {
  return {
    ...example,
    prompt: shorten(example.prompt, PROMPT_CAP),
    completion: shorten(example.completion, COMPLETION_CAP),
    reason: shorten(example.reason, REASON_CAP),
  };
}
