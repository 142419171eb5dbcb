/**
 * The differentiable operators of the decoder. Each emits ONNX nodes and enters its vector–Jacobian product on the tape.
 * Shapes are row-major; N is the number of tokens (B·T), d the width, hd the head size. Only what Qwen3 and its losses need is here, in one file, so that
 * an operator and its gradient are compared with their neighbours at a glance.
 */
import { InputError } from "../../core/index.js";
import type { Dimension, GraphBuilder, RowGradient, Shape, Value } from "./builder.js";

const MICROSOFT = "com.microsoft";

/** One node with one output, without gradient. */
export function emit(
  g: GraphBuilder,
  operator: string,
  inputs: readonly (Value | undefined)[],
  shape: Shape,
  attributes: Parameters<GraphBuilder["node"]>[3] = {},
  domain = "",
): Value {
  return g.node(operator, inputs, [{ shape }], attributes, domain)[0]!;
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((n, i) => n === b[i]);
}

// --- products ---------------------------------------------------------------------------------------------------------------

/** x [N, in] · wᵀ for w [out, in] → [N, out]: a linear layer without bias. */
export function linear(g: GraphBuilder, x: Value, w: Value): Value {
  const out = emit(g, "Gemm", [x, w], [x.shape[0]!, w.shape[0]!], { transB: 1 });
  g.record({
    inputs: [x, w],
    outputs: [out],
    backward: ([dy]) => [() => emit(g, "Gemm", [dy, w], x.shape), () => emit(g, "Gemm", [dy, x], w.shape, { transA: 1 })],
  });
  return out;
}

/** Batched product over the last two axes; the leading axes are equal. */
export function matmul(g: GraphBuilder, a: Value, b: Value): Value {
  const out = emit(g, "MatMul", [a, b], [...a.shape.slice(0, -1), b.shape.at(-1)!]);
  g.record({
    inputs: [a, b],
    outputs: [out],
    backward: ([dy]) => [() => emit(g, "MatMul", [dy, swapLast(g, b)], a.shape), () => emit(g, "MatMul", [swapLast(g, a), dy], b.shape)],
  });
  return out;
}

/** Transposes the last two axes, without gradient. The CPU optimiser folds it into the product that reads it. */
export function swapLast(g: GraphBuilder, x: Value): Value {
  const axes = x.shape.map((_, i) => i);
  const perm = [...axes.slice(0, -2), axes.length - 1, axes.length - 2];
  return emit(
    g,
    "Transpose",
    [x],
    perm.map((i) => x.shape[i]!),
    { perm },
  );
}

// --- layout -----------------------------------------------------------------------------------------------------------------

/** At most one dimension of `shape` may be a name; it becomes what is left over. */
export function reshape(g: GraphBuilder, x: Value, shape: Shape): Value {
  if (shape.filter((n) => typeof n === "string").length > 1)
    throw new InputError({ message: `reshape to [${shape}]: two sizes are not known` });
  const plain = (value: Value, to: Shape) => emit(g, "Reshape", [value, g.integers(to.map((n) => (typeof n === "string" ? -1 : n)))], to);
  const out = plain(x, shape);
  g.record({ inputs: [x], outputs: [out], backward: ([dy]) => [() => plain(dy!, x.shape)] });
  return out;
}

export function transpose(g: GraphBuilder, x: Value, perm: readonly number[]): Value {
  const out = emit(
    g,
    "Transpose",
    [x],
    perm.map((i) => x.shape[i]!),
    { perm },
  );
  const inverse = perm.map((_, i) => perm.indexOf(i));
  g.record({ inputs: [x], outputs: [out], backward: ([dy]) => [() => emit(g, "Transpose", [dy], x.shape, { perm: inverse })] });
  return out;
}

/** Splits `axis` (the last one by default) into parts of the given sizes. */
export function split(g: GraphBuilder, x: Value, sizes: readonly number[], axis = x.shape.length - 1): Value[] {
  const shapes = sizes.map((size) => x.shape.map((n, i) => (i === axis ? size : n)));
  const parts = g.node(
    "Split",
    [x, g.integers(sizes)],
    shapes.map((shape) => ({ shape })),
    { axis },
  );
  g.record({
    inputs: [x],
    outputs: parts,
    backward: (gradients) => [
      () => {
        const missing = gradients.indexOf(undefined);
        if (missing >= 0) throw new InputError({ message: `split: part ${missing} has no gradient; split only what is used` });
        return emit(g, "Concat", gradients, x.shape, { axis });
      },
    ],
  });
  return parts;
}

/** Joins values of equal shape but for `axis`. */
export function concat(g: GraphBuilder, parts: readonly Value[], axis: number): Value {
  const sizes = parts.map((p) => p.shape[axis] as number);
  const shape = parts[0]!.shape.map((n, i) => (i === axis ? sizes.reduce((a, b) => a + b, 0) : n));
  const out = emit(g, "Concat", parts, shape, { axis });
  g.record({
    inputs: parts,
    outputs: [out],
    backward: ([dy]) => {
      const gradients = g.node(
        "Split",
        [dy, g.integers(sizes)],
        parts.map(({ shape }) => ({ shape })),
        { axis },
      );
      return gradients.map((gradient) => () => gradient);
    },
  });
  return out;
}

/** The first `count` places of `axis`. */
export function prefix(g: GraphBuilder, x: Value, count: number, axis: number): Value {
  const size = x.shape[axis] as number;
  if (count === size) return x;
  const [from, to, along] = [g.integers([0]), g.integers([count]), g.integers([axis])];
  const shape = x.shape.map((n, i) => (i === axis ? count : n));
  const out = emit(g, "Slice", [x, from, to, along], shape);
  const padding = x.shape.flatMap(() => 0).concat(x.shape.map((_, i) => (i === axis ? size - count : 0)));
  g.record({ inputs: [x], outputs: [out], backward: ([dy]) => [() => emit(g, "Pad", [dy, g.integers(padding)], x.shape)] });
  return out;
}

/** Rows of a table [V, d] at int32 `rows` [M] → [M, d]. Repeated rows add up in the gradient. */
export function gatherRows(g: GraphBuilder, table: Value, rows: Value): Value {
  const out = emit(g, "Gather", [table, rows], [rows.shape[0]!, table.shape[1]!], { axis: 0 });
  g.record({ inputs: [table], outputs: [out], backward: ([dy]) => [() => rowGradient(g, rows, dy!)] });
  return out;
}

export function rowGradient(g: GraphBuilder, rows: Value, updates: Value): RowGradient {
  return { indices: g.node("Cast", [rows], [{ shape: rows.shape, type: "int64" }], { to: 7 })[0]!, updates };
}

// --- elementwise ------------------------------------------------------------------------------------------------------------

type Binary = "Add" | "Sub" | "Mul" | "Min";

/** Shapes are equal, or `b` has the shape of a scalar or of a trailing part of `a` and takes no gradient. */
function checkBroadcast(name: string, a: Value, b: Value): void {
  const tail = a.shape.slice(a.shape.length - b.shape.length);
  if (b.shape.length > a.shape.length || !b.shape.every((n, i) => n === tail[i] || n === 1)) {
    throw new InputError({ message: `${name}: [${a.shape}] and [${b.shape}] do not fit` });
  }
}

function binary(g: GraphBuilder, operator: Binary, a: Value, b: Value): Value {
  checkBroadcast(operator, a, b);
  return emit(g, operator, [a, b], a.shape);
}

/** Refuses a gradient through a broadcast operand, which would need a sum that nothing here uses. */
function whole(g: GraphBuilder, a: Value, b: Value, build: () => Value): () => Value {
  return () => {
    if (!sameShape(a.shape, b.shape))
      throw new InputError({ message: `no gradient through the broadcast of [${b.shape}] to [${a.shape}]` });
    return g.untaped(build);
  };
}

export function add(g: GraphBuilder, a: Value, b: Value): Value {
  const out = binary(g, "Add", a, b);
  g.record({ inputs: [a, b], outputs: [out], backward: ([dy]) => [() => dy!, whole(g, a, b, () => dy!)] });
  return out;
}

export function subtract(g: GraphBuilder, a: Value, b: Value): Value {
  const out = binary(g, "Sub", a, b);
  g.record({ inputs: [a, b], outputs: [out], backward: ([dy]) => [() => dy!, whole(g, a, b, () => emit(g, "Neg", [dy], b.shape))] });
  return out;
}

export function multiply(g: GraphBuilder, a: Value, b: Value): Value {
  const out = binary(g, "Mul", a, b);
  g.record({
    inputs: [a, b],
    outputs: [out],
    backward: ([dy]) => [() => emit(g, "Mul", [dy, b], a.shape), whole(g, a, b, () => emit(g, "Mul", [dy, a], b.shape))],
  });
  return out;
}

/** Where both are equal the gradient goes to `a`, as for the first argument of a clipped objective. */
export function minimum(g: GraphBuilder, a: Value, b: Value): Value {
  const out = binary(g, "Min", a, b);
  const first = () => g.node("LessOrEqual", [a, b], [{ shape: a.shape, type: "bool" }])[0]!;
  const zero = () => g.scalar(0);
  g.record({
    inputs: [a, b],
    outputs: [out],
    backward: ([dy]) => [
      () => emit(g, "Where", [first(), dy, zero()], a.shape),
      whole(g, a, b, () => emit(g, "Where", [first(), zero(), dy], b.shape)),
    ],
  });
  return out;
}

/** Limits are scalars (values of shape []); no gradient flows outside of them or to them. */
export function clip(g: GraphBuilder, x: Value, low: Value, high: Value): Value {
  const out = emit(g, "Clip", [x, low, high], x.shape);
  g.record({
    inputs: [x],
    outputs: [out],
    backward: ([dy]) => [
      () => {
        const inside = g.node("Equal", [x, out], [{ shape: x.shape, type: "bool" }])[0]!;
        return emit(g, "Where", [inside, dy, g.scalar(0)], x.shape);
      },
    ],
  });
  return out;
}

export function exponential(g: GraphBuilder, x: Value): Value {
  const out = emit(g, "Exp", [x], x.shape);
  g.record({ inputs: [x], outputs: [out], backward: ([dy]) => [() => emit(g, "Mul", [dy, out], x.shape)] });
  return out;
}

export function negate(g: GraphBuilder, x: Value): Value {
  const out = emit(g, "Neg", [x], x.shape);
  g.record({ inputs: [x], outputs: [out], backward: ([dy]) => [() => emit(g, "Neg", [dy], x.shape)] });
  return out;
}

/** Sum over all elements of a vector [M] → []. */
export function sum(g: GraphBuilder, x: Value): Value {
  const out = emit(g, "ReduceSum", [x], [], { keepdims: 0 });
  g.record({
    inputs: [x],
    outputs: [out],
    backward: ([dy]) => [() => emit(g, "Expand", [dy, shapeOf(g, x)], x.shape)],
  });
  return out;
}

export function shapeOf(g: GraphBuilder, x: Value): Value {
  if (x.shape.every((n) => typeof n === "number")) return g.integers(x.shape as number[]);
  return g.node("Shape", [x], [{ shape: [x.shape.length], type: "int64" }])[0]!;
}

/** SiLU(gate) ∘ up, the gated activation of the MLP. */
export function gatedSilu(g: GraphBuilder, gate: Value, up: Value): Value {
  const { shape } = gate;
  const sigmoid = emit(g, "Sigmoid", [gate], shape);
  const silu = emit(g, "Mul", [gate, sigmoid], shape);
  const out = emit(g, "Mul", [silu, up], shape);
  g.record({
    inputs: [gate, up],
    outputs: [out],
    backward: ([dy]) => [
      () => {
        // d silu/d gate = σ + silu·(1 − σ) = σ + silu − silu·σ
        const slope = emit(g, "Sub", [emit(g, "Add", [sigmoid, silu], shape), emit(g, "Mul", [silu, sigmoid], shape)], shape);
        return emit(g, "Mul", [emit(g, "Mul", [dy, up], shape), slope], shape);
      },
      () => emit(g, "Mul", [dy, silu], shape),
    ],
  });
  return out;
}

// --- normalisation and position -----------------------------------------------------------------------------------------------

/** x [..., n] normalised to root mean square 1 along the last axis, times `weight` [n]. */
export function rmsNorm(g: GraphBuilder, x: Value, weight: Value, epsilon: number): Value {
  const n = x.shape.at(-1) as number;
  const column: Dimension[] = [...x.shape.slice(0, -1), 1];
  const out = emit(g, "SimplifiedLayerNormalization", [x, weight], x.shape, { axis: -1, epsilon: { float: epsilon } });
  g.record({
    inputs: [x, weight],
    outputs: [out],
    backward: ([dy]) => {
      // The operator's own second output (the inverse deviation) is wrong on WebGPU, so it is computed again.
      const squares = emit(g, "ReduceSumSquare", [x, g.integers([-1])], column, { keepdims: 1 });
      const variance = emit(g, "Add", [emit(g, "Mul", [squares, g.scalar(1 / n)], column), g.scalar(epsilon)], column);
      const inverse = emit(g, "Reciprocal", [emit(g, "Sqrt", [variance], column)], column);
      const normal = emit(g, "Mul", [x, inverse], x.shape);
      const product = emit(g, "Mul", [dy, normal], x.shape);
      return [
        () => {
          const scaled = emit(g, "Mul", [dy, weight], x.shape);
          const inner = emit(g, "Mul", [emit(g, "MatMul", [product, columnOf(g, weight)], column), g.scalar(1 / n)], column);
          const centred = emit(g, "Sub", [scaled, emit(g, "Mul", [normal, inner], x.shape)], x.shape);
          return emit(g, "Mul", [centred, inverse], x.shape);
        },
        () => emit(g, "ReduceSum", [product, g.integers(x.shape.slice(1).map((_, i) => i))], weight.shape, { keepdims: 0 }),
      ];
    },
  });
  return out;
}

function columnOf(g: GraphBuilder, vector: Value): Value {
  return emit(g, "Reshape", [vector, g.integers([-1, 1])], [vector.shape[0]!, 1]);
}

/** cos and sin of position·θ^(−2i/hd), times `scale`, [positions, hd/2] each. */
export function rotaryTables(positions: number, headDim: number, theta: number, scale = 1): { cos: Float32Array; sin: Float32Array } {
  const half = headDim / 2;
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let p = 0; p < positions; p++) {
    for (let i = 0; i < half; i++) {
      const angle = p * theta ** ((-2 * i) / headDim);
      cos[p * half + i] = Math.cos(angle) * scale;
      sin[p * half + i] = Math.sin(angle) * scale;
    }
  }
  return { cos, sin };
}

/**
 * Rotates the halves of each head of x [B, heads, T, hd] by its position 0..T−1 (rotate_half convention), and scales by `scale`:
 * the rotation is linear, so the scale of attention costs nothing here.
 */
export function rotary(g: GraphBuilder, x: Value, theta: number, scale = 1): Value {
  const [positions, headDim] = x.shape.slice(2) as [number, number];
  const { cos, sin } = rotaryTables(positions, headDim, theta, scale);
  const start = g.integers([0]);
  const turn = (value: Value, sines: Float32Array) => {
    const tables = [g.constant(cos, [positions, headDim / 2]), g.constant(sines, [positions, headDim / 2])];
    return emit(g, "RotaryEmbedding", [value, start, ...tables], x.shape, { interleaved: 0 }, MICROSOFT);
  };
  const out = turn(x, sin);
  g.record({
    inputs: [x],
    outputs: [out],
    backward: ([dy]) => [
      () =>
        turn(
          dy!,
          sin.map((s) => -s),
        ),
    ],
  });
  return out;
}
