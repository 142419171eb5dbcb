/**
 * TRL's GRPOTrainer as an engine: writes the data set and the script's configuration, and names the command. The script is
 * `envwright.train_trl` of this project's Python package. Compact prompts go in as plain text, chat prompts as messages.
 *
 * One step of ours is one generation batch of TRL's (`prompts × group` completions) and `updates` optimiser steps on parts of it.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { InstanceBase, Rendering, TrlTrainerOptions } from "../../core/index.js";
import { launcherOf } from "../engine/engine-paths.js";
import type { EngineAdapter, EngineJob } from "../engine/engine-trainer.js";
import { parseMetricsLine } from "../engine/metrics-line.js";
import type { RewardEndpoint } from "../engine/reward-endpoint.js";
import type { TrainStageRequest } from "../trainer.js";
import { grpoArguments } from "./grpo-arguments.js";

export class TrlAdapter<I extends InstanceBase> implements EngineAdapter<I> {
  readonly kind = "trl";
  readonly retries: number;
  readonly rewardHost: string;

  /** @throws {ConfigError} for options that TRL has no counterpart for, and entries of `grpo_config` that are the run's own. */
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
    const before = options.launch.slice(1);
    const script = ["-m", "envwright.train_trl", file("config.json")];
    return {
      command: {
        command: launcherOf(options) ?? options.python,
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
