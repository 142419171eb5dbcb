/**
 * A recipe's TRL options → the arguments of TRL's GRPOConfig for one stage. The recipe's `grpo_config` comes last, so that a large model gets what
 * it needs (vLLM, gradient checkpointing, …); what the run itself relies on, or another option says, is refused there.
 */
import { ConfigError, type TrlTrainerOptions } from "../../core/index.js";

/** Arguments that are not `grpo_config`'s, each with the option that says it; "" where there is none, since a stage's bookkeeping hangs on it. */
const OWN: Readonly<Record<string, string>> = {
  output_dir: "",
  seed: "seed",
  max_steps: "trainer.grpo.steps",
  num_train_epochs: "trainer.grpo.steps",
  logging_strategy: "",
  logging_steps: "",
  logging_first_step: "",
  save_strategy: "",
  save_steps: "",
  remove_unused_columns: "",
  use_cpu: "trainer.device",
  no_cuda: "trainer.device",
  optim: "trainer.grpo.optimiser.name",
  per_device_train_batch_size: "trainer.micro_batch",
  gradient_accumulation_steps: "trainer.micro_batch",
  generation_batch_size: "trainer.grpo.prompts",
  num_generations: "trainer.grpo.group",
  steps_per_generation: "trainer.grpo.updates",
  num_iterations: "trainer.grpo.updates",
  max_completion_length: "trainer.grpo.max_tokens",
  temperature: "trainer.grpo.temperature",
  loss_type: "trainer.grpo.loss",
  epsilon: "trainer.grpo.clip_low",
  epsilon_high: "trainer.grpo.clip_high",
  beta: "trainer.grpo.kl",
  scale_rewards: "trainer.grpo.scale_rewards",
  mask_truncated_completions: "trainer.grpo.mask_truncated",
  learning_rate: "trainer.grpo.optimiser.lr",
  warmup_steps: "trainer.grpo.optimiser.warmup",
  weight_decay: "trainer.grpo.optimiser.weight_decay",
  adam_beta1: "trainer.grpo.optimiser.beta1",
  adam_beta2: "trainer.grpo.optimiser.beta2",
  max_grad_norm: "trainer.grpo.optimiser.max_grad_norm",
};

/** @throws {ConfigError} for options that TRL has no counterpart for, and entries of `grpo_config` that are the run's own. */
export function grpoArguments(options: TrlTrainerOptions, output: string, seed: number): Record<string, unknown> {
  refuseOwn(options.grpo_config);
  const { grpo, processes, micro_batch: micro } = options;
  const { optimiser } = grpo;
  if (optimiser.name !== "adamw") throw unsupported("trainer.grpo.optimiser.name", optimiser.name, "adamw");
  if (grpo.tokens !== undefined) throw unsupported("trainer.grpo.tokens", grpo.tokens, "no value: stages end by steps");
  const perUpdate = (grpo.prompts * grpo.group) / (grpo.updates * processes);
  const batch = Math.min(micro ?? perUpdate, perUpdate);
  if (!Number.isInteger(perUpdate) || perUpdate % batch !== 0) {
    throw unsupported(
      "trainer.grpo.prompts × group",
      grpo.prompts * grpo.group,
      `a multiple of updates (${grpo.updates}) × processes (${processes}) × micro_batch (${micro ?? "none"})`,
    );
  }
  const accumulation = perUpdate / batch;
  return {
    output_dir: output,
    use_cpu: options.device === "cpu",
    bf16: options.dtype === "bfloat16",
    gradient_checkpointing: false,
    report_to: "none",
    save_strategy: "no",
    disable_tqdm: true,
    logging_steps: grpo.updates,
    max_steps: grpo.steps * grpo.updates,
    per_device_train_batch_size: batch,
    gradient_accumulation_steps: accumulation,
    steps_per_generation: grpo.updates * accumulation,
    num_generations: grpo.group,
    max_completion_length: grpo.max_tokens,
    temperature: grpo.temperature,
    top_k: 0,
    top_p: 1,
    loss_type: grpo.loss,
    epsilon: grpo.clip_low,
    epsilon_high: grpo.clip_high,
    beta: grpo.kl,
    scale_rewards: grpo.scale_rewards,
    mask_truncated_completions: grpo.mask_truncated,
    learning_rate: optimiser.lr,
    lr_scheduler_type: "constant_with_warmup",
    warmup_steps: optimiser.warmup,
    weight_decay: optimiser.weight_decay,
    adam_beta1: optimiser.beta1,
    adam_beta2: optimiser.beta2,
    max_grad_norm: optimiser.max_grad_norm,
    remove_unused_columns: false,
    dataloader_pin_memory: options.device === "gpu",
    seed,
    ...options.grpo_config,
  };
}

function refuseOwn(given: Readonly<Record<string, unknown>>): void {
  const own = Object.keys(given).filter((name) => Object.hasOwn(OWN, name));
  const { generation_kwargs } = given;
  if (typeof generation_kwargs === "object" && generation_kwargs !== null && "temperature" in generation_kwargs) {
    throw new ConfigError({
      message: "trainer.grpo_config.generation_kwargs.temperature is said by trainer.grpo.temperature",
      value: generation_kwargs,
      expected: "generation_kwargs without temperature",
      remedy: "change trainer.grpo.temperature",
    });
  }
  if (own.length === 0) return;
  const told = own.map(
    (name) => `trainer.grpo_config.${name} ${OWN[name] === "" ? "is set by the run itself" : `is said by ${OWN[name]}`}`,
  );
  throw new ConfigError({
    message: told.join("; "),
    value: own,
    expected: `entries of TRL's GRPOConfig other than ${Object.keys(OWN).join(", ")}`,
    remedy: `leave ${own.join(", ")} out of trainer.grpo_config`,
  });
}

function unsupported(path: string, value: unknown, expected: string): ConfigError {
  return new ConfigError({ message: `${path} is ${value}, which the trainer trl cannot do`, value, expected, remedy: `change ${path}` });
}
