/**
 * A recipe's verl options → the Hydra overrides of `verl.trainer.main_ppo` for one GRPO stage (verl 0.9.1), and the traps of that command
 * line that can be seen before anything is started. Nothing here touches a disk or a network.
 */
import type { VerlTrainerOptions } from "../../core/index.js";

export interface VerlPaths {
  /** Checkpoint folder or hub name the stage starts from. */
  model: string;
  train: string;
  validation: string;
  /** Fresh folder for verl's own checkpoints. */
  checkpoints: string;
}

/** Completions in one pass per GPU unless the recipe says. */
const MICRO_BATCH = 4;

/** Python and the arguments after it. */
export function verlArguments(options: VerlTrainerOptions, paths: VerlPaths, reward: { url: string }, seed: number): string[] {
  const { grpo } = options;
  const micro = options.micro_batch ?? MICRO_BATCH;
  const overrides: [string, string | number | boolean][] = [
    ["algorithm.adv_estimator", "grpo"],
    ["algorithm.use_kl_in_reward", false],
    ["algorithm.norm_adv_by_std_in_grpo", grpo.scale_rewards === "group"],
    ["data.train_files", paths.train],
    ["data.val_files", paths.validation],
    ["data.train_batch_size", grpo.prompts],
    ["data.max_prompt_length", options.max_prompt_tokens],
    ["data.max_response_length", grpo.max_tokens],
    ["data.truncation", "error"],
    ["data.seed", seed],
    ["+data.apply_chat_template_kwargs.enable_thinking", options.thinking],
    ["actor_rollout_ref.model.path", paths.model],
    ["actor_rollout_ref.actor.optim.lr", grpo.optimiser.lr],
    ["actor_rollout_ref.actor.optim.lr_warmup_steps", grpo.optimiser.warmup],
    ["actor_rollout_ref.actor.optim.weight_decay", grpo.optimiser.weight_decay],
    ["actor_rollout_ref.actor.optim.betas", `[${grpo.optimiser.beta1},${grpo.optimiser.beta2}]`],
    ["actor_rollout_ref.actor.grad_clip", grpo.optimiser.max_grad_norm],
    ["actor_rollout_ref.actor.ppo_mini_batch_size", grpo.prompts / grpo.updates],
    ["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", micro],
    ["actor_rollout_ref.actor.loss_agg_mode", AGGREGATION[grpo.loss]],
    ["actor_rollout_ref.actor.clip_ratio_low", grpo.clip_low],
    ["actor_rollout_ref.actor.clip_ratio_high", grpo.clip_high],
    ["actor_rollout_ref.actor.use_kl_loss", grpo.kl > 0],
    ["actor_rollout_ref.actor.kl_loss_coef", grpo.kl],
    ["actor_rollout_ref.actor.kl_loss_type", "low_var_kl"],
    ["actor_rollout_ref.actor.checkpoint.save_contents", "[model,optimizer,extra,hf_model]"],
    ["actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", micro],
    ["actor_rollout_ref.rollout.name", options.rollout],
    ["actor_rollout_ref.rollout.n", grpo.group],
    ["actor_rollout_ref.rollout.temperature", grpo.temperature],
    ["actor_rollout_ref.rollout.tensor_model_parallel_size", options.tensor_parallel],
    ["actor_rollout_ref.rollout.gpu_memory_utilization", options.gpu_memory],
    ["actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu", micro],
    ["reward.custom_reward_function.path", "pkg://envwright.verl_reward"],
    ["reward.custom_reward_function.name", "compute_score"],
    ["+reward.custom_reward_function.reward_kwargs.url", reward.url],
    ["+reward.custom_reward_function.reward_kwargs.tokenizer", paths.model],
    ["+reward.custom_reward_function.reward_kwargs.max_tokens", grpo.max_tokens],
    ["trainer.nnodes", options.nodes],
    ["trainer.n_gpus_per_node", options.gpus_per_node],
    // An epoch has at least one step: as many epochs as steps never end too early, and the last save fires on total_training_steps alone.
    ["trainer.total_epochs", grpo.steps],
    ["trainer.total_training_steps", grpo.steps],
    ["trainer.save_freq", grpo.steps],
    ["trainer.test_freq", -1],
    ["trainer.val_before_train", false],
    ["trainer.default_local_dir", paths.checkpoints],
    ["trainer.resume_mode", "disable"],
    ["trainer.logger", '["console","file"]'],
    ["trainer.project_name", "envwright"],
    ["trainer.experiment_name", "stage"],
  ];
  return ["-m", "verl.trainer.main_ppo", ...overrides.map(([key, value]) => `${key}=${hydraValue(value)}`), ...options.overrides];
}

/** verl's names for how token losses are averaged. */
const AGGREGATION = {
  grpo: "seq-mean-token-mean",
  dr_grpo: "seq-mean-token-sum-norm",
  dapo: "token-mean",
  bnpo: "token-mean",
} as const;

/** Hydra reads colons, commas, blanks and the like as grammar: text that holds any is quoted; lists are written as they are. */
function hydraValue(value: string | number | boolean): string {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number" || value.startsWith("[") || /^[\w./-]+$/.test(value)) return String(value);
  return `'${value.replaceAll("'", "\\'")}'`;
}

export interface VerlEstimate {
  stepsPerEpoch: number;
  steps: number;
  epochs: number;
  completions: number;
  /** Of all stages' completions at their longest. */
  longestTokens: number;
}

export function verlEstimate({ grpo }: VerlTrainerOptions, rows: number): VerlEstimate {
  const stepsPerEpoch = Math.floor(rows / grpo.prompts);
  const completions = grpo.steps * grpo.prompts * grpo.group;
  return {
    stepsPerEpoch,
    steps: grpo.steps,
    epochs: grpo.steps / stepsPerEpoch,
    completions,
    longestTokens: completions * grpo.max_tokens,
  };
}

/** What verl would crash on, or silently ignore, in this stage. Empty: nothing is known to be wrong. */
export function verlTraps(options: VerlTrainerOptions, rows: number): string[] {
  const { grpo, nodes, gpus_per_node, tensor_parallel, overrides } = options;
  const gpus = nodes * gpus_per_node;
  const micro = options.micro_batch ?? MICRO_BATCH;
  const mini = grpo.prompts / grpo.updates;
  const traps: [boolean, string][] = [
    [
      rows < grpo.prompts,
      `${rows} rows are fewer than trainer.grpo.prompts (${grpo.prompts}): verl counts 0 steps an epoch and divides by it`,
    ],
    [grpo.steps === 0, "trainer.grpo.steps is 0: verl would neither train nor save"],
    [!Number.isInteger(mini), `trainer.grpo.prompts (${grpo.prompts}) is no multiple of trainer.grpo.updates (${grpo.updates})`],
    [(grpo.prompts * grpo.group) % gpus !== 0, `prompts × group (${grpo.prompts * grpo.group}) is no multiple of the ${gpus} GPUs`],
    [
      (mini * grpo.group) % (gpus * micro) !== 0,
      `completions of an optimiser step (${mini * grpo.group}) are no multiple of GPUs × micro_batch (${gpus * micro})`,
    ],
    [gpus % tensor_parallel !== 0, `${gpus} GPUs are no multiple of tensor_parallel (${tensor_parallel})`],
    [tensor_parallel > gpus_per_node, `tensor_parallel (${tensor_parallel}) spans machines of ${gpus_per_node} GPUs`],
    [
      overrides.some((o) => /^\+*custom_reward_function\./.test(o)),
      "custom_reward_function.* at the top level is ignored or displaces ours: use reward.custom_reward_function.*",
    ],
    [
      overrides.some((o) =>
        /^\+*(trainer\.(save_freq|total_training_steps|total_epochs|default_local_dir|resume_mode)|data\.(train|val)_files)=/.test(o),
      ),
      "an override sets what the stage depends on: steps, saving, data or resuming",
    ],
    [
      (options.ray !== undefined || nodes > 1) && isLoopback(options.reward_host),
      `trainer.reward_host is ${options.reward_host}, which other machines cannot reach: name an address of this one`,
    ],
    [
      (options.ray !== undefined || nodes > 1) && options.shared === undefined,
      "trainer.shared is not given: data and checkpoints have to lie where every machine sees them",
    ],
    [nodes > 1 && options.ray === undefined, "trainer.ray is not given: several machines are reached through a Ray cluster"],
    [grpo.optimiser.name !== "adamw", `trainer.grpo.optimiser.name is ${grpo.optimiser.name}: verl has adamw`],
    [grpo.tokens !== undefined, "trainer.grpo.tokens is given: verl's stages end by steps"],
    [grpo.mask_truncated, "trainer.grpo.mask_truncated is on: verl's GRPO has no such mask"],
  ];
  return traps.filter(([sprung]) => sprung).map(([, trap]) => trap);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
