/**
 * Each operator's gradient graph against central finite differences of its own forward graph, both in double precision
 * (tolerance 1e-6 relative), and the native runtime's float32 results against the double-precision ones (tolerance 2e-5).
 */
import { describe, expect, test } from "vitest";
import { Seed } from "../../core/index.js";
import { gradients } from "./autodiff.js";
import { GraphBuilder, type Value } from "./builder.js";
import * as op from "./operators.js";
import { type Array64, array64, interpret } from "./reference-interpreter.js";
import { floats, integers, Session, type Tensor } from "./session.js";

interface Case {
  name: string;
  /** Differentiable inputs. */
  inputs: Record<string, number[]>;
  integers?: Record<string, number[]>;
  build: (g: GraphBuilder, v: Record<string, Value>) => Value;
}

const cases: Case[] = [
  { name: "linear", inputs: { x: [5, 3], w: [4, 3] }, build: (g, v) => op.linear(g, v.x!, v.w!) },
  { name: "matmul", inputs: { a: [2, 3, 4, 5], b: [2, 3, 5, 2] }, build: (g, v) => op.matmul(g, v.a!, v.b!) },
  { name: "reshape", inputs: { x: [4, 6] }, build: (g, v) => op.reshape(g, v.x!, [2, 2, "rest"]) },
  { name: "transpose", inputs: { x: [2, 3, 4, 2] }, build: (g, v) => op.transpose(g, v.x!, [0, 2, 3, 1]) },
  {
    name: "split",
    inputs: { x: [3, 7] },
    build: (g, v) => {
      const [a, b] = op.split(g, v.x!, [3, 4]);
      return op.matmul(g, op.exponential(g, a!), b!);
    },
  },
  { name: "concat", inputs: { a: [2, 3, 2], b: [2, 1, 2] }, build: (g, v) => op.concat(g, [v.a!, v.b!, op.exponential(g, v.a!)], 1) },
  { name: "prefix", inputs: { x: [2, 5, 3] }, build: (g, v) => op.prefix(g, v.x!, 3, 1) },
  {
    name: "gatherRows with repeats",
    inputs: { table: [6, 3] },
    integers: { rows: [4, 0, 4, 4, 5] },
    build: (g, v) => op.gatherRows(g, v.table!, v.rows!),
  },
  { name: "add", inputs: { a: [3, 4], b: [3, 4] }, build: (g, v) => op.add(g, v.a!, v.b!) },
  { name: "subtract", inputs: { a: [3, 4], b: [3, 4] }, build: (g, v) => op.subtract(g, v.a!, v.b!) },
  { name: "multiply", inputs: { a: [3, 4], b: [3, 4] }, build: (g, v) => op.multiply(g, v.a!, v.b!) },
  { name: "multiply of a value by itself", inputs: { a: [3, 4] }, build: (g, v) => op.multiply(g, v.a!, v.a!) },
  {
    name: "multiply by a broadcast constant",
    inputs: { a: [3, 4] },
    build: (g, v) => op.multiply(g, v.a!, g.constant(Float32Array.of(1, 2, 3, 4), [4])),
  },
  { name: "minimum", inputs: { a: [5, 4], b: [5, 4] }, build: (g, v) => op.minimum(g, v.a!, v.b!) },
  { name: "clip", inputs: { x: [6, 4] }, build: (g, v) => op.clip(g, v.x!, g.scalar(-0.4), g.scalar(0.6)) },
  { name: "exponential", inputs: { x: [3, 4] }, build: (g, v) => op.exponential(g, v.x!) },
  { name: "negate", inputs: { x: [3, 4] }, build: (g, v) => op.negate(g, v.x!) },
  { name: "sum", inputs: { x: [7] }, build: (g, v) => op.sum(g, op.multiply(g, v.x!, v.x!)) },
  { name: "gatedSilu", inputs: { gate: [3, 4], up: [3, 4] }, build: (g, v) => op.gatedSilu(g, v.gate!, v.up!) },
  { name: "rmsNorm", inputs: { x: [5, 6], w: [6] }, build: (g, v) => op.rmsNorm(g, v.x!, v.w!, 1e-6) },
  { name: "rmsNorm of heads", inputs: { x: [2, 2, 3, 4], w: [4] }, build: (g, v) => op.rmsNorm(g, v.x!, v.w!, 1e-6) },
  { name: "rmsNorm with a large epsilon", inputs: { x: [5, 6], w: [6] }, build: (g, v) => op.rmsNorm(g, v.x!, v.w!, 0.5) },
  { name: "rotary", inputs: { x: [2, 3, 5, 4] }, build: (g, v) => op.rotary(g, v.x!, 100, 0.7) },
];

/** Σ out ∘ weights for fixed random weights, so that every element of the output matters differently. */
function scalarGraph(c: Case) {
  const random = Seed.root("operators").child(c.name).at(0);
  const g = new GraphBuilder();
  const values: Record<string, Value> = {};
  const feeds: Record<string, Array64> = {};
  for (const [name, shape] of Object.entries(c.inputs)) {
    values[name] = g.input(name, shape);
    feeds[name] = array64(
      shape,
      Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => Math.fround(random.normal())),
    );
  }
  for (const [name, data] of Object.entries(c.integers ?? {})) {
    values[name] = g.input(name, [data.length], "int32");
    feeds[name] = array64([data.length], data);
  }
  const out = op.reshape(g, c.build(g, values), ["all"]);
  g.output("out", out);
  const size = interpret(g, feeds).out!.data.length;
  const weights = g.constant(
    Float32Array.from({ length: size }, () => random.normal()),
    [size],
  );
  const loss = op.sum(g, op.multiply(g, { ...out, shape: [size] }, weights));
  g.output("loss", loss);
  const names = Object.keys(c.inputs);
  gradients(
    g,
    loss,
    names.map((n) => values[n]!),
  ).forEach((gradient, i) => {
    g.output(`d:${names[i]}`, gradient);
  });
  return { g, feeds, names, c };
}

function tensors(c: Case, feeds: Record<string, Array64>): Record<string, Tensor> {
  const entries = Object.entries(feeds).map(([name, { shape, data }]): [string, Tensor] => [
    name,
    c.integers?.[name] === undefined ? floats(Float32Array.from(data), shape) : integers(Int32Array.from(data), shape),
  ]);
  return Object.fromEntries(entries);
}

describe.each(cases)("$name", (c) => {
  const { g, feeds, names } = scalarGraph(c);
  const exact = interpret(g, feeds);

  test("has the gradient that finite differences give", () => {
    for (const name of names) {
      const at = feeds[name]!;
      const step = 1e-5;
      at.data.forEach((x, i) => {
        const moved = (h: number) => {
          const data = at.data.slice();
          data[i] = x + h;
          return interpret(g, { ...feeds, [name]: array64(at.shape, data) }).loss!.data[0]!;
        };
        const expected = (moved(step) - moved(-step)) / (2 * step);
        const found = exact[`d:${name}`]!.data[i]!;
        expect(Math.abs(found - expected), `d loss/d ${name}[${i}]: ${found}, by differences ${expected}`).toBeLessThan(
          1e-6 * (1 + Math.abs(expected)),
        );
      });
    }
  });

  test("is computed by the native runtime as by the definitions", async () => {
    const session = await Session.create(c.name, g.build());
    const results = await session.run(tensors(c, feeds));
    for (const { name } of g.outputs) {
      const found = results[name]!.data as Float32Array;
      expect(found.length, name).toBe(exact[name]!.data.length);
      exact[name]!.data.forEach((x, i) => {
        expect(Math.abs(found[i]! - x), `${name}[${i}]: ${found[i]}, exactly ${x}`).toBeLessThan(2e-5 * (1 + Math.abs(x)));
      });
    }
    await session.release();
  });
});

test("The gradient of a value that the loss does not read is zero.", () => {
  const g = new GraphBuilder();
  const x = g.input("x", [2]);
  const unused = g.input("unused", [3]);
  const loss = op.sum(g, x);
  gradients(g, loss, [x, unused]).forEach((d, i) => {
    g.output(`d${i}`, d);
  });
  const out = interpret(g, { x: array64([2], [1, 2]), unused: array64([3], [1, 2, 3]) });
  expect([...out.d0!.data]).toEqual([1, 1]);
  expect([...out.d1!.data]).toEqual([0, 0, 0]);
});

test("A gradient through a broadcast operand is refused instead of being wrong.", () => {
  const g = new GraphBuilder();
  const x = g.input("x", [2, 3]);
  const b = g.input("b", [3]);
  const loss = op.sum(g, op.reshape(g, op.add(g, x, b), [6]));
  expect(() => gradients(g, loss, [b])).toThrow(/broadcast/);
});

test("Splitting off a part that nothing reads is refused when differentiated.", () => {
  const g = new GraphBuilder();
  const x = g.input("x", [2, 3]);
  const [first] = op.split(g, x, [1, 2]);
  const loss = op.sum(g, op.reshape(g, first!, [2]));
  expect(() => gradients(g, loss, [x])).toThrow(/part 1/);
});

test("Two graph values of one name are refused.", () => {
  const g = new GraphBuilder();
  g.input("x", [2]);
  expect(() => g.input("x", [2])).toThrow(/called x/);
});

test("A graph that the runtime refuses is an EngineError that names it.", async () => {
  const g = new GraphBuilder();
  const [y] = g.node("NoSuchOperator", [g.input("x", [2])], [{ shape: [2] }]);
  g.output("y", y!);
  await expect(Session.create("odd one", g.build())).rejects.toThrow(/odd one/);
});
