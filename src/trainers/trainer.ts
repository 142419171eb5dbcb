/**
 * Trainer: (starting checkpoint, training instances, scorer, hyperparameters) → checkpoint and metrics. The embedded engine, TRL and verl
 * stand behind it. A trainer computes no reward of its own and reads no environment: instances become prompts and verdicts through the
 * functions it is given.
 */
import type { InstanceBase, Metrics, Rollout, Scorer, Seed } from "../core/index.js";

export interface TrainStageRequest<I extends InstanceBase = InstanceBase> {
  stage: number;
  seed: Seed;
  instances: readonly I[];
  prompt: (instance: I) => string;
  stratum: (instance: I) => string;
  scorer: Scorer<I>;
  /** Checkpoint folder to start from, trainer state included where there is one. */
  from: string;
  /** Folder for the new checkpoint; made atomically. */
  to: string;
  signal?: AbortSignal;
  onStep?: (metrics: Metrics, seconds: number) => void;
  /** Called with the rollouts of each step in order, one list per prompt. */
  onRollouts?: (groups: Rollout[][]) => void | Promise<void>;
  /** Lines that an engine outside of this process writes. */
  onLog?: (line: string) => void;
  /** The engine failed and the stage begins again within its budget: the metrics told so far are void. */
  onRestart?: (reason: string) => void | Promise<void>;
}

export interface Trainer<I extends InstanceBase = InstanceBase> {
  readonly kind: string;
  /** Steps that one stage takes, for progress. */
  readonly stepsPerStage: number;
  /**
   * @throws {DivergenceError} NaN or divergence; @throws {InterruptedError} the signal was aborted; @throws {BoundaryError} the engine
   * failed, with the end of its log. No checkpoint is written then.
   */
  trainStage(request: TrainStageRequest<I>): Promise<void>;
  close(): Promise<void>;
}
