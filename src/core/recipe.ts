/**
 * The recipe: everything a run is made of, as one validated record. Every option of a run is declared here once; the command line
 * (`--set path=value`), the docs and the resolved `run.json` derive from it. Unknown keys are refused.
 */
import { z } from "zod";
import { variantSchema } from "./context-variant.js";
import { servingOptionsSchema } from "./serving-options.js";

const share = z.number().min(0).max(1);
const positive = z.number().positive();

export const rewardOptionsSchema = z
  .strictObject({
    v_min: share.default(0.1).describe("Least accuracy term of a valid plan, however costly."),
    length_min: z
      .int()
      .nonnegative()
      .default(8)
      .describe("Completion lengths, in tokens, between which the length term falls from 1 to 0."),
    length_max: z.int().positive().default(64),
    gate: z.enum(["always", "parsed", "valid"]).default("parsed").describe("Which completions earn the length term."),
    weight_start: share
      .default(0.8)
      .describe("Accuracy weight at a valid rate of 0 and of 1; between them it follows the moving average of the valid rate."),
    weight_end: share.default(1),
    ema_decay: share.default(0.98).describe("Decay of that moving average, per update."),
  })
  .refine((r) => r.length_max > r.length_min, { message: "length_max must exceed length_min", path: ["length_max"] });
export type RewardOptions = z.infer<typeof rewardOptionsSchema>;

export const lossTypeSchema = z.enum(["grpo", "dr_grpo", "dapo", "bnpo"]);
export type LossType = z.infer<typeof lossTypeSchema>;

export const optimiserOptionsSchema = z.strictObject({
  name: z.enum(["adamw", "muon"]).default("adamw").describe("`muon`: Muon for hidden matrices, AdamW for the rest."),
  lr: positive.default(4e-4).describe("AdamW's rate; under `muon`, that of embeddings and norms."),
  muon_lr: positive.default(0.01).describe("Muon's rate for the hidden matrices."),
  weight_decay: z.number().min(0).default(0),
  beta1: share.default(0.9),
  beta2: share.default(0.98),
  max_grad_norm: positive.default(1),
  warmup: z
    .int()
    .nonnegative()
    .default(10)
    .describe("Linear warm-up, in optimiser steps of the run; trl and verl begin it anew in each stage."),
});
export type OptimiserOptions = z.infer<typeof optimiserOptionsSchema>;

/** GRPO on the embedded engine. One step samples `prompts × group` completions and makes `updates` optimiser steps on them. */
export const grpoOptionsSchema = z.strictObject({
  steps: z.int().nonnegative().default(30).describe("Steps in each stage."),
  tokens: z
    .int()
    .positive()
    .optional()
    .describe(
      "Ends a stage before `steps`, at the first step by which it has sampled this many completion tokens: stages at equal tokens.",
    ),
  prompts: z.int().positive().default(48).describe("Prompts sampled in each step."),
  group: z.int().min(2).default(8).describe("Completions of each prompt."),
  updates: z.int().positive().default(2).describe("Optimiser steps made on each sampled batch."),
  temperature: positive.default(1).describe("Sampling temperature in training."),
  max_tokens: z.int().positive().default(96).describe("Longest completion in training, in tokens."),
  loss: lossTypeSchema.default("dapo").describe("Normalisation of the policy loss, as TRL names it."),
  clip_low: positive.default(0.2).describe("The ratio is clipped below 1 − this."),
  clip_high: positive.default(0.28).describe("The ratio is clipped above 1 + this."),
  kl: z.number().min(0).default(0).describe("Weight of the k3 estimate of KL(policy ‖ stage's first checkpoint)."),
  scale_rewards: z
    .enum(["group", "none"])
    .default("group")
    .describe("Advantages divided by the group's standard deviation, or only centred."),
  zero_variance: z
    .enum(["drop", "keep"])
    .default("drop")
    .describe("Groups without variance give no gradient; `drop` leaves them out of the normalisation as well."),
  mask_truncated: z.boolean().default(false).describe("Mask completions that ran into max_tokens."),
  optimiser: optimiserOptionsSchema.prefault({}),
  replay_every: z
    .int()
    .nonnegative()
    .default(4)
    .describe("Supervised batches of engineering demonstrations mixed in, so that the tongue is not lost. 0: never."),
  replay_batch: z.int().positive().default(8),
  replay_weight: positive.default(1),
});
export type GrpoOptions = z.infer<typeof grpoOptionsSchema>;

export const embeddedTrainerSchema = z.strictObject({ kind: z.literal("embedded"), grpo: grpoOptionsSchema.prefault({}) });
/** What every trainer outside of this process has. Of `grpo` it takes all but `tokens`, `zero_variance`, `replay_*` and Muon. */
const engineShape = {
  grpo: grpoOptionsSchema.prefault({}),
  python: z.string().default("python3").describe("Python that has the engine and this project's package (`pip install ./python`)."),
  micro_batch: z
    .int()
    .positive()
    .optional()
    .describe("Completions in one forward pass per device. Unless given: trl all of an optimiser step's, verl 4."),
  retries: z.int().nonnegative().default(1).describe("Times a stage is begun again after the engine failed."),
  reward_host: z
    .string()
    .default("127.0.0.1")
    .describe("Address the run's reward service listens on: where the engine reaches this machine."),
  environment: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      "Further environment variables of the engine. run.json keeps them: a key belongs into the environment of the command itself.",
    ),
};

export const trlTrainerSchema = z.strictObject({
  kind: z.literal("trl"),
  ...engineShape,
  launch: z
    .array(z.string())
    .default([])
    .describe(
      "Launcher put before the script, e.g. [accelerate, launch, --config_file, gpus.yaml]; empty: python -m. A launcher named alone is looked for beside `python` first.",
    ),
  processes: z.int().positive().default(1).describe("Training processes that the launcher starts."),
  device: z.enum(["cpu", "gpu"]).default("gpu"),
  dtype: z.enum(["float32", "bfloat16"]).default("float32").describe("Type of the weights."),
  grpo_config: z
    .record(z.string(), z.json())
    .default({})
    .describe(
      "Further arguments of TRL's GRPOConfig, passed last, e.g. {use_vllm: true, gradient_checkpointing: true}; what the run relies on or another option says is refused.",
    ),
});
export type TrlTrainerOptions = z.infer<typeof trlTrainerSchema>;

export const verlTrainerSchema = z.strictObject({
  kind: z.literal("verl"),
  ...engineShape,
  nodes: z.int().positive().default(1).describe("Machines of the cluster."),
  gpus_per_node: z.int().positive().default(8),
  max_prompt_tokens: z.int().positive().default(2048).describe("Longest prompt; a longer one is an error, never cut."),
  rollout: z.enum(["vllm", "sglang"]).default("vllm").describe("Engine that samples."),
  tensor_parallel: z.int().positive().default(1).describe("GPUs that share one copy of the sampling model."),
  gpu_memory: share.default(0.6).describe("Share of GPU memory for the sampling engine."),
  thinking: z.boolean().default(false).describe("`enable_thinking` of the chat template."),
  ray: z
    .string()
    .optional()
    .describe("Address of a Ray cluster's job server, e.g. http://head:8265; unless given verl runs on this machine."),
  shared: z.string().optional().describe("Folder that all machines see, for data and checkpoints; the run's own unless given."),
  overrides: z.array(z.string()).default([]).describe("Further Hydra overrides, last on the command line."),
});
export type VerlTrainerOptions = z.infer<typeof verlTrainerSchema>;

export const trainerOptionsSchema = z.discriminatedUnion("kind", [embeddedTrainerSchema, trlTrainerSchema, verlTrainerSchema]);
export type TrainerOptions = z.infer<typeof trainerOptionsSchema>;

export const engineerOptionsSchema = z.strictObject({
  name: z.string().default("self").describe("Which engineer proposes: see `envwright propose --help`."),
  variant: z.string().default("V6").describe("The context variant: V1 to V6, or the name of one in `variants`."),
  variants: z.array(variantSchema).default([]).describe("Variants of your own: a name and a list of modules each."),
  context_tokens: z
    .int()
    .positive()
    .optional()
    .describe(
      "Budget of the context: explanations and earlier stages are left out from the oldest until it fits, failures never. Unless given: 240 words (compact), 8192 tokens at three characters each (chat).",
    ),
  policy: z.string().optional().describe("For `llm`: the policy that is asked, as for `envwright eval`, e.g. `openai:MODEL@BASE_URL`."),
  max_tokens: z.int().positive().default(4096).describe("Longest answer of a chat engineer, thinking included, in tokens."),
  approve: z.boolean().default(false).describe("A person approves or edits every proposal before it is used: see docs/engineers.md."),
  attempts: z.int().positive().default(3).describe("Times it is asked before the previous config is kept."),
  temperature: z.number().min(0).default(0).describe("Temperature of a model engineer; 0 is greedy."),
  from: z.string().optional().describe("For `fixed`: a config file (the control) instead of the first config. For `replay`: a run folder."),
  examples: z.int().nonnegative().default(0).describe("Failed instances quoted to the engineer (chat rendering)."),
  guardrails: z
    .strictObject({
      max_change: share.default(1).describe("Largest total variation between the data ratios of consecutive stages; 1 switches it off."),
      min_mastered_share: share.default(0).describe("Least data ratio of a stratum that is mastered; 0 switches it off."),
      mastered: share.default(0.9).describe("Valid rate from which a stratum counts as mastered."),
      rollback: z
        .boolean()
        .default(false)
        .describe("Return to the best checkpoint and its config when validation falls by more than its standard error."),
    })
    .prefault({}),
});
export type EngineerOptions = z.infer<typeof engineerOptionsSchema>;

export const validationOptionsSchema = z.strictObject({
  count: z.int().positive().default(960).describe("Instances in the balanced validation set."),
  seed: z
    .int()
    .nonnegative()
    .default(0)
    .describe("Seed of the set, apart from the run's: runs with other seeds are compared on the same boards."),
  temperature: z.number().min(0).default(0).describe("0 is greedy."),
  max_tokens: z.int().positive().default(96).describe("Longest completion in validation, in tokens."),
});
export type ValidationOptions = z.infer<typeof validationOptionsSchema>;

/** A second balanced set that no engineer sees: base and last checkpoint are compared on it when the run ends. */
export const heldOutOptionsSchema = z.strictObject({
  count: z.int().nonnegative().default(0).describe("Instances in the held-out set; 0: none."),
  seed: z.int().nonnegative().default(0).describe("Seed of the held-out set, apart from the run's."),
});

/** One sub-task of base training; see `pretrain`. */
export const pretrainOptionsSchema = z.strictObject({
  steps: z.int().positive().default(3600).describe("Steps of base training."),
  batch: z.int().positive().default(32).describe("Demonstrations in a step."),
  config: z
    .unknown()
    .describe(
      "Family config that the demonstrations are drawn from, or a list of them in equal parts: how narrow it is decides what the loop has left to learn.",
    ),
  instances: z.int().positive().default(100_000).describe("Distinct demonstrations generated."),
  engineering: share.default(0.12).describe("Share of the steps spent on engineering demonstrations."),
  engineering_batch: z.int().positive().default(16),
  optimiser: optimiserOptionsSchema.prefault({ name: "muon", lr: 3e-3, muon_lr: 0.02, warmup: 60 }),
  decay_after: share.default(0.3).describe("The rate falls linearly to `decay_to` of its peak after `decay_after` of the steps."),
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
  family: z.string().default("mapf-frozenlake").describe("Environment family."),
  rendering: z
    .enum(["chat", "compact"])
    .default("compact")
    .describe("How prompts and contexts are written: `chat` for language models, `compact` for the miniature."),
  seed: z.int().nonnegative().default(1).describe("Everything random is derived from it by name."),
  stages: z.int().positive().describe("Stages of generate, train, evaluate, diagnose, propose."),
  instances: z.int().positive().describe("Instances generated for each stage."),
  initial: z
    .enum(["random", "given"])
    .default("random")
    .describe("`random`: a fresh random config over the strata of `config` (paper); `given`: `config` as it stands."),
  config: z.unknown().describe("Config of the environment family: strata and knobs."),
  base: z
    .string()
    .describe(
      "Checkpoint folder the first stage starts from; relative to the recipe's file. Where both trainer and server load models by name, a name such as Qwen/Qwen3-4B.",
    ),
  validation: validationOptionsSchema.prefault({}),
  held_out: heldOutOptionsSchema.prefault({}),
  reward: rewardOptionsSchema.prefault({}),
  trainer: trainerOptionsSchema.prefault({ kind: "embedded" }),
  serving: servingOptionsSchema.optional(),
  engineer: engineerOptionsSchema.prefault({}),
  pretrain: pretrainOptionsSchema.optional(),
  workers: z.int().nonnegative().default(0).describe("Engine worker threads; results do not depend on it. 0: one per core."),
});
export type Recipe = z.infer<typeof recipeSchema>;
