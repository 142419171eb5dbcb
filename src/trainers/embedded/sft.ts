/**
 * Supervised training on demonstrations: how the base checkpoint is made. Two kinds of demonstration are mixed by a fixed schedule:
 * the solver's plans, and answers of the rule engineer (the miniature's engineering prior is distilled from that rule; a pretrained
 * model brings its own).
 */
import { InterruptedError, type Metrics, type PretrainOptions, type Random, type Seed } from "../../core/index.js";
import { type Engine, type Qwen3Config, type Tokenizer, type TrainingSequence, writeCheckpoint } from "../../nn/index.js";
import { assertFinite, createOptimiser } from "./optimisation.js";
import { trapezoidScale } from "./schedule.js";

export interface Demonstration {
  prompt: string;
  /** Without the end-of-text token, which is added. */
  answer: string;
}
export type Demonstrator = (random: Random) => Demonstration;

/** Prompt, answer and end of text as one sequence; the loss is the mean over the batch's answer tokens. */
export function supervisedBatch(demonstrations: readonly Demonstration[], tokenizer: Tokenizer): TrainingSequence[] {
  const rows = demonstrations.map(({ prompt, answer }) => ({ prompt: tokenizer.encode(prompt), answer: tokenizer.encode(answer) }));
  const total = rows.reduce((sum, row) => sum + row.answer.length + 1, 0);
  return rows.map(({ prompt, answer }) => {
    const tokens = new Int32Array(prompt.length + answer.length + 1);
    tokens.set(prompt);
    tokens.set(answer, prompt.length);
    tokens[tokens.length - 1] = tokenizer.eosId;
    return { tokens, promptLength: prompt.length, weights: new Float32Array(answer.length + 1).fill(1 / total) };
  });
}

export function demonstrationBatch(demonstrate: Demonstrator, size: number, seed: Seed, tokenizer: Tokenizer): TrainingSequence[] {
  return supervisedBatch(
    Array.from({ length: size }, (_, i) => demonstrate(seed.at(i))),
    tokenizer,
  );
}

export interface SftRequest {
  engine: Engine;
  config: Qwen3Config;
  tokenizer: Tokenizer;
  parameters: Float32Array;
  options: PretrainOptions;
  /** The i-th demonstration of the task, 0 ≤ i < options.instances. */
  task: (index: number) => Demonstration;
  engineering: Demonstrator;
  seed: Seed;
  to: string;
  signal?: AbortSignal;
  onStep?: (metrics: Metrics, seconds: number) => void;
}

/** Trains from `parameters` and writes the checkpoint folder. @throws {DivergenceError} {InterruptedError} */
export async function trainSupervised(request: SftRequest): Promise<void> {
  const { engine, options, tokenizer, seed } = request;
  const optimiser = await createOptimiser(options.optimiser, request.config);
  const engineeringSeed = seed.child("engineering");
  let parameters = request.parameters;
  let order: number[] = [];
  let pass = 0;
  let drawn = 0;
  const losses = { plan: 0, engineering: 0 };

  for (let step = 0; step < options.steps; step++) {
    if (request.signal?.aborted) throw new InterruptedError({ message: `interrupted at step ${step}` });
    const started = performance.now();
    const engineering = Math.floor((step + 1) * options.engineering) > Math.floor(step * options.engineering);
    let batch: TrainingSequence[];
    if (engineering) {
      batch = demonstrationBatch(request.engineering, options.engineering_batch, engineeringSeed.child(step), tokenizer);
    } else {
      const rows: Demonstration[] = [];
      while (rows.length < options.batch) {
        if (drawn === order.length) {
          order = seed
            .child("order")
            .at(pass++)
            .shuffle(Array.from({ length: options.instances }, (_, i) => i));
          drawn = 0;
        }
        rows.push(request.task(order[drawn++]!));
      }
      batch = supervisedBatch(rows, tokenizer);
    }
    await engine.setParameters(parameters);
    const { loss, gradient } = await engine.gradient(batch, { kind: "nll" });
    assertFinite({ loss }, `step ${step}`);
    const scale = trapezoidScale(step, options.steps, options.optimiser.warmup, options.decay_after, options.decay_to);
    const stepped = await optimiser.step(parameters, gradient, { scale, maxGradNorm: options.optimiser.max_grad_norm });
    assertFinite({ grad_norm: stepped.gradNorm }, `step ${step}`);
    parameters = stepped.parameters;
    losses[engineering ? "engineering" : "plan"] = loss;
    const tokens = batch.reduce((sum, row) => sum + row.tokens.length, 0);
    const metrics = {
      stage: 0,
      step,
      loss_plan: losses.plan,
      loss_engineering: losses.engineering,
      grad_norm: stepped.gradNorm,
      scale,
      num_tokens: tokens,
    };
    request.onStep?.(metrics as Metrics, (performance.now() - started) / 1000);
  }
  await writeCheckpoint(request.to, { config: request.config, parameters, tokenizer });
}
