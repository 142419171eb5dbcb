/** What the optimisers share: their interface, the global gradient norm, and the check of saved state. */
import { CorruptFileError } from "../core/index.js";

/** Serialisable: numbers, and arrays whose order is the optimiser's own. */
export type OptimiserState = Record<string, Float32Array | number>;

export interface StepOptions {
  /** Multiplies every learning rate; the schedule's value at this step. */
  scale: number;
  /** The gradient is scaled down to this global norm. Infinity: never. */
  maxGradNorm: number;
}

export interface StepResult {
  /** A new buffer: the one that was given may be in use by a running session. */
  parameters: Float32Array;
  /** Before clipping. Not finite when the gradient is not; the parameters are useless then. */
  gradNorm: number;
}

export interface Optimiser {
  step(parameters: Float32Array, gradient: Float32Array, options: StepOptions): Promise<StepResult>;
  /** A copy. */
  state(): OptimiserState;
  /** @throws {CorruptFileError} state of another optimiser or another model. */
  load(state: OptimiserState): void;
}

/** Euclidean norm over all parameters, and the factor that brings it down to at most `limit` (as torch.nn.utils.clip_grad_norm_). */
export function gradientNorm(gradient: Float32Array, limit: number): { norm: number; factor: number } {
  let squares = 0;
  for (let i = 0; i < gradient.length; i++) squares += gradient[i]! * gradient[i]!;
  const norm = Math.sqrt(squares);
  return { norm, factor: Math.min(1, limit / (norm + 1e-6)) };
}

export function loadedNumber(state: OptimiserState, name: string): number {
  const value = state[name];
  if (typeof value === "number") return value;
  throw new CorruptFileError({
    message: `optimiser state: ${name} is not a number`,
    value: typeof value,
    expected: "state of this optimiser",
  });
}

export function loadedArray(state: OptimiserState, name: string, length: number): Float32Array {
  const value = state[name];
  if (value instanceof Float32Array && value.length === length) return value.slice();
  throw new CorruptFileError({
    message: `optimiser state: ${name} has ${value instanceof Float32Array ? value.length : "no"} values`,
    value: typeof value,
    expected: `${length}, for this optimiser and model`,
  });
}
