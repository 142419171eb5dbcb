/**
 * EngineerContext: everything that is known when a stage has been evaluated, as one record. Renderings and computing engineers read this
 * and nothing else, so an engineer keeps no state of its own and a run can be resumed, or a stored stage asked again, from its files.
 */
import { z } from "zod";
import {
  type EnvironmentFamily,
  failureSummarySchema,
  InputError,
  type KnobTable,
  rewardOptionsSchema,
  schemaVersion,
} from "../core/index.js";

export const engineerContextSchema = z.strictObject({
  schema_version: schemaVersion,
  family: z.string(),
  /** The stage whose failures are answered; its config is `config`. */
  stage: z.int().nonnegative(),
  /** Stages in the run. */
  stages: z.int().positive(),
  failures: failureSummarySchema,
  /** The family's config of this stage, normalised. */
  config: z.unknown(),
  /** Every earlier stage, oldest first. Variants hide, engineers that compute use all of it. */
  history: z.array(
    z.strictObject({
      stage: z.int().nonnegative(),
      failures: failureSummarySchema,
      config: z.unknown(),
      /** The config was not proposed: it is the one that the run started from. */
      initial: z.boolean(),
    }),
  ),
  /** What the engineer wrote of its earlier choices, oldest first (module S). */
  explanations: z.array(z.strictObject({ stage: z.int().nonnegative(), text: z.string() })),
  /** Completions of the validation set end at this many tokens. */
  max_tokens: z.int().positive(),
  /** Module T. */
  training: z.strictObject({
    steps_per_stage: z.int().nonnegative(),
    /** Completion tokens at which a stage ends before that; without them it takes all its steps. */
    tokens_per_stage: z.int().positive().optional(),
    /** Over all stages so far. */
    steps_done: z.int().nonnegative(),
    /** Passes over the stage's instances. */
    epochs: z.number().nonnegative(),
    reward: rewardOptionsSchema,
    /** Weight of the accuracy term now. */
    accuracy_weight: z.number(),
  }),
});
export type EngineerContext = z.infer<typeof engineerContextSchema>;

/** One stratum of one stage, in the precision that both renderings show: rates, knobs and gaps to 3 decimals. `null`: nothing measured. */
export interface StratumFacts {
  stratum: string;
  n: number;
  valid: number | null;
  validError: number;
  optimal: number | null;
  optimalError: number;
  /** Count of every failure code of the family, in its order. */
  codes: Record<string, number>;
  tokens: number | null;
  gap: number | null;
  training: { rollouts: number; valid: number; reward: number; accuracy: number; length: number; zeroVariance: number } | null;
  /** What the config asked for, in the order of the family's knobs. */
  knobs: Record<string, number>;
  /** What the generator made; absent knobs were not measured. */
  realised: Record<string, number>;
}

export interface StageFacts {
  stage: number;
  /** In ascending difficulty. */
  strata: StratumFacts[];
}

/** The facts of the current stage, or of an earlier one. @throws {InputError} a failure code that the family does not declare. */
export function stageFacts(family: EnvironmentFamily, stage: Pick<EngineerContext, "stage" | "failures" | "config">): StageFacts {
  const table = family.knobTable(stage.config);
  return { stage: stage.stage, strata: family.strata(stage.config).map((stratum) => stratumFacts(family, stage.failures, table, stratum)) };
}

function stratumFacts(family: EnvironmentFamily, failures: EngineerContext["failures"], table: KnobTable, stratum: string): StratumFacts {
  const cell = failures.validation[stratum];
  const trained = failures.training.strata[stratum];
  const measured = cell !== undefined && cell.n > 0;
  const names = family.failureCodes.map((c) => c.code);
  for (const code of Object.keys(cell?.codes ?? {})) {
    if (code !== "valid" && !names.includes(code)) throw unknownCode(family, code);
  }
  return {
    stratum,
    n: cell?.n ?? 0,
    valid: measured ? round3(cell.valid.rate) : null,
    validError: round3(cell?.valid.stderr ?? 0),
    optimal: measured ? round3(cell.optimal.rate) : null,
    optimalError: round3(cell?.optimal.stderr ?? 0),
    codes: Object.fromEntries(names.map((code) => [code, cell?.codes[code] ?? 0])),
    tokens: measured ? Math.round(cell.tokens * 10) / 10 : null,
    gap: measured && cell.valid.rate > 0 ? round3(cell.gap) : null,
    training:
      trained === undefined || trained.rollouts === 0
        ? null
        : {
            rollouts: trained.rollouts,
            valid: round3(trained.valid),
            reward: round3(trained.reward),
            accuracy: round3(trained.accuracy),
            length: round3(trained.length),
            zeroVariance: round3(trained.zero_variance),
          },
    knobs: roundedKnobs(family, table[stratum]),
    realised: roundedKnobs(family, failures.environment.realised[stratum]),
  };
}

function roundedKnobs(family: EnvironmentFamily, values: Record<string, number> | undefined): Record<string, number> {
  const known = family.knobs.filter((knob) => values?.[knob.name] !== undefined);
  return Object.fromEntries(known.map((knob) => [knob.name, round3(values![knob.name]!)]));
}

export function round3(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function unknownCode(family: EnvironmentFamily, code: string): InputError {
  return new InputError({
    message: `failure code "${code}" is not one of the family ${family.name}`,
    value: code,
    expected: family.failureCodes.map((c) => c.code).join(", "),
    remedy: "summarise the failures with the family that judged them",
  });
}
