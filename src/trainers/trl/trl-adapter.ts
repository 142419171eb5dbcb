/**
 * TRL's GRPOTrainer as an engine: writes the data set and the script's configuration, and names the command. The script is
 * `envwright.train_trl` of this project's Python package. Compact prompts go in as plain text, chat prompts as messages.
 *
 * One step of ours is one generation batch of TRL's (`prompts × group` completions) and `updates` optimiser steps on parts of it.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, type InstanceBase, type Rendering, type TrlTrainerOptions } from "../../core/index.js";
import type { EngineAdapter, EngineJob } from "../engine/engine-trainer.js";
import { parseMetricsLine } from "../engine/metrics-line.js";
import type { RewardEndpoint } from "../engine/reward-endpoint.js";
import type { TrainStageRequest } from "../trainer.js";

export class TrlAdapter<I extends InstanceBase> implements EngineAdapter<I> {
  readonly kind = "trl";
  readonly retries: number;
  readonly rewardHost: string;

  /** @throws {ConfigError} for options that TRL has no counterpart for. */
  constructor(
    private readonly options: TrlTrainerOptions,
    private readonly rendering: Rendering,
  ) {
    this.retries = options.retries;
    this.rewardHost = options.reward_host;
    grpoArguments(options, "", 0);
  }

  get stepsPerStage(): number {
    return this.options.grpo.steps;
  }

  get stepSize(): number {
    return this.options.grpo.prompts * this.options.grpo.group;
  }

  async prepare(request: TrainStageRequest<I>, work: string, reward: Pick<RewardEndpoint, "url" | "token">): Promise<EngineJob> {
    const { options } = this;
    const file = (name: string) => join(work, name);
    const rows = request.instances.map((instance) => {
      const prompt = request.prompt(instance);
      return JSON.stringify({
        prompt: this.rendering === "chat" ? [{ role: "user", content: prompt }] : prompt,
        instance: JSON.stringify(instance),
      });
    });
    await writeFile(file("train.jsonl"), `${rows.join("\n")}\n`);
    const seed = request.seed
      .child("trl")
      .at(0)
      .below(2 ** 31);
    const config = {
      model: request.from,
      dtype: options.dtype,
      data: file("train.jsonl"),
      metrics: file("metrics.jsonl"),
      output: file("checkpoint"),
      reward: { url: reward.url, batch: 256 },
      grpo: grpoArguments(options, file("trl"), seed),
    };
    await writeFile(file("config.json"), `${JSON.stringify(config, null, 2)}\n`);
    const [launcher, ...before] = options.launch;
    const script = ["-m", "envwright.train_trl", file("config.json")];
    return {
      command: {
        command: launcher ?? options.python,
        args: [...before, ...script],
        cwd: work,
        env: {
          PYTHONUNBUFFERED: "1",
          HF_HUB_OFFLINE: "1",
          TOKENIZERS_PARALLELISM: "false",
          ...options.environment,
          ENVWRIGHT_REWARD_TOKEN: reward.token,
        },
      },
      metrics: file("metrics.jsonl"),
      checkpoint: file("checkpoint"),
      discard: file("checkpoint"),
    };
  }

  readMetrics(line: string): { step: number; values: Record<string, number> } | undefined {
    const { step, ...logged } = parseMetricsLine(line);
    // The summary at the end carries no reward.
    if (typeof step !== "number" || typeof logged.reward !== "number") return undefined;
    const left = new Set(["epoch", "step_time"]);
    const values: Record<string, number> = {};
    for (const [name, value] of Object.entries(logged)) {
      if (typeof value === "number" && Number.isFinite(value) && !left.has(name)) values[name] = value;
    }
    return { step: Math.round(step / this.options.grpo.updates) - 1, values };
  }
}

/** The arguments of GRPOConfig. */
function grpoArguments(options: TrlTrainerOptions, output: string, seed: number): Record<string, unknown> {
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
  };
}

function unsupported(path: string, value: unknown, expected: string): ConfigError {
  return new ConfigError({ message: `${path} is ${value}, which the trainer trl cannot do`, value, expected, remedy: `change ${path}` });
}
