/** What the comparison with recorded PyTorch steps does not show: resuming, untouched inputs, what is decayed, clipping, bad state. */
import { describe, expect, test } from "vitest";
import { CorruptFileError, Seed } from "../core/index.js";
import { AdamW, isHiddenMatrix } from "./adamw.js";
import { array64, interpret } from "./graph/reference-interpreter.js";
import { Muon, newtonSchulzGraph } from "./muon.js";
import { gradientNorm, type Optimiser } from "./optimiser.js";
import { initialParameters, parameterLayout, parseQwen3Config } from "./qwen3-config.js";

const config = parseQwen3Config({
  vocab_size: 12,
  hidden_size: 8,
  intermediate_size: 12,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 4,
  max_position_embeddings: 16,
});
const { specs, total } = parameterLayout(config);
const start = initialParameters(config, Seed.root("optimiser"));
const gradientAt = (step: number) => {
  const random = Seed.root("gradients").at(step);
  return Float32Array.from({ length: total }, () => random.normal());
};
const plain = { scale: 1, maxGradNorm: Number.POSITIVE_INFINITY };
const adamw = { lr: 0.01, weightDecay: 0.1 };
const makers: [string, () => Promise<Optimiser>][] = [
  ["AdamW", async () => new AdamW(config, adamw)],
  ["Muon", () => Muon.create(config, { lr: 0.02, weightDecay: 0.1, adamw })],
];

describe.each(makers)("%s", (_, make) => {
  test("goes on from saved state with the same bits as without a break", async () => {
    const unbroken = await make();
    const before = await make();
    let [a, b] = [start, start];
    for (let step = 0; step < 3; step++) {
      a = (await unbroken.step(a, gradientAt(step), plain)).parameters;
      b = (await before.step(b, gradientAt(step), plain)).parameters;
    }
    const resumed = await make();
    resumed.load(before.state());
    // The state is a copy: stepping the first one further does not reach the second.
    await before.step(b, gradientAt(9), plain);
    for (let step = 3; step < 6; step++) {
      a = (await unbroken.step(a, gradientAt(step), plain)).parameters;
      b = (await resumed.step(b, gradientAt(step), plain)).parameters;
    }
    expect(b).toEqual(a);
    expect(resumed.state()).toEqual(unbroken.state());
  });

  test("leaves parameters and gradient as they were and returns a new buffer", async () => {
    const [parameters, gradient] = [start.slice(), gradientAt(0)];
    const result = await (await make()).step(parameters, gradient, plain);
    expect(parameters).toEqual(start);
    expect(gradient).toEqual(gradientAt(0));
    expect(result.parameters.buffer).not.toBe(parameters.buffer);
    expect(result.parameters).not.toEqual(start);
  });

  test("decays the matrices inside of the layers and nothing else", async () => {
    const { parameters } = await (await make()).step(start, new Float32Array(total), plain);
    for (const spec of specs) {
      for (let i = spec.offset; i < spec.offset + spec.size; i++) {
        if (isHiddenMatrix(spec)) expect(Math.abs(parameters[i]!), spec.name).toBeLessThan(Math.abs(start[i]!) || 1);
        else expect(parameters[i], spec.name).toBe(start[i]);
      }
    }
  });

  test("does not move at scale 0, and reports the norm before clipping", async () => {
    const gradient = gradientAt(0);
    const norm = Math.sqrt(gradient.reduce((sum, g) => sum + g * g, 0));
    const result = await (await make()).step(start, gradient, { scale: 0, maxGradNorm: 0.5 });
    expect(result.parameters).toEqual(start);
    expect(result.gradNorm).toBeCloseTo(norm, 4);
  });

  test("reports a norm that is not finite when the gradient is not", async () => {
    const gradient = gradientAt(0);
    gradient[5] = Number.NaN;
    expect((await (await make()).step(start, gradient, plain)).gradNorm).toBeNaN();
  });

  test("refuses state of another model or none, and keeps its own", async () => {
    const optimiser = await make();
    await optimiser.step(start, gradientAt(0), plain);
    const own = optimiser.state();
    const [name, long] = Object.entries(own).find(([, v]) => v instanceof Float32Array) as [string, Float32Array];
    expect(() => optimiser.load({ ...own, [name]: long.slice(1) })).toThrow(CorruptFileError);
    expect(() => optimiser.load({})).toThrow(CorruptFileError);
    expect(optimiser.state()).toEqual(own);
  });
});

test("A gradient longer than the limit is brought to it; a shorter one is left alone.", () => {
  const gradient = Float32Array.of(3, 4);
  expect(gradientNorm(gradient, 1).norm).toBe(5);
  expect(gradientNorm(gradient, 1).factor * 5).toBeCloseTo(1, 5);
  expect(gradientNorm(gradient, 10).factor).toBe(1);
});

test("Five Newton–Schulz iterations bring all singular values near 1, whatever the scale of the matrix.", () => {
  const [rows, columns] = [5, 9];
  const g = newtonSchulzGraph({ rows, columns, specs: [0, 1] });
  const random = Seed.root("newton-schulz").at(0);
  const x = array64(
    [2, rows, columns],
    Array.from({ length: 2 * rows * columns }, (_, i) => random.normal() * (i < rows * columns ? 1e-4 : 1e3)),
  );
  const y = interpret(g, { x }).y!.data;
  for (const matrix of [y.subarray(0, rows * columns), y.subarray(rows * columns)]) {
    // Y·Yᵀ has the squared singular values as eigenvalues: their mean is the trace over the rows.
    const row = (r: number) => matrix.subarray(r * columns, (r + 1) * columns);
    const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, v, i) => sum + v * b[i]!, 0);
    const trace = Array.from({ length: rows }, (_, r) => dot(row(r), row(r))).reduce((a, b) => a + b, 0);
    expect(trace / rows).toBeGreaterThan(0.5);
    expect(trace / rows).toBeLessThan(1.4);
    const off = Array.from({ length: rows }, (_, r) => Array.from({ length: r }, (_, q) => Math.abs(dot(row(r), row(q))))).flat();
    expect(Math.max(...off)).toBeLessThan(0.4);
  }
});
