/**
 * The records between the stages of the loop, in the order of the loop:
 *
 *   config → instances → prompts → rollouts → verdicts → rewards → training → evaluation → failures → proposal → next config
 *
 * Every record is JSON-serialisable and validated where it crosses a boundary. Rates are in [0, 1]; lengths are in tokens.
 * Nothing here knows an environment: strata, knobs, codes and objectives are names that the environment family declares.
 */
import { z } from "zod";
import { schemaVersion } from "./schema.js";

// ---------------------------------------------------------------- config

/** The knobs of a config as a table: stratum (e.g. map size "4") → knob (e.g. "wait_ratio") → value. What every engineer edits. */
export const knobTableSchema = z.record(z.string(), z.record(z.string(), z.number()));
export type KnobTable = z.infer<typeof knobTableSchema>;

/** One change made to a given config because it had only one meaning. */
export const repairSchema = z.strictObject({ path: z.string(), from: z.unknown(), to: z.unknown(), reason: z.string() });
export type Repair = z.infer<typeof repairSchema>;

export const provenanceSchema = z.strictObject({
  source: z.enum(["initial", "proposal", "previous", "rollback"]),
  engineer: z.string().optional(),
  variant: z.string().optional(),
  /** The stage whose failures the proposal answered. */
  from_stage: z.int().nonnegative().optional(),
});
export type Provenance = z.infer<typeof provenanceSchema>;

export const stageConfigSchema = z.strictObject({
  schema_version: schemaVersion,
  stage: z.int().nonnegative(),
  /** The family's config as it was asked for, before anything was normalised. */
  requested: z.unknown(),
  normalised: z.unknown(),
  repairs: z.array(repairSchema),
  provenance: provenanceSchema,
  /** The checkpoint training starts from: 0 is the base, i + 1 the one that stage i made. */
  from_checkpoint: z.int().nonnegative(),
});
export type StageConfig = z.infer<typeof stageConfigSchema>;

// ---------------------------------------------------------------- instances

export const instanceBaseSchema = z.looseObject({ id: z.string(), hash: z.string() });
export type InstanceBase = { id: string; hash: string };

export const datasetManifestSchema = z.strictObject({
  schema_version: schemaVersion,
  family: z.string(),
  count: z.int().nonnegative(),
  seed: z.string(),
  /** SHA-256 over the instances in order, as canonical JSON lines. */
  sha256: z.string(),
  /** Requested and realised knobs per stratum, with the number of instances. */
  strata: z.record(
    z.string(),
    z.strictObject({
      count: z.int().nonnegative(),
      requested: z.record(z.string(), z.number()),
      realised: z.record(z.string(), z.number()),
    }),
  ),
  /** How many candidates were drawn and why they were dropped. */
  sampling: z.record(z.string(), z.number()),
  /** How many hashes were excluded from (validation, benchmark, earlier stages). */
  excluded_hashes: z.int().nonnegative(),
});
export type DatasetManifest = z.infer<typeof datasetManifestSchema>;

// ---------------------------------------------------------------- rollouts, verdicts, rewards

export const finishReasonSchema = z.enum(["stop", "length"]);
export type FinishReason = z.infer<typeof finishReasonSchema>;

export const completionSchema = z.object({
  instance: z.union([z.string(), z.int()]),
  completion: z.string(),
  /** How the answer ended, in its endpoint's words. */
  finish_reason: z.string().nullish(),
  tokens: z.int().nonnegative().optional(),
  /** Of the instance, where the answer keeps it: ids of two sets may be the same. */
  hash: z.string().nullish(),
});
export type CompletionRecord = z.infer<typeof completionSchema>;

/** Where the first broken rule was broken. `step` counts moves from 1; `cell` is [row, column] after that move. */
export const locationSchema = z.strictObject({
  step: z.int().nonnegative(),
  agents: z.array(z.int().nonnegative()),
  cell: z.tuple([z.int(), z.int()]).optional(),
});
export type Location = z.infer<typeof locationSchema>;

export const verdictSchema = z.strictObject({
  instance: z.string(),
  ok: z.boolean(),
  /** "valid" or one of the family's failure codes: the first broken rule in the order of time. */
  code: z.string(),
  at: locationSchema.optional(),
  reason: z.string(),
  /** How often each rule was broken; empty for a valid answer. */
  counts: z.record(z.string(), z.int().nonnegative()),
  /** Cost under each objective; only for a valid answer. */
  costs: z.record(z.string(), z.number()).optional(),
  /** The certified optimum under each objective. */
  optima: z.record(z.string(), z.number()),
  /** Valid and equal to the optimum, under each objective. */
  optimal: z.record(z.string(), z.boolean()),
});
export type Verdict = z.infer<typeof verdictSchema>;

/** The reward and its parts (paper: an accuracy term and a length term under adaptive weights). */
export const rewardSchema = z.strictObject({
  total: z.number(),
  accuracy: z.number(),
  length: z.number(),
  /** Weight of the accuracy term when this reward was given. */
  weight: z.number(),
});
export type Reward = z.infer<typeof rewardSchema>;

/** An outside failure on one rollout: recorded, never scored. */
export const failureSchema = z.strictObject({
  boundary: z.string(),
  message: z.string(),
  /** 0 where nothing was asked: the budget was used up, or the key had been refused before. */
  attempts: z.int().nonnegative(),
});

export const rolloutSchema = z.strictObject({
  /** `${stage}/${purpose}/${step}/${prompt}/${sample}`: unique within a run. */
  id: z.string(),
  instance: z.string(),
  stratum: z.string(),
  stage: z.int().nonnegative(),
  step: z.int().nonnegative(),
  sample: z.int().nonnegative(),
  completion: z.string(),
  tokens: z.int().nonnegative(),
  finish_reason: finishReasonSchema,
  verdict: verdictSchema.optional(),
  reward: rewardSchema.optional(),
  advantage: z.number().optional(),
  failure: failureSchema.optional(),
});
export type Rollout = z.infer<typeof rolloutSchema>;

// ---------------------------------------------------------------- training

/** One line of metrics.jsonl: TRL's names where they exist. Deterministic: wall times are events, not metrics. */
export const metricsSchema = z.looseObject({ stage: z.int().nonnegative(), step: z.int().nonnegative() }).catchall(z.number());
export type Metrics = { stage: number; step: number } & Record<string, number>;

/** What training a stage said about each stratum. */
export const trainingSummarySchema = z.strictObject({
  steps: z.int().nonnegative(),
  rollouts: z.int().nonnegative(),
  /** Tokens sampled and trained on in this stage: the axis on which engineers are compared. */
  completion_tokens: z.int().nonnegative(),
  strata: z.record(
    z.string(),
    z.strictObject({
      rollouts: z.int().nonnegative(),
      valid: z.number(),
      reward: z.number(),
      accuracy: z.number(),
      length: z.number(),
      /** Share of groups whose rewards were all equal: no gradient came from them. */
      zero_variance: z.number(),
      /** Mean of |advantage| over the rollouts: how much was to be learned here (SEC, arXiv 2505.14970). Absent where a trainer tells none. */
      mean_abs_advantage: z.number().nonnegative().optional(),
    }),
  ),
});
export type TrainingSummary = z.infer<typeof trainingSummarySchema>;

// ---------------------------------------------------------------- evaluation

/** A proportion with its binomial standard error. */
export const rateSchema = z.strictObject({ rate: z.number(), stderr: z.number() });
export type Rate = z.infer<typeof rateSchema>;

export const cellReportSchema = z.strictObject({
  n: z.int().nonnegative(),
  valid: rateSchema,
  optimal: rateSchema,
  /** Count of every primary code, "valid" included. */
  codes: z.record(z.string(), z.int().nonnegative()),
  /** Mean completion length in tokens. */
  tokens: z.number(),
  /** Mean of (cost − optimum) / optimum over valid answers; 0 when there is none. */
  gap: z.number(),
});
export type CellReport = z.infer<typeof cellReportSchema>;

export const validationReportSchema = z.strictObject({
  schema_version: schemaVersion,
  stage: z.int().nonnegative(),
  objective: z.string(),
  /** SHA-256 of the set that was evaluated, so that only like is compared with like. */
  set_sha256: z.string(),
  total: cellReportSchema,
  by_stratum: z.record(z.string(), cellReportSchema),
  /** By the family's tags, e.g. "agents=3", "conflict=true". */
  by_tag: z.record(z.string(), cellReportSchema),
  /** Outcome of every instance in the set's order: bit 0 valid, bit 1 optimal; −1 after an outside failure. What paired comparisons need. */
  outcomes: z.array(z.int().min(-1).max(3)),
  /** Outside failures: excluded from every rate. */
  failed: z.int().nonnegative(),
});
export type ValidationReport = z.infer<typeof validationReportSchema>;

// ---------------------------------------------------------------- failures

/** A failed board, shortened, for an engineer to read. */
export const failureExampleSchema = z.strictObject({
  stratum: z.string(),
  code: z.string(),
  prompt: z.string(),
  completion: z.string(),
  reason: z.string(),
});

/** Module F: what the engineer is told of the policy's failures. */
export const failureSummarySchema = z.strictObject({
  schema_version: schemaVersion,
  stage: z.int().nonnegative(),
  objective: z.string(),
  validation: z.record(z.string(), cellReportSchema),
  training: trainingSummarySchema,
  environment: z.strictObject({ requested: knobTableSchema, realised: knobTableSchema }),
  examples: z.array(failureExampleSchema),
});
export type FailureSummary = z.infer<typeof failureSummarySchema>;

// ---------------------------------------------------------------- proposal

export const proposalAttemptSchema = z.strictObject({
  /** The engineer's answer, exactly. */
  raw: z.string(),
  tokens: z.int().nonnegative(),
  /** Why it was not usable; absent for the one that was. */
  error: z.string().optional(),
});

export const guardrailActionSchema = z.strictObject({ guardrail: z.string(), reason: z.string(), from: z.unknown(), to: z.unknown() });
export type GuardrailAction = z.infer<typeof guardrailActionSchema>;

export const proposalSchema = z.strictObject({
  schema_version: schemaVersion,
  stage: z.int().nonnegative(),
  engineer: z.string(),
  variant: z.string(),
  rendering: z.enum(["chat", "compact", "none"]),
  attempts: z.array(proposalAttemptSchema),
  rationale: z.string(),
  /** accepted: as written; repaired: after repairs of one meaning; rejected: the previous config stays. */
  outcome: z.enum(["accepted", "repaired", "rejected"]),
  reasons: z.array(z.string()),
  repairs: z.array(repairSchema),
  guardrails: z.array(guardrailActionSchema),
  /** The family's config for the next stage. */
  config: z.unknown(),
  provenance: provenanceSchema,
});
export type Proposal = z.infer<typeof proposalSchema>;
