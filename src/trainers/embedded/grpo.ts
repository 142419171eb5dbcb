/**
 * GRPO on the embedded engine: the trainer of the default recipes. A stage is `steps` times: sample a group of completions per prompt,
 * score them, make `updates` optimiser steps on the clipped policy loss, mix in demonstrations of engineering so that the policy does
 * not unlearn the engineer's language, log.
 *
 * The result depends on the request alone: random streams are named by stage and step, and the engine's sums do not depend on its
 * number of workers.
 */
import { type GrpoOptions, type InstanceBase, InterruptedError, type Metrics, type Seed } from "../../core/index.js";
import { type Engine, type Optimiser, readCheckpoint, type Tokenizer, type TrainingSequence, writeCheckpoint } from "../../nn/index.js";
import type { Trainer, TrainStageRequest } from "../trainer.js";
import {
  optimiserBatches,
  type RatioMetrics,
  ratioMetrics,
  rolloutMetrics,
  rolloutRecords,
  type ScoredGroup,
  scoreGroups,
} from "./grpo-step.js";
import { accumulate, assertFinite, createOptimiser } from "./optimisation.js";
import { warmupScale } from "./schedule.js";
import { type Demonstrator, demonstrationBatch } from "./sft.js";
import { readTrainerState, writeTrainerState } from "./trainer-state.js";

export interface EmbeddedTrainerOptions {
  grpo: GrpoOptions;
  objective: string;
  /** Draws one demonstration of engineering; undefined where the family has no compact engineer language. */
  replay?: Demonstrator;
}

export class EmbeddedTrainer<I extends InstanceBase> implements Trainer<I> {
  readonly kind = "embedded";

  constructor(
    private readonly engine: Engine,
    private readonly options: EmbeddedTrainerOptions,
  ) {}

  get stepsPerStage(): number {
    return this.options.grpo.steps;
  }

  async trainStage(request: TrainStageRequest<I>): Promise<void> {
    const { grpo } = this.options;
    const { config, parameters: initial, tokenizer } = await readCheckpoint(request.from);
    const saved = await readTrainerState(request.from);
    const optimiser = await createOptimiser(grpo.optimiser, config);
    if (saved !== undefined) {
      optimiser.load(saved.optimiser);
      request.scorer.load({ ema_valid: saved.emaValid });
    }
    const reference = grpo.kl > 0 ? initial.slice() : undefined;
    const order = new PromptOrder(request.instances, request.seed.child("order"));
    let parameters = initial;
    let globalStep = saved?.globalStep ?? 0;
    await this.engine.setParameters(parameters);
    let sampled = 0;

    for (let step = 0; step < grpo.steps && sampled < (grpo.tokens ?? Number.POSITIVE_INFINITY); step++) {
      if (request.signal?.aborted) throw new InterruptedError({ message: `interrupted in stage ${request.stage} at step ${step}` });
      const started = performance.now();
      const at = `stage ${request.stage}, step ${step}`;

      const groups = scoreGroups(await this.rollout(request, order.next(grpo.prompts), tokenizer, step), request.scorer);
      sampled += groups.reduce((sum, g) => sum + g.samples.reduce((tokens, s) => tokens + s.tokens.length, 0), 0);
      await request.onRollouts?.(rolloutRecords(groups, request.stage, step));

      const batches = optimiserBatches(groups, grpo).filter((b) => b.length > 0);
      if (reference !== undefined) await this.addReference(batches.flat(), reference, parameters);
      const replay = this.replayBatch(request.seed, tokenizer, step);
      const updates: UpdateMetrics[] = [];
      for (let u = 0; u < Math.max(batches.length, replay === undefined ? 0 : 1); u++) {
        const scale = warmupScale(globalStep * grpo.updates + u, grpo.optimiser.warmup);
        const update = await this.update(optimiser, parameters, batches[u] ?? [], u === 0 ? replay : undefined, scale, at);
        parameters = update.parameters;
        updates.push(update.metrics);
      }
      const metrics = { ...rolloutMetrics(groups, this.options.objective), ...combine(updates) };
      request.scorer.update(metrics.valid!);
      request.onStep?.({ stage: request.stage, step: globalStep, ...metrics } as Metrics, (performance.now() - started) / 1000);
      globalStep += 1;
    }

    await writeCheckpoint(request.to, { config, parameters, tokenizer }, (folder) =>
      writeTrainerState(folder, { globalStep, emaValid: request.scorer.state().ema_valid, optimiser: optimiser.state() }),
    );
  }

  /** The engine belongs to whoever started it. */
  async close(): Promise<void> {}

  private async rollout(
    request: TrainStageRequest<I>,
    instances: readonly I[],
    tokenizer: Tokenizer,
    step: number,
  ): Promise<Omit<ScoredGroup<I>, "score">[]> {
    const { grpo } = this.options;
    const prompts = instances.map((instance) => tokenizer.encode(request.prompt(instance)));
    const seed = request.seed.child("sample", step).toString();
    const samples = await this.engine.sample(
      prompts.flatMap((prompt, p) =>
        Array.from({ length: grpo.group }, (_, s) => ({
          prompt,
          seed,
          index: p * grpo.group + s,
          maxNewTokens: grpo.max_tokens,
          temperature: grpo.temperature,
          stopTokens: [tokenizer.eosId],
        })),
      ),
    );
    return instances.map((instance, p) => {
      const own = samples.slice(p * grpo.group, (p + 1) * grpo.group);
      return {
        instance,
        stratum: request.stratum(instance),
        prompt: prompts[p]!,
        samples: own,
        texts: own.map((s) => tokenizer.decode(s.tokens, { skipSpecial: true })),
      };
    });
  }

  /** One optimiser step on a policy batch, a replay batch, or both. */
  private async update(
    optimiser: Optimiser,
    parameters: Float32Array,
    batch: TrainingSequence[],
    replay: TrainingSequence[] | undefined,
    scale: number,
    at: string,
  ): Promise<{ parameters: Float32Array; metrics: UpdateMetrics }> {
    const { grpo } = this.options;
    const gradient = new Float32Array(parameters.length);
    const metrics: UpdateMetrics = { grad_norm: 0, learning_rate: grpo.optimiser.lr * scale };
    if (batch.length > 0) {
      const policy = await this.engine.gradient(batch, {
        kind: "policy",
        clipLow: grpo.clip_low,
        clipHigh: grpo.clip_high,
        klCoefficient: grpo.kl,
        inverseTemperature: 1 / grpo.temperature,
      });
      assertFinite({ loss: policy.loss }, at);
      accumulate(gradient, policy.gradient, 1);
      Object.assign(metrics, { loss: policy.loss, ...ratioMetrics(batch, policy.logProbs, policy.entropies, grpo) });
      if (grpo.kl > 0) metrics.kl = referenceKl(batch, policy.logProbs);
    }
    if (replay !== undefined) {
      const nll = await this.engine.gradient(replay, { kind: "nll" });
      assertFinite({ replay_loss: nll.loss }, at);
      accumulate(gradient, nll.gradient, grpo.replay_weight);
      metrics.replay_loss = nll.loss;
    }
    const stepped = await optimiser.step(parameters, gradient, { scale, maxGradNorm: grpo.optimiser.max_grad_norm });
    metrics.grad_norm = stepped.gradNorm;
    assertFinite({ grad_norm: stepped.gradNorm }, at);
    await this.engine.setParameters(stepped.parameters);
    return { parameters: stepped.parameters, metrics };
  }

  private replayBatch(seed: Seed, tokenizer: Tokenizer, step: number): TrainingSequence[] | undefined {
    const { grpo, replay } = this.options;
    if (replay === undefined || grpo.replay_every === 0 || step % grpo.replay_every !== 0) return undefined;
    return demonstrationBatch(replay, grpo.replay_batch, seed.child("replay", step), tokenizer);
  }

  /** Log-probabilities under the stage's first parameters, for the KL term. */
  private async addReference(sequences: TrainingSequence[], reference: Float32Array, current: Float32Array): Promise<void> {
    if (sequences.length === 0) return;
    await this.engine.setParameters(reference);
    const logProbs = await this.engine.logProbs(sequences, 1 / this.options.grpo.temperature);
    await this.engine.setParameters(current);
    sequences.forEach((sequence, i) => {
      sequence.referenceLogProbs = logProbs[i]!;
    });
  }
}

type UpdateMetrics = Partial<RatioMetrics> & { grad_norm: number; learning_rate: number; loss?: number; replay_loss?: number; kl?: number };

/** Means over the optimiser steps of one training step; the disagreement of the graphs is the first step's, before any update. */
function combine(updates: readonly UpdateMetrics[]): Record<string, number> {
  const combined: Record<string, number> = {};
  const names = [...new Set(updates.flatMap((u) => Object.keys(u)))] as (keyof UpdateMetrics)[];
  for (const name of names) {
    const values = updates.flatMap((u) => (u[name] === undefined ? [] : [u[name]]));
    combined[name] = name === "sampling_logp_difference" ? values[0]! : values.reduce((a, b) => a + b, 0) / values.length;
  }
  return combined;
}

function referenceKl(batch: readonly TrainingSequence[], logProbs: readonly Float32Array[]): number {
  let sum = 0;
  let tokens = 0;
  batch.forEach((sequence, i) => {
    sequence.referenceLogProbs!.forEach((reference, t) => {
      const difference = reference - logProbs[i]![t]!;
      sum += Math.exp(difference) - 1 - difference;
      tokens += 1;
    });
  });
  return tokens === 0 ? 0 : sum / tokens;
}

/** Endless shuffled passes over the instances; pass e is shuffled by its own stream. */
class PromptOrder<I> {
  private queue: I[] = [];
  private pass = 0;
  constructor(
    private readonly instances: readonly I[],
    private readonly seed: Seed,
  ) {}

  next(count: number): I[] {
    while (this.queue.length < count) this.queue.push(...this.seed.at(this.pass++).shuffle([...this.instances]));
    return this.queue.splice(0, count);
  }
}
