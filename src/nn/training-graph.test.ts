/**
 * The whole graphs: gradients against directional finite differences of the loss in double precision (tolerance 1e-6 relative), the
 * native runtime's float32 against double precision (3e-5), and what must not depend on padding or on later tokens.
 */
import { describe, expect, test } from "vitest";
import { Seed } from "../core/index.js";
import type { GraphBuilder } from "./graph/builder.js";
import { type Array64, array64, interpret } from "./graph/reference-interpreter.js";
import { floats, integers, Session } from "./graph/session.js";
import { graphParameters, initialParameters, parameterLayout, parseQwen3Config, type Qwen3Config } from "./qwen3-config.js";
import { type GraphKind, gradientName, trainingGraph } from "./training-graph.js";

/** Two query heads share each key head. */
const config: Qwen3Config = parseQwen3Config({
  vocab_size: 11,
  hidden_size: 12,
  intermediate_size: 10,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 4,
  max_position_embeddings: 64,
  rope_theta: 100,
});
const LENGTH = 6;
const { total } = parameterLayout(config);
const random = Seed.root("training graph").at(0);

/** Far from the initial point, where attention is nearly uniform and hides mistakes. */
const parameters = initialParameters(config, Seed.root("training graph")).map((x) =>
  Math.fround(x === 1 ? 1 + 0.3 * random.normal() : 30 * x),
);

/** Two sequences: 6 tokens of which 4 are predicted, and 4 tokens (padded to 6) of which 2 are predicted. */
const batch = {
  tokens: [1, 5, 3, 3, 9, 2, 7, 0, 4, 10, 0, 0],
  rows: [1, 2, 3, 4, 7, 8],
  targets: [3, 3, 9, 2, 4, 10],
};

function asFeeds(flat: ArrayLike<number>, extra: Record<string, Array64>): Record<string, Array64> {
  const feeds: Record<string, Array64> = { ...extra };
  for (const p of graphParameters(config))
    feeds[p.name] = array64(
      p.shape,
      Array.from({ length: p.size }, (_, i) => flat[p.offset + i]!),
    );
  for (const [name, data] of Object.entries(batch)) feeds[name] ??= array64([data.length], data);
  return feeds;
}

const vector = (values: number[]) => array64([values.length], values.map(Math.fround));
const scalar = (x: number) => array64([], [Math.fround(x)]);

const weights = vector([0.3, 0.2, 0, 0.5, 0.1, 0.25]);
const advantages = vector([1.2, -0.7, 0.4, -1.5, 0.9, 0.8]);
const inverseTemperature = scalar(0.8);

function lossFeeds(kind: GraphKind): Record<string, Array64> {
  if (kind === "nll") return { weights, inverseTemperature };
  const logProbs = interpret(trainingGraph(config, "log-probs", LENGTH), asFeeds(parameters, { inverseTemperature })).logProbs!.data;
  // Ratios below, inside and above the clip range, each with an advantage of both signs where it matters.
  const shifts = [0.5, 0.5, 0.05, -0.6, -0.6, -0.02];
  return {
    weights,
    inverseTemperature,
    advantages,
    oldLogProbs: vector(shifts.map((s, i) => logProbs[i]! - s)),
    referenceLogProbs: vector([0.3, -0.4, 0.1, 0.7, -0.2, 0].map((s, i) => logProbs[i]! + s)),
    clipLow: scalar(0.2),
    clipHigh: scalar(0.28),
    klCoefficient: scalar(0.3),
  };
}

function flatGradient(outputs: Record<string, Array64>): Float64Array {
  const flat = new Float64Array(total);
  for (const p of graphParameters(config)) flat.set(outputs[gradientName(p.name)]!.data, p.offset);
  return flat;
}

async function runNative(g: GraphBuilder, feeds: Record<string, Array64>): Promise<Record<string, Float32Array>> {
  const session = await Session.create("test", g.build());
  const tensors = Object.fromEntries(
    g.inputs.map((v) => {
      const { shape, data } = feeds[v.name]!;
      return [v.name, v.type === "int32" ? integers(Int32Array.from(data), shape) : floats(Float32Array.from(data), shape)];
    }),
  );
  const results = await session.run(tensors);
  await session.release();
  return Object.fromEntries(Object.entries(results).map(([name, t]) => [name, t.data as Float32Array]));
}

describe.each(["nll", "policy"] as const)("the %s loss", (kind) => {
  const g = trainingGraph(config, kind, LENGTH);
  const extra = lossFeeds(kind);
  const exact = interpret(g, asFeeds(parameters, extra));
  const gradient = flatGradient(exact);

  const alongDirection = (direction: Float64Array) => {
    const step = 1e-6;
    const lossAt = (h: number) =>
      interpret(
        g,
        asFeeds(
          Float64Array.from(parameters, (x, i) => x + h * direction[i]!),
          extra,
        ),
      ).loss!.data[0]!;
    return (lossAt(step) - lossAt(-step)) / (2 * step);
  };

  test("has the directional derivatives that finite differences give, for each parameter and all together", () => {
    const directions = parameterLayout(config).specs.map((spec) => {
      const direction = new Float64Array(total);
      for (let i = spec.offset; i < spec.offset + spec.size; i++) direction[i] = random.normal();
      return { name: spec.name, direction };
    });
    directions.push({ name: "all", direction: Float64Array.from({ length: total }, () => random.normal()) });
    for (const { name, direction } of directions) {
      const expected = alongDirection(direction);
      const found = direction.reduce((sum, x, i) => sum + x * gradient[i]!, 0);
      expect(Math.abs(found - expected), `${name}: ${found}, by differences ${expected}`).toBeLessThan(1e-6 * (1 + Math.abs(expected)));
      expect(Math.abs(expected), `${name} matters to the loss`).toBeGreaterThan(1e-5);
    }
  });

  test("is computed by the native runtime as in double precision", async () => {
    const native = await runNative(g, asFeeds(parameters, extra));
    const largest = gradient.reduce((m, x) => Math.max(m, Math.abs(x)), 0);
    for (const { name } of g.outputs) {
      const scale = name.startsWith("d:") ? largest : 1;
      exact[name]!.data.forEach((x, i) => {
        expect(Math.abs(native[name]![i]! - x), `${name}[${i}]: ${native[name]![i]}, exactly ${x}`).toBeLessThan(
          3e-5 * (scale + Math.abs(x)),
        );
      });
    }
  });
});

test("The policy loss is the clipped surrogate plus the weighted k3 estimate, recomputed here from the log-probabilities.", () => {
  const extra = lossFeeds("policy");
  const out = interpret(trainingGraph(config, "policy", LENGTH), asFeeds(parameters, extra));
  const at = (name: string, i: number) => extra[name]!.data[i]!;
  let expected = 0;
  let clipped = 0;
  out.logProbs!.data.forEach((logProb, i) => {
    const ratio = Math.exp(logProb - at("oldLogProbs", i));
    const bounded = Math.min(Math.max(ratio, 0.8), 1.28);
    if (Math.min(ratio * at("advantages", i), bounded * at("advantages", i)) !== ratio * at("advantages", i)) clipped += 1;
    const q = at("referenceLogProbs", i) - logProb;
    expected += at("weights", i) * (-Math.min(ratio * at("advantages", i), bounded * at("advantages", i)) + 0.3 * (Math.exp(q) - q - 1));
  });
  expect(clipped, "tokens whose gradient is cut off").toBeGreaterThan(0);
  expect(clipped).toBeLessThan(out.logProbs!.data.length);
  expect(out.loss!.data[0]).toBeCloseTo(expected, 6);
});

test("Log-probabilities and entropies are those of a softmax over the whole vocabulary.", () => {
  const g = trainingGraph(config, "log-probs", LENGTH);
  const everyTarget = Array.from({ length: config.vocab_size }, (_, token) =>
    interpret(g, asFeeds(parameters, { inverseTemperature, targets: vector(batch.rows.map(() => token)) })),
  );
  batch.rows.forEach((_, i) => {
    const logs = everyTarget.map((out) => out.logProbs!.data[i]!);
    expect(logs.reduce((sum, l) => sum + Math.exp(l), 0)).toBeCloseTo(1, 10);
    expect(everyTarget[0]!.entropies!.data[i]).toBeCloseTo(-logs.reduce((sum, l) => sum + l * Math.exp(l), 0), 10);
  });
});

test("A token sees nothing after it, and padding changes nothing.", () => {
  const logProbs = (tokens: number[], length: number, rows: number[]) =>
    interpret(
      trainingGraph(config, "log-probs", length),
      asFeeds(parameters, { inverseTemperature, tokens: vector(tokens), rows: vector(rows), targets: vector(rows.map(() => 3)) }),
    ).logProbs!.data;
  const short = logProbs([7, 0, 4, 10], 4, [0, 1, 2, 3]);
  const padded = logProbs([7, 0, 4, 10, 0, 0], 6, [0, 1, 2, 3]);
  const continued = logProbs([7, 0, 4, 10, 5, 8], 6, [0, 1, 2, 3]);
  const secondOfTwo = logProbs([1, 2, 3, 4, 5, 6, 7, 0, 4, 10, 9, 9], 6, [6, 7, 8, 9]);
  for (const other of [padded, continued, secondOfTwo])
    other.forEach((x, i) => {
      expect(x).toBeCloseTo(short[i]!, 12);
    });
});

test("A query head reads the key head ⌊i/(H/KV)⌋: repeating K and V per query head in an ungrouped model changes nothing.", () => {
  const ungrouped = parseQwen3Config({ ...config, num_key_value_heads: config.num_attention_heads });
  const expanded = new Float64Array(parameterLayout(ungrouped).total);
  const grouped = new Map(parameterLayout(config).specs.map((s) => [s.name, s]));
  for (const spec of parameterLayout(ungrouped).specs) {
    const from = grouped.get(spec.name)!;
    const source = parameters.subarray(from.offset, from.offset + from.size);
    const block = config.head_dim * config.hidden_size;
    for (let i = 0; i < spec.size; i++) {
      const repeated = /\.(k|v)_proj/.test(spec.name);
      expanded[spec.offset + i] = source[repeated ? Math.floor(i / block / 2) * block + (i % block) : i]!;
    }
  }
  const feeds: Record<string, Array64> = { inverseTemperature };
  for (const p of graphParameters(ungrouped)) feeds[p.name] = array64(p.shape, expanded.subarray(p.offset, p.offset + p.size));
  for (const [name, data] of Object.entries(batch)) feeds[name] = array64([data.length], data);
  const expected = interpret(trainingGraph(ungrouped, "log-probs", LENGTH), feeds).logProbs!.data;
  const found = interpret(trainingGraph(config, "log-probs", LENGTH), asFeeds(parameters, { inverseTemperature })).logProbs!.data;
  found.forEach((x, i) => {
    expect(x).toBeCloseTo(expected[i]!, 12);
  });
});

test("Long sequences, whose attention is computed in blocks, have the loss and gradient of the same sequences computed whole.", () => {
  const ungrouped = parseQwen3Config({
    ...config,
    num_hidden_layers: 1,
    num_key_value_heads: config.num_attention_heads,
    max_position_embeddings: 256,
  });
  const seed = Seed.root("blocks");
  const draw = seed.child("tokens").at(0);
  const sequence = Array.from({ length: 110 }, () => draw.below(config.vocab_size));
  const rows = [0, 20, 42, 43, 44, 85, 86, 87, 108];
  const at = (length: number) => {
    const g = trainingGraph(ungrouped, "nll", length);
    const feeds: Record<string, Array64> = {
      inverseTemperature,
      tokens: vector([...sequence, ...new Array<number>(length - sequence.length).fill(0)]),
      rows: vector(rows),
      targets: vector(rows.map((r) => sequence[r + 1]!)),
      weights: vector(rows.map((_, i) => 0.1 + 0.05 * i)),
    };
    const flat = initialParameters(ungrouped, seed).map((x) => (x === 1 ? 1 : 20 * x));
    for (const p of graphParameters(ungrouped)) feeds[p.name] = array64(p.shape, flat.subarray(p.offset, p.offset + p.size));
    return { products: g.nodes.filter((n) => n.operator === "Softmax").length, out: interpret(g, feeds) };
  };
  const whole = at(112);
  const blocked = at(128);
  expect(blocked.products).toBeGreaterThan(whole.products);
  for (const [name, { data }] of Object.entries(whole.out)) {
    data.forEach((x, i) => {
      expect(blocked.out[name]!.data[i], `${name}[${i}]`).toBeCloseTo(x, 10);
    });
  }
});
