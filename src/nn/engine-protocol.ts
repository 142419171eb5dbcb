/** Messages between the engine and its workers. Arrays travel by transfer; nothing is shared. */

import type { MicroBatch } from "./micro-batch.js";
import type { Qwen3Config } from "./qwen3-config.js";
import type { SampleRequest, SampleResult } from "./sampler.js";

export interface WorkerSetup {
  readonly config: Qwen3Config;
  readonly threads: number;
}

export interface Tasks {
  parameters: { request: Float32Array; reply: null };
  microBatch: { request: MicroBatch; reply: MicroBatchResult };
  sample: { request: SampleRequest[]; reply: SampleResult[] };
}
export type TaskKind = keyof Tasks;

export interface TaskMessage<K extends TaskKind = TaskKind> {
  readonly id: number;
  readonly kind: K;
  readonly request: Tasks[K]["request"];
}

/** Asks a worker to end once the task it is at is done; what waits behind that is dropped. */
export const CLOSE = "close";

export type ReplyMessage =
  | { readonly id: number; readonly reply: Tasks[TaskKind]["reply"] }
  | { readonly id: number; readonly error: { name: string; message: string } };

export interface MicroBatchResult {
  /** 0 for log-probabilities alone. */
  readonly loss: number;
  /** Flat, in the order of `parameterLayout`; undefined for log-probabilities alone. */
  readonly gradient: Float32Array | undefined;
  /** [M] */
  readonly logProbs: Float32Array;
  readonly entropies: Float32Array;
}
