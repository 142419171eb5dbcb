/**
 * AdamW (Loshchilov & Hutter, arXiv 1711.05101, algorithm 2, with decoupled decay scaled by the learning rate as in PyTorch).
 * A plain loop over the flat buffer: at these sizes it is faster than a graph. No decay on norms and embeddings.
 */
import {
  gradientNorm,
  loadedArray,
  loadedNumber,
  type Optimiser,
  type OptimiserState,
  type StepOptions,
  type StepResult,
} from "./optimiser.js";
import { type ParameterSpec, parameterLayout, type Qwen3Config } from "./qwen3-config.js";

export interface AdamWOptions {
  lr: number;
  beta1?: number;
  beta2?: number;
  epsilon?: number;
  weightDecay?: number;
}

/** Matrices inside of the layers: what is decayed, and what Muon takes. */
export function isHiddenMatrix(spec: ParameterSpec): boolean {
  return spec.shape.length === 2 && spec.name !== "model.embed_tokens.weight";
}

export class AdamW implements Optimiser {
  private readonly specs: readonly ParameterSpec[];
  private readonly options: Required<AdamWOptions>;
  private steps = 0;
  /** Moments of the chosen parameters, one after another. */
  private first: Float32Array;
  private second: Float32Array;

  /** `takes` chooses the parameters; the others are copied unchanged. */
  constructor(config: Qwen3Config, options: AdamWOptions, takes: (spec: ParameterSpec) => boolean = () => true) {
    this.specs = parameterLayout(config).specs.filter(takes);
    this.options = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, ...options };
    const size = this.specs.reduce((total, spec) => total + spec.size, 0);
    this.first = new Float32Array(size);
    this.second = new Float32Array(size);
  }

  async step(parameters: Float32Array, gradient: Float32Array, options: StepOptions): Promise<StepResult> {
    const { norm, factor } = gradientNorm(gradient, options.maxGradNorm);
    const next = parameters.slice();
    this.update(next, gradient, factor, options.scale);
    return { parameters: next, gradNorm: norm };
  }

  /** Updates `parameters` in place with `factor`·`gradient`: for an optimiser that owns the new buffer. */
  update(parameters: Float32Array, gradient: Float32Array, factor: number, scale: number): void {
    const { lr, beta1, beta2, epsilon, weightDecay } = this.options;
    const { first, second } = this;
    this.steps += 1;
    const rate = lr * scale;
    const stepSize = rate / (1 - beta1 ** this.steps);
    const rootCorrection = Math.sqrt(1 - beta2 ** this.steps);
    let j = 0;
    for (const spec of this.specs) {
      const keep = isHiddenMatrix(spec) ? 1 - rate * weightDecay : 1;
      for (let i = spec.offset; i < spec.offset + spec.size; i++, j++) {
        const g = gradient[i]! * factor;
        const m = beta1 * first[j]! + (1 - beta1) * g;
        const v = beta2 * second[j]! + (1 - beta2) * g * g;
        first[j] = m;
        second[j] = v;
        parameters[i] = keep * parameters[i]! - (stepSize * m) / (Math.sqrt(v) / rootCorrection + epsilon);
      }
    }
  }

  state(): OptimiserState {
    return { steps: this.steps, exp_avg: this.first.slice(), exp_avg_sq: this.second.slice() };
  }

  load(state: OptimiserState): void {
    const size = this.first.length;
    const [steps, first, second] = [
      loadedNumber(state, "steps"),
      loadedArray(state, "exp_avg", size),
      loadedArray(state, "exp_avg_sq", size),
    ];
    this.steps = steps;
    this.first = first;
    this.second = second;
  }
}
