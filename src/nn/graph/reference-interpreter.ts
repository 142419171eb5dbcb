/**
 * Evaluates a built graph in double precision, node by node, from the definitions of the ONNX operators: the independent ground that
 * tests hold the native runtime and the gradients against. Slow on purpose, and used by tests only. Refuses operators it doesn't know.
 * Long as the list of operators is: one case each, looked up by name.
 */
import type { Attribute, GraphBuilder, GraphNode, Shape } from "./builder.js";

export interface Array64 {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export function array64(shape: readonly number[], data: Iterable<number>): Array64 {
  return { shape, data: Float64Array.from(data) };
}

/** Values of the graph's outputs by name. */
export function interpret(g: GraphBuilder, feeds: Readonly<Record<string, Array64>>): Record<string, Array64> {
  const values = new Map<string, Array64>(Object.entries(feeds));
  for (const { value, data } of g.constants)
    values.set(value.name, array64(numbers(value.shape), Array.from(data as ArrayLike<number | bigint>, Number)));
  for (const node of g.nodes) {
    const inputs = node.inputs.map((name) => {
      const value = values.get(name);
      if (value === undefined && name !== "") throw new Error(`${node.operator} reads ${name}, which has no value`);
      return value as Array64;
    });
    evaluate(node, inputs).forEach((value, i) => {
      values.set(node.outputs[i]!, value);
    });
  }
  return Object.fromEntries(g.outputs.map((v) => [v.name, values.get(v.name)!]));
}

const UNARY: Record<string, (x: number) => number> = {
  Identity: (x) => x,
  Cast: (x) => x,
  Neg: (x) => -x,
  Exp: Math.exp,
  Log: Math.log,
  Sqrt: Math.sqrt,
  Reciprocal: (x) => 1 / x,
  Sigmoid: (x) => 1 / (1 + Math.exp(-x)),
};

const BINARY: Record<string, (a: number, b: number) => number> = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  Div: (a, b) => a / b,
  Min: Math.min,
  LessOrEqual: (a, b) => Number(a <= b),
  Equal: (a, b) => Number(a === b),
};

const REDUCE: Record<string, { start: number; step: (sum: number, x: number) => number }> = {
  ReduceSum: { start: 0, step: (sum, x) => sum + x },
  ReduceSumSquare: { start: 0, step: (sum, x) => sum + x * x },
  ReduceMax: { start: Number.NEGATIVE_INFINITY, step: Math.max },
};

function evaluate(node: GraphNode, inputs: Array64[]): Array64[] {
  const { operator, attributes } = node;
  const [a, b, c] = inputs as [Array64, Array64, Array64];
  const unary = UNARY[operator];
  if (unary !== undefined) return [array64(a.shape, a.data.map(unary))];
  const binary = BINARY[operator];
  if (binary !== undefined) return [broadcast([a, b], ([x, y]) => binary(x!, y!))];
  const reduction = REDUCE[operator];
  if (reduction !== undefined) return [reduce(a, b === undefined ? undefined : Array.from(b.data), attributes.keepdims === 1, reduction)];
  switch (operator) {
    case "Where":
      return [broadcast([a, b, c], ([condition, x, y]) => (condition !== 0 ? x! : y!))];
    case "Clip":
      return [broadcast([a, b, c], ([x, low, high]) => Math.min(Math.max(x!, low!), high!))];
    case "Gemm":
      return [gemm(a, b, attributes)];
    case "MatMul":
      return [matmul(a, b)];
    case "Transpose":
      return [transpose(a, attributes.perm as number[])];
    case "Reshape":
      return [reshape(a, Array.from(b.data))];
    case "Unsqueeze":
      return [array64([...a.shape, 1], a.data)];
    case "Shape":
      return [array64([a.shape.length], a.shape)];
    case "Expand":
      return [broadcast([a, array64(Array.from(b.data), new Float64Array(product(Array.from(b.data))))], ([x]) => x!)];
    case "ConstantOfShape":
      return [array64(Array.from(a.data), new Float64Array(product(Array.from(a.data))))];
    case "Softmax":
      return [rows(a, softmaxRow)];
    case "SimplifiedLayerNormalization":
      return [rows(a, (row) => normRow(row, b.data, (attributes.epsilon as { float: number }).float))];
    case "RotaryEmbedding":
      return [rotary(a, inputs[2]!, inputs[3]!)];
    case "Gather":
      return [gather(a, b)];
    case "ScatterND":
      return [scatterAdd(a, b, c)];
    case "Split":
      return split(a, Array.from(b.data), attributes.axis as number);
    case "Slice":
      return [slice(a, b, c, inputs[3]!)];
    case "Pad":
      return [pad(a, Array.from(b.data))];
    case "Concat":
      return [concat(inputs, attributes.axis as number)];
    default:
      throw new Error(`the reference interpreter does not know ${operator}`);
  }
}

function product(shape: readonly number[]): number {
  return shape.reduce((total, n) => total * n, 1);
}

function numbers(shape: Shape): number[] {
  return shape.map(Number);
}

function strides(shape: readonly number[]): number[] {
  return shape.map((_, i) => product(shape.slice(i + 1)));
}

/** Calls `f` with each multi-index of `shape`, in row-major order. */
function each(shape: readonly number[], f: (index: readonly number[], flat: number) => void): void {
  const index = shape.map(() => 0);
  const total = product(shape);
  for (let flat = 0; flat < total; flat++) {
    f(index, flat);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      index[axis]! += 1;
      if (index[axis]! < shape[axis]!) break;
      index[axis] = 0;
    }
  }
}

function broadcast(operands: readonly Array64[], f: (values: number[]) => number): Array64 {
  const rank = Math.max(...operands.map((x) => x.shape.length));
  const padded = operands.map((x) => [...new Array<number>(rank - x.shape.length).fill(1), ...x.shape]);
  const shape = Array.from({ length: rank }, (_, axis) => Math.max(...padded.map((p) => p[axis]!)));
  const steps = padded.map((p) => strides(p).map((s, axis) => (p[axis] === 1 ? 0 : s)));
  const out = new Float64Array(product(shape));
  each(shape, (index, flat) => {
    out[flat] = f(operands.map((x, o) => x.data[index.reduce((at, i, axis) => at + i * steps[o]![axis]!, 0)]!));
  });
  return array64(shape, out);
}

function reduce(
  x: Array64,
  axes: number[] | undefined,
  keep: boolean,
  { start, step }: { start: number; step: (s: number, x: number) => number },
): Array64 {
  const rank = x.shape.length;
  const reduced = new Set((axes ?? x.shape.map((_, i) => i)).map((axis) => (axis < 0 ? axis + rank : axis)));
  const kept = x.shape.map((n, axis) => (reduced.has(axis) ? 1 : n));
  const steps = strides(kept).map((s, axis) => (reduced.has(axis) ? 0 : s));
  const out = new Float64Array(product(kept)).fill(start);
  each(x.shape, (index, flat) => {
    const at = index.reduce((sum, i, axis) => sum + i * steps[axis]!, 0);
    out[at] = step(out[at]!, x.data[flat]!);
  });
  return array64(keep ? kept : x.shape.filter((_, axis) => !reduced.has(axis)), out);
}

function transpose(x: Array64, perm: readonly number[]): Array64 {
  const from = strides(x.shape);
  const shape = perm.map((axis) => x.shape[axis]!);
  const out = new Float64Array(x.data.length);
  each(shape, (index, flat) => {
    out[flat] = x.data[index.reduce((at, i, axis) => at + i * from[perm[axis]!]!, 0)]!;
  });
  return array64(shape, out);
}

function reshape(x: Array64, to: number[]): Array64 {
  const known = product(to.filter((n) => n !== -1));
  const shape = to.map((n) => (n === -1 ? x.data.length / known : n));
  if (product(shape) !== x.data.length) throw new Error(`cannot reshape [${x.shape}] to [${to}]`);
  return array64(shape, x.data);
}

function gemm(a: Array64, b: Array64, attributes: Readonly<Record<string, Attribute>>): Array64 {
  const flip = (x: Array64, on: Attribute | undefined) => (on === 1 ? transpose(x, [1, 0]) : x);
  const alpha = (attributes.alpha as { float: number } | undefined)?.float ?? 1;
  const plain = matmul(flip(a, attributes.transA), flip(b, attributes.transB));
  return array64(
    plain.shape,
    plain.data.map((x) => alpha * x),
  );
}

function matmul(a: Array64, b: Array64): Array64 {
  const [m, k] = a.shape.slice(-2) as [number, number];
  const n = b.shape.at(-1)!;
  if (b.shape.at(-2) !== k) throw new Error(`cannot multiply [${a.shape}] and [${b.shape}]`);
  const batches = product(a.shape.slice(0, -2));
  const shared = b.shape.length === 2;
  const out = new Float64Array(batches * m * n);
  for (let batch = 0; batch < batches; batch++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let l = 0; l < k; l++) sum += a.data[(batch * m + i) * k + l]! * b.data[((shared ? 0 : batch) * k + l) * n + j]!;
        out[(batch * m + i) * n + j] = sum;
      }
    }
  }
  return array64([...a.shape.slice(0, -1), n], out);
}

function rows(x: Array64, f: (row: Float64Array) => Float64Array): Array64 {
  const n = x.shape.at(-1)!;
  const out = new Float64Array(x.data.length);
  for (let at = 0; at < out.length; at += n) out.set(f(x.data.subarray(at, at + n)), at);
  return array64(x.shape, out);
}

function softmaxRow(row: Float64Array): Float64Array {
  const top = Math.max(...row);
  const powers = row.map((x) => Math.exp(x - top));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / total);
}

function normRow(row: Float64Array, weight: Float64Array, epsilon: number): Float64Array {
  const squares = row.reduce((sum, x) => sum + x * x, 0);
  const inverse = 1 / Math.sqrt(squares / row.length + epsilon);
  return row.map((x, i) => x * inverse * weight[i]!);
}

/** [B, heads, T, hd], halves of each head turned by the tables' row t. */
function rotary(x: Array64, cos: Array64, sin: Array64): Array64 {
  const half = x.shape[3]! / 2;
  const out = new Float64Array(x.data.length);
  each(x.shape, ([, , t, i], flat) => {
    const [c, s] = [cos.data[t! * half + (i! % half)]!, sin.data[t! * half + (i! % half)]!];
    out[flat] = i! < half ? x.data[flat]! * c - x.data[flat + half]! * s : x.data[flat]! * c + x.data[flat - half]! * s;
  });
  return array64(x.shape, out);
}

function gather(table: Array64, indices: Array64): Array64 {
  const width = product(table.shape.slice(1));
  const out = new Float64Array(indices.data.length * width);
  indices.data.forEach((row, i) => {
    out.set(table.data.subarray(row * width, (row + 1) * width), i * width);
  });
  return array64([...indices.shape, ...table.shape.slice(1)], out);
}

function scatterAdd(data: Array64, indices: Array64, updates: Array64): Array64 {
  const width = product(data.shape.slice(1));
  const out = data.data.slice();
  indices.data.forEach((row, i) => {
    for (let j = 0; j < width; j++) out[row * width + j]! += updates.data[i * width + j]!;
  });
  return array64(data.shape, out);
}

function split(x: Array64, sizes: readonly number[], axis: number): Array64[] {
  const step = strides(x.shape);
  let start = 0;
  return sizes.map((size) => {
    const shape = x.shape.map((n, i) => (i === axis ? size : n));
    const out = new Float64Array(product(shape));
    each(shape, (index, flat) => {
      out[flat] = x.data[index.reduce((at, i, a) => at + (i + (a === axis ? start : 0)) * step[a]!, 0)]!;
    });
    start += size;
    return array64(shape, out);
  });
}

/** Step 1 and non-negative bounds only. */
function slice(x: Array64, starts: Array64, ends: Array64, axes: Array64): Array64 {
  const from = x.shape.map(() => 0);
  const shape = [...x.shape];
  axes.data.forEach((axis, i) => {
    from[axis] = starts.data[i]!;
    shape[axis] = ends.data[i]! - starts.data[i]!;
  });
  const step = strides(x.shape);
  const out = new Float64Array(product(shape));
  each(shape, (index, flat) => {
    out[flat] = x.data[index.reduce((at, i, axis) => at + (i + from[axis]!) * step[axis]!, 0)]!;
  });
  return array64(shape, out);
}

/** Zeros before (first half of `widths`) and after. */
function pad(x: Array64, widths: readonly number[]): Array64 {
  const rank = x.shape.length;
  const shape = x.shape.map((n, axis) => n + widths[axis]! + widths[rank + axis]!);
  const step = strides(shape);
  const out = new Float64Array(product(shape));
  each(x.shape, (index, flat) => {
    out[index.reduce((at, i, axis) => at + (i + widths[axis]!) * step[axis]!, 0)] = x.data[flat]!;
  });
  return array64(shape, out);
}

function concat(parts: readonly Array64[], axis: number): Array64 {
  const shape = parts[0]!.shape.map((n, i) => (i === axis ? parts.reduce((sum, p) => sum + p.shape[axis]!, 0) : n));
  const step = strides(shape);
  const out = new Float64Array(product(shape));
  let start = 0;
  for (const part of parts) {
    each(part.shape, (index, flat) => {
      out[index.reduce((at, i, a) => at + (i + (a === axis ? start : 0)) * step[a]!, 0)] = part.data[flat]!;
    });
    start += part.shape[axis]!;
  }
  return array64(shape, out);
}
