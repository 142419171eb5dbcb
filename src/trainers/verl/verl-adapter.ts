/**
 * verl as an engine: writes its data set, composes its command line, reads its metrics and names the Hugging Face folder of the last step.
 * Every stage is a run of its own from the last folder, with a fresh `default_local_dir` and nothing resumed.
 */
import { existsSync } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, type InstanceBase, type Recipe, type VerlTrainerOptions } from "../../core/index.js";
import type { EngineAdapter, EngineJob } from "../engine/engine-trainer.js";
import { parseMetricsLine } from "../engine/metrics-line.js";
import type { RewardEndpoint } from "../engine/reward-endpoint.js";
import type { TrainStageRequest } from "../trainer.js";
import { verlArguments, verlTraps } from "./hydra-command.js";
import { verlRow } from "./verl-rows.js";

/** verl wants a validation file, though nothing is validated there: the loop does that. */
const VALIDATION_ROWS = 8;

/** verl's metrics under the names that the rest has. */
const NAMES: Record<string, string> = {
  "critic/rewards/mean": "reward",
  "actor/entropy": "entropy",
  "actor/kl_loss": "kl",
  "actor/pg_clipfrac": "clip_ratio",
  "actor/grad_norm": "grad_norm",
  "actor/lr": "learning_rate",
  "actor/pg_loss": "loss",
};

export class VerlAdapter<I extends InstanceBase> implements EngineAdapter<I> {
  readonly kind = "verl";
  readonly retries: number;
  readonly rewardHost: string;
  readonly workRoot: string | undefined;

  constructor(
    private readonly options: VerlTrainerOptions,
    private readonly recipe: Pick<Recipe, "family" | "rendering">,
  ) {
    this.retries = options.retries;
    this.rewardHost = options.reward_host;
    this.workRoot = options.shared;
  }

  get stepsPerStage(): number {
    return this.options.grpo.steps;
  }

  get stepSize(): number {
    return this.options.grpo.prompts * this.options.grpo.group;
  }

  /** @throws {ConfigError} for what verl would crash on or ignore. */
  async prepare(request: TrainStageRequest<I>, work: string, reward: Pick<RewardEndpoint, "url" | "token">): Promise<EngineJob> {
    const { options } = this;
    const traps = verlTraps(options, request.instances.length);
    if (traps.length > 0) throw new ConfigError({ message: traps.join("; "), remedy: "change the recipe's trainer" });
    const file = (name: string) => join(work, name);
    const row = (instance: I, split: string, index: number) => {
      const prompt = [{ role: "user", content: request.prompt(instance) }];
      return verlRow({ ...this.recipe, instance, stratum: request.stratum(instance), prompt, split, index });
    };
    const rows = (split: string, instances: readonly I[]) =>
      instances.map((instance, i) => `${JSON.stringify(row(instance, split, i))}\n`).join("");
    await writeFile(file("train.jsonl"), rows("train", request.instances));
    await writeFile(file("validation.jsonl"), rows("validation", request.instances.slice(0, VALIDATION_ROWS)));
    let model = request.from;
    if (this.workRoot !== undefined && existsSync(model)) {
      model = file("from");
      await cp(request.from, model, { recursive: true });
    }
    const paths = { model, train: file("train.jsonl"), validation: file("validation.jsonl"), checkpoints: file("checkpoints") };
    const seed = request.seed
      .child("verl")
      .at(0)
      .below(2 ** 31);
    return {
      command: {
        command: options.python,
        args: verlArguments(options, paths, reward, seed),
        cwd: work,
        env: {
          PYTHONUNBUFFERED: "1",
          VERL_FILE_LOGGER_PATH: file("metrics.jsonl"),
          ...options.environment,
          ENVWRIGHT_REWARD_TOKEN: reward.token,
        },
      },
      metrics: file("metrics.jsonl"),
      checkpoint: file(`checkpoints/global_step_${options.grpo.steps}/actor/huggingface`),
      discard: file("checkpoints"),
    };
  }

  readMetrics(line: string): { step: number; values: Record<string, number> } | undefined {
    const { step, data } = parseMetricsLine(line) as { step: number; data: Record<string, unknown> };
    if (typeof data["critic/rewards/mean"] !== "number") return undefined;
    const values: Record<string, number> = {};
    for (const [name, value] of Object.entries(data)) {
      if (typeof value !== "number" || !Number.isFinite(value) || /^(timing|perf|global_seqlen)/.test(name)) continue;
      values[NAMES[name] ?? name] = value;
    }
    return { step: step - 1, values };
  }
}
