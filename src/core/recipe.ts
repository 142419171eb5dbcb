/**
 * The recipe: everything a run is made of, as one validated record. Every option of a run is declared here once; the command line
 * (`--set path=value`), the docs and the resolved `run.json` derive from it. Unknown keys are refused.
 */
import { z } from "zod";

const share = z.number().min(0).max(1);
const positive = z.number().positive();

export const rewardOptionsSchema = z
  .strictObject({
    /** Least accuracy term of a valid plan, however costly. */
    v_min: share.default(0.1),
    /** Completion lengths, in tokens, between which the length term falls from 1 to 0. */
    length_min: z.int().nonnegative().default(8),
    length_max: z.int().positive().default(64),
    /** Which completions earn the length term. */
    gate: z.enum(["always", "parsed", "valid"]).default("parsed"),
    /** Accuracy weight at a valid rate of 0 and of 1; between them it follows the moving average of the valid rate. */
    weight_start: share.default(0.8),
    weight_end: share.default(1),
    /** Decay of that moving average, per update. */
    ema_decay: share.default(0.98),
  })
  .refine((r) => r.length_max > r.length_min, { message: "length_max must exceed length_min", path: ["length_max"] });
export type RewardOptions = z.infer<typeof rewardOptionsSchema>;

export const lossTypeSchema = z.enum(["grpo", "dr_grpo", "dapo", "bnpo"]);
export type LossType = z.infer<typeof lossTypeSchema>;

export const optimiserOptionsSchema = z.strictObject({
  name: z.enum(["adamw", "muon"]).default("adamw"),
  /** AdamW's rate; under `muon`, that of embeddings and norms. */
  lr: positive.default(4e-4),
  /** Muon's rate for the hidden matrices. */
  muon_lr: positive.default(0.01),
  weight_decay: z.number().min(0).default(0),
  beta1: share.default(0.9),
  beta2: share.default(0.98),
  max_grad_norm: positive.default(1),
  /** Linear warm-up, in optimiser steps of the run. */
  warmup: z.int().nonnegative().default(10),
});
export type OptimiserOptions = z.infer<typeof optimiserOptionsSchema>;

/** GRPO on the embedded engine. One step samples `prompts × group` completions and makes `updates` optimiser steps on them. */
export const grpoOptionsSchema = z.strictObject({
  /** Steps in each stage. */
  steps: z.int().nonnegative().default(30),
  prompts: z.int().positive().default(48),
  group: z.int().min(2).default(8),
  updates: z.int().positive().default(2),
  temperature: positive.default(1),
  max_tokens: z.int().positive().default(96),
  loss: lossTypeSchema.default("dapo"),
  clip_low: positive.default(0.2),
  clip_high: positive.default(0.28),
  /** Weight of the k3 estimate of KL(policy ‖ stage's first checkpoint). */
  kl: z.number().min(0).default(0),
  /** Advantages divided by the group's standard deviation, or only centred. */
  scale_rewards: z.enum(["group", "none"]).default("group"),
  /** Groups without variance give no gradient; `drop` leaves them out of the normalisation as well. */
  zero_variance: z.enum(["drop", "keep"]).default("drop"),
  /** Mask completions that ran into max_tokens. */
  mask_truncated: z.boolean().default(false),
  optimiser: optimiserOptionsSchema.prefault({}),
  /** Supervised batches of engineering demonstrations mixed in, so that the tongue is not lost. 0: never. */
  replay_every: z.int().nonnegative().default(4),
  replay_batch: z.int().positive().default(8),
  replay_weight: positive.default(1),
});
export type GrpoOptions = z.infer<typeof grpoOptionsSchema>;

export const embeddedTrainerSchema = z.strictObject({ kind: z.literal("embedded"), grpo: grpoOptionsSchema.prefault({}) });
export const trainerOptionsSchema = z.discriminatedUnion("kind", [embeddedTrainerSchema]);

export const engineerOptionsSchema = z.strictObject({
  /** Which engineer proposes: see `envwright propose --help`. */
  name: z.string().default("self"),
  /** The context variant: a built-in name, or one of `variants`. */
  variant: z.string().default("V6"),
  /** Times it is asked before the previous config is kept. */
  attempts: z.int().positive().default(3),
  temperature: z.number().min(0).default(0),
  /** For `fixed`: a config file (the control) instead of the first config. For `replay`: a run folder. */
  from: z.string().optional(),
  examples: z.int().nonnegative().default(0),
  guardrails: z
    .strictObject({
      /** Largest total variation between the data ratios of consecutive stages; 1 switches it off. */
      max_change: share.default(1),
      /** Least data ratio of a stratum that is mastered; 0 switches it off. */
      min_mastered_share: share.default(0),
      /** Valid rate from which a stratum counts as mastered. */
      mastered: share.default(0.9),
      /** Return to the best checkpoint and its config when validation falls by more than its standard error. */
      rollback: z.boolean().default(false),
    })
    .prefault({}),
});
export type EngineerOptions = z.infer<typeof engineerOptionsSchema>;

export const validationOptionsSchema = z.strictObject({
  /** Instances in the balanced validation set. */
  count: z.int().positive().default(960),
  /** Seed of the set, apart from the run's: runs with other seeds are compared on the same boards. */
  seed: z.int().nonnegative().default(0),
  temperature: z.number().min(0).default(0),
  max_tokens: z.int().positive().default(96),
});
export type ValidationOptions = z.infer<typeof validationOptionsSchema>;

/** One sub-task of base training; see `pretrain`. */
export const pretrainOptionsSchema = z.strictObject({
  steps: z.int().positive().default(3600),
  batch: z.int().positive().default(32),
  /** Family config that the demonstrations are drawn from: its ratios make the base narrow or broad. */
  config: z.unknown(),
  /** Distinct demonstrations generated. */
  instances: z.int().positive().default(100_000),
  /** Share of the steps spent on engineering demonstrations. */
  engineering: share.default(0.12),
  engineering_batch: z.int().positive().default(16),
  optimiser: optimiserOptionsSchema.prefault({ name: "muon", lr: 3e-3, muon_lr: 0.02, warmup: 60 }),
  /** The rate falls linearly to `decay_to` of its peak after `decay_after` of the steps. */
  decay_after: share.default(0.3),
  decay_to: share.default(0.05),
  model: z
    .strictObject({
      hidden_size: z.int().positive().default(64),
      layers: z.int().positive().default(4),
      heads: z.int().positive().default(2),
      kv_heads: z.int().positive().default(2),
      head_dim: z.int().positive().default(32),
      intermediate_size: z.int().positive().default(128),
      max_positions: z.int().positive().default(1024),
    })
    .prefault({}),
});
export type PretrainOptions = z.infer<typeof pretrainOptionsSchema>;

export const recipeSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]*$/i, "letters, digits, dots, dashes"),
  description: z.string().default(""),
  family: z.string().default("mapf-frozenlake"),
  rendering: z.enum(["chat", "compact"]).default("compact"),
  seed: z.int().nonnegative().default(1),
  stages: z.int().positive(),
  /** Instances generated for each stage. */
  instances: z.int().positive(),
  /** `random`: a fresh random config over the strata of `config` (paper); `given`: `config` as it stands. */
  initial: z.enum(["random", "given"]).default("random"),
  config: z.unknown(),
  /** Checkpoint folder the first stage starts from; relative to the recipe's file. */
  base: z.string(),
  validation: validationOptionsSchema.prefault({}),
  reward: rewardOptionsSchema.prefault({}),
  trainer: trainerOptionsSchema.prefault({ kind: "embedded" }),
  engineer: engineerOptionsSchema.prefault({}),
  pretrain: pretrainOptionsSchema.optional(),
  /** Engine worker threads; results do not depend on it. 0: one per core. */
  workers: z.int().nonnegative().default(0),
});
export type Recipe = z.infer<typeof recipeSchema>;
