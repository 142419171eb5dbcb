/**
 * The policy's numbers, off the main thread: gradients, log-probabilities and samples of a Qwen3 model on a pool of worker threads.
 *
 * Data-parallel over micro-batches whose composition depends on the request alone, and whose gradients are added in their order: the
 * result is the same bits for any number of workers. Knows no reward and no environment. Operations are carried out in the order of their calls.
 */
import { InputError } from "../core/index.js";
import type { MicroBatchResult } from "./engine-protocol.js";
import { type LossSpec, type MicroBatch, microBatches, type TrainingSequence } from "./micro-batch.js";
import { parameterLayout, type Qwen3Config } from "./qwen3-config.js";
import type { SampleRequest, SampleResult } from "./sampler.js";
import { WorkerPool } from "./worker-pool.js";

export interface EngineOptions {
  config: Qwen3Config;
  /** Worker threads; one per core is fastest. */
  workers: number;
  /** Threads inside one operator of one worker. Other values than 1 may change the last bits. */
  threadsPerWorker?: 1 | number;
}

export interface GradientResult {
  loss: number;
  /** Flat, in the order of `parameterLayout`. */
  gradient: Float32Array;
  /** Per sequence, per completion token, before any update. */
  logProbs: Float32Array[];
  /** Nats, per sequence, per completion token. */
  entropies: Float32Array[];
}

/** Requests decoded together. */
const DECODE_BATCH = 64;

export class Engine {
  private last: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly config: Qwen3Config,
    private readonly pool: WorkerPool,
  ) {}

  /** @throws {InputError} no workers. */
  static async start({ config, workers, threadsPerWorker = 1 }: EngineOptions): Promise<Engine> {
    for (const [name, value] of Object.entries({ workers, threadsPerWorker })) {
      if (!(Number.isInteger(value) && value >= 1))
        throw new InputError({ message: `${name} is ${value}`, value, expected: "an integer of at least 1" });
    }
    return new Engine(config, new WorkerPool(workers, { config, threads: threadsPerWorker }));
  }

  /** Parameters of every later operation, copied to each worker. @throws {InputError} wrong length; @throws {EngineError} */
  async setParameters(flat: Float32Array): Promise<void> {
    const { total } = parameterLayout(this.config);
    if (flat.length !== total)
      throw new InputError({ message: `${flat.length} parameters`, value: flat.length, expected: `${total} for this config` });
    // Copied now: the caller may go on with its buffer while earlier operations still run.
    const copies = Array.from({ length: this.pool.size }, () => flat.slice());
    await this.inOrder(() =>
      this.pool.broadcast("parameters", (worker) => ({ request: copies[worker]!, transfer: [copies[worker]!.buffer as ArrayBuffer] })),
    );
  }

  /** Loss and gradient summed over all sequences. @throws {InputError} naming the sequence; @throws {EngineError} */
  async gradient(sequences: readonly TrainingSequence[], loss: LossSpec): Promise<GradientResult> {
    const batches = this.cut(sequences, loss);
    const gradient = new Float32Array(parameterLayout(this.config).total);
    let total = 0;
    const results = await this.inOrder(() =>
      this.runAll(batches, (result) => {
        total += result.loss;
        const part = result.gradient!;
        for (let i = 0; i < gradient.length; i++) gradient[i] = gradient[i]! + part[i]!;
      }),
    );
    return { loss: total, gradient, ...perSequence(sequences, results, batches) };
  }

  /** Log-probability of each completion token under softmax(logits · inverseTemperature). */
  async logProbs(sequences: readonly TrainingSequence[], inverseTemperature = 1): Promise<Float32Array[]> {
    const batches = this.cut(sequences, { kind: "log-probs", inverseTemperature });
    const results = await this.inOrder(() => this.runAll(batches, () => undefined));
    return perSequence(sequences, results, batches).logProbs;
  }

  /** Completions in the order of the requests. What each draws depends on its own seed and index. */
  async sample(requests: readonly SampleRequest[]): Promise<SampleResult[]> {
    const order = requests.map((_, i) => i).sort((a, b) => requests[a]!.prompt.length - requests[b]!.prompt.length || a - b);
    const groups: number[][] = [];
    for (let i = 0; i < order.length; i += DECODE_BATCH) groups.push(order.slice(i, i + DECODE_BATCH));
    const results = new Array<SampleResult>(requests.length);
    await this.inOrder(() =>
      Promise.all(
        groups.map(async (members) => {
          const part = await this.pool.run(
            "sample",
            members.map((i) => requests[i]!),
          );
          members.forEach((member, j) => {
            results[member] = part[j]!;
          });
        }),
      ),
    );
    return results;
  }

  /** Rejects what is still running and ends the worker threads, each after the task it is at. Await it before the process exits. */
  async close(): Promise<void> {
    await this.pool.close();
  }

  private cut(sequences: readonly TrainingSequence[], loss: Parameters<typeof microBatches>[1]): MicroBatch[] {
    const { vocab_size: vocabulary, max_position_embeddings: positions } = this.config;
    return microBatches(sequences, loss, { vocabulary, positions });
  }

  /** Results in order; `take` sees each in order too, as soon as all before it have been seen, and drops its gradient afterwards. */
  private async runAll(batches: readonly MicroBatch[], take: (result: MicroBatchResult) => void): Promise<MicroBatchResult[]> {
    const pending = batches.map((batch) => this.pool.run("microBatch", batch, buffersOf(batch)));
    // All are awaited below, one by one: an early rejection must not be reported as unhandled meanwhile.
    for (const p of pending) p.catch(() => undefined);
    const results: MicroBatchResult[] = [];
    for (const p of pending) {
      const result = await p;
      take(result);
      results.push({ ...result, gradient: undefined });
    }
    return results;
  }

  private inOrder<T>(operation: () => Promise<T>): Promise<T> {
    const run = this.last.then(operation);
    this.last = run.catch(() => undefined);
    return run;
  }
}

function buffersOf(batch: MicroBatch): ArrayBuffer[] {
  return [batch.tokens, batch.rows, batch.targets, ...Object.values(batch.vectors)].map((a) => a.buffer as ArrayBuffer);
}

function perSequence(
  sequences: readonly TrainingSequence[],
  results: readonly MicroBatchResult[],
  batches: readonly MicroBatch[],
): { logProbs: Float32Array[]; entropies: Float32Array[] } {
  const logProbs = new Array<Float32Array>(sequences.length);
  const entropies = new Array<Float32Array>(sequences.length);
  batches.forEach((batch, b) => {
    let at = 0;
    for (const member of batch.members) {
      const count = sequences[member]!.tokens.length - sequences[member]!.promptLength;
      logProbs[member] = results[b]!.logProbs.slice(at, at + count);
      entropies[member] = results[b]!.entropies.slice(at, at + count);
      at += count;
    }
  });
  return { logProbs, entropies };
}
