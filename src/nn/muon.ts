/**
 * Muon (Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024): Nesterov momentum whose update is orthogonalised
 * by five Newton–Schulz iterations, for the matrices inside of the layers; AdamW for embeddings and norms.
 *
 * Scale rule: the update of a matrix [out, in] is multiplied by √max(1, out/in). Everything is float32 (the original iterates in bfloat16).
 * The iterations run as a small ONNX graph on all matrices of one shape at once; a matrix and its transpose share a graph.
 */
import { availableParallelism } from "node:os";
import { AdamW, type AdamWOptions, isHiddenMatrix } from "./adamw.js";
import { GraphBuilder, type Value } from "./graph/builder.js";
import { emit, matmul, swapLast } from "./graph/operators.js";
import { floats, Session } from "./graph/session.js";
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

export interface MuonOptions {
  lr: number;
  momentum?: number;
  weightDecay?: number;
  /** For everything that is not a matrix inside of a layer. */
  adamw: AdamWOptions;
}

/** Matrices of one shape, up to transposition: `rows` ≤ `columns`. */
interface Stack {
  readonly rows: number;
  readonly columns: number;
  readonly specs: ParameterSpec[];
}

interface PreparedStack extends Stack {
  readonly session: Session;
}

const ITERATIONS = 5;
const COEFFICIENTS = { a: 3.4445, b: -4.775, c: 2.0315 };

export class Muon implements Optimiser {
  private readonly adamw: AdamW;
  private readonly options: Required<Omit<MuonOptions, "adamw">>;
  private steps = 0;
  /** One buffer per stack, [specs, rows, columns], transposed where the parameter lies the other way. */
  private momenta: Float32Array[];

  private constructor(
    config: Qwen3Config,
    options: MuonOptions,
    private readonly stacks: readonly PreparedStack[],
  ) {
    const { adamw, ...own } = options;
    this.options = { momentum: 0.95, weightDecay: 0, ...own };
    this.adamw = new AdamW(config, adamw, (spec) => !isHiddenMatrix(spec));
    this.momenta = stacks.map((s) => new Float32Array(s.specs.length * s.rows * s.columns));
  }

  /** @throws {EngineError} the runtime refused the graph. */
  static async create(config: Qwen3Config, options: MuonOptions): Promise<Muon> {
    const stacks = await Promise.all(
      stacksOf(config).map(async (stack) => ({
        ...stack,
        session: await Session.create(
          `newton-schulz ${stack.specs.length}×${stack.rows}×${stack.columns}`,
          newtonSchulzGraph(stack).build(),
          {
            // No more threads than matrices: then each product is done by one thread, and its bits do not depend on their number.
            intraOpNumThreads: Math.min(stack.specs.length, availableParallelism(), 4),
            spin: false,
          },
        ),
      })),
    );
    return new Muon(config, options, stacks);
  }

  async step(parameters: Float32Array, gradient: Float32Array, options: StepOptions): Promise<StepResult> {
    const { norm, factor } = gradientNorm(gradient, options.maxGradNorm);
    const { lr, momentum, weightDecay } = this.options;
    const next = parameters.slice();
    this.steps += 1;
    this.adamw.update(next, gradient, factor, options.scale);
    const rate = lr * options.scale;
    for (const [s, stack] of this.stacks.entries()) {
      const buffer = this.momenta[s]!;
      const update = stacked(stack, gradient);
      for (let i = 0; i < update.length; i++) {
        const g = update[i]! * factor;
        const m = momentum * buffer[i]! + (1 - momentum) * g;
        buffer[i] = m;
        update[i] = (1 - momentum) * g + momentum * m;
      }
      const { y } = await stack.session.run({ x: floats(update, [stack.specs.length, stack.rows, stack.columns]) });
      subtractStacked(stack, next, y!.data as Float32Array, 1 - rate * weightDecay, rate);
    }
    return { parameters: next, gradNorm: norm };
  }

  state(): OptimiserState {
    const state: OptimiserState = { muon_steps: this.steps };
    for (const [name, value] of Object.entries(this.adamw.state())) state[`adamw.${name}`] = value;
    this.stacks.forEach((stack, s) => {
      state[momentumName(stack)] = this.momenta[s]!.slice();
    });
    return state;
  }

  load(state: OptimiserState): void {
    const steps = loadedNumber(state, "muon_steps");
    const momenta = this.stacks.map((stack, s) => loadedArray(state, momentumName(stack), this.momenta[s]!.length));
    this.adamw.load(
      Object.fromEntries(
        Object.entries(state).flatMap(([name, value]) => (name.startsWith("adamw.") ? [[name.slice("adamw.".length), value]] : [])),
      ),
    );
    this.steps = steps;
    this.momenta = momenta;
  }
}

function momentumName(stack: Stack): string {
  return `momentum.${stack.rows}x${stack.columns}`;
}

function stacksOf(config: Qwen3Config): Stack[] {
  const stacks = new Map<string, Stack>();
  for (const spec of parameterLayout(config).specs.filter(isHiddenMatrix)) {
    const [out, inner] = spec.shape as [number, number];
    const [rows, columns] = [Math.min(out, inner), Math.max(out, inner)];
    const key = `${rows}×${columns}`;
    const stack = stacks.get(key) ?? { rows, columns, specs: [] };
    stacks.set(key, stack);
    stack.specs.push(spec);
  }
  return [...stacks.values()];
}

/** The stack's matrices out of a flat buffer, [specs, rows, columns]. */
function stacked(stack: Stack, flat: Float32Array): Float32Array {
  const { rows, columns } = stack;
  const size = rows * columns;
  const out = new Float32Array(stack.specs.length * size);
  stack.specs.forEach((spec, n) => {
    const part = flat.subarray(spec.offset, spec.offset + size);
    if (spec.shape[0] === rows) out.set(part, n * size);
    else transposeInto(out.subarray(n * size, (n + 1) * size), part, columns, rows);
  });
  return out;
}

/** flat ← keep·flat − rate·√max(1, out/in)·update, for each matrix of the stack. */
function subtractStacked(stack: Stack, flat: Float32Array, update: Float32Array, keep: number, rate: number): void {
  const { rows, columns } = stack;
  const size = rows * columns;
  const straight = new Float32Array(size);
  stack.specs.forEach((spec, n) => {
    let part = update.subarray(n * size, (n + 1) * size);
    if (spec.shape[0] !== rows) {
      transposeInto(straight, part, rows, columns);
      part = straight;
    }
    const scaledRate = rate * Math.sqrt(Math.max(1, spec.shape[0]! / spec.shape[1]!));
    const target = flat.subarray(spec.offset, spec.offset + size);
    for (let i = 0; i < size; i++) target[i] = keep * target[i]! - scaledRate * part[i]!;
  });
}

/** `from` [rows, columns] → `to` [columns, rows]. */
function transposeInto(to: Float32Array, from: Float32Array, rows: number, columns: number): void {
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c]!;
  }
}

/** X ← X/‖X‖; five times A = XXᵀ, X ← aX + (bA + cA²)X, on a stack [n, rows, columns]. */
export function newtonSchulzGraph(stack: { rows: number; columns: number; specs: readonly unknown[] }): GraphBuilder {
  const g = new GraphBuilder();
  const n = stack.specs.length;
  const shape = [n, stack.rows, stack.columns];
  const square = [n, stack.rows, stack.rows];
  const start = g.input("x", shape);
  const squares = emit(g, "ReduceSumSquare", [start, g.integers([1, 2])], [n, 1, 1], { keepdims: 1 });
  const norm = emit(g, "Add", [emit(g, "Sqrt", [squares], [n, 1, 1]), g.scalar(1e-7)], [n, 1, 1]);
  let x: Value = emit(g, "Div", [start, norm], shape);
  const { a, b, c } = COEFFICIENTS;
  const scaled = (value: Value, by: number, of: readonly number[]) => emit(g, "Mul", [value, g.scalar(by)], of);
  for (let i = 0; i < ITERATIONS; i++) {
    const gram = matmul(g, x, swapLast(g, x));
    const polynomial = emit(g, "Add", [scaled(gram, b, square), scaled(matmul(g, gram, gram), c, square)], square);
    x = emit(g, "Add", [scaled(x, a, shape), matmul(g, polynomial, x)], shape);
  }
  g.output("y", x);
  return g;
}
