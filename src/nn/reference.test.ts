/** The engine, the optimisers and the sampler against values that transformers and torch computed: see python/record_fixtures.py. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Seed } from "../core/index.js";
import { AdamW } from "./adamw.js";
import { readModelConfig, readParameters } from "./checkpoint.js";
import { Engine } from "./engine.js";
import type { LossSpec, TrainingSequence } from "./micro-batch.js";
import { Muon } from "./muon.js";
import type { Optimiser } from "./optimiser.js";
import { parameterLayout, type Qwen3Config } from "./qwen3-config.js";
import { readSafetensors, type Tensor } from "./safetensors.js";

interface AdamWRecord {
  lr: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
}
interface Recorded {
  sequences: { tokens: number[]; promptLength: number }[];
  nll: number;
  policy: { clipLow: number; clipHigh: number; klCoefficient: number; inverseTemperature: number; loss: number };
  scales: number[];
  adamw: AdamWRecord & { maxGradNorm: number; norms: number[] };
  muon: { lr: number; momentum: number; weightDecay: number; maxGradNorm: number; adamw: AdamWRecord; norms: number[] };
  greedy: { maxNewTokens: number; stopToken: number; continuations: { prompt: number[]; tokens: number[]; logProbs: number[] }[] };
}

/** Largest |actual − expected|, over the larger of `floor` and the largest |expected|. */
function error(actual: ArrayLike<number>, expected: ArrayLike<number>, floor = 1): number {
  expect(actual.length).toBe(expected.length);
  let worst = 0;
  let size = floor;
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs(actual[i]! - expected[i]!);
    worst = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : Math.max(worst, difference);
    size = Math.max(size, Math.abs(expected[i]!));
  }
  return worst / size;
}

describe.each(["multi-head", "grouped-query"])("the %s model of transformers", (name) => {
  const folder = fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
  let recorded: Recorded;
  let values: Map<string, Tensor>;
  let config: Qwen3Config;
  let parameters: Float32Array;
  let engine: Engine;
  let sequences: TrainingSequence[];
  const value = (key: string) => values.get(key)!.data;

  beforeAll(async () => {
    recorded = JSON.parse(await readFile(`${folder}/values.json`, "utf8"));
    values = await readSafetensors(`${folder}/values.safetensors`);
    config = await readModelConfig(folder);
    parameters = await readParameters(folder, config);
    sequences = recorded.sequences.map(({ tokens, promptLength }, i) => ({
      tokens: Int32Array.from(tokens),
      promptLength,
      weights: value(`${i}.weights`),
      advantages: value(`${i}.advantages`),
      oldLogProbs: value(`${i}.oldLogProbs`),
      referenceLogProbs: value(`${i}.referenceLogProbs`),
    }));
    engine = await Engine.start({ config, workers: 1 });
    await engine.setParameters(parameters);
  });
  afterAll(() => engine.close());

  const losses = (): { loss: LossSpec; label: string; prefix: string; expected: number }[] => [
    { loss: { kind: "nll" }, label: "1", prefix: "nll", expected: recorded.nll },
    { loss: { kind: "policy", ...recorded.policy }, label: "policy", prefix: "policy", expected: recorded.policy.loss },
  ];

  /** Per parameter, so that a failure names it. */
  const compare = (flat: Float32Array, prefix: string, tolerance: number) => {
    for (const spec of parameterLayout(config).specs) {
      const part = flat.subarray(spec.offset, spec.offset + spec.size);
      expect(error(part, value(`${prefix}/${spec.name}`), 0), `${prefix} of ${spec.name}`).toBeLessThan(tolerance);
    }
    // Nothing recorded was left out.
    const count = [...values.keys()].filter((key) => key.startsWith(`${prefix}/`)).length;
    expect(parameterLayout(config).specs.length).toBe(count);
  };

  it("gives the same log-probabilities, with and without a temperature", async () => {
    for (const [label, inverse] of [
      ["1", 1],
      ["policy", recorded.policy.inverseTemperature],
    ] as const) {
      const logProbs = await engine.logProbs(sequences, inverse);
      logProbs.forEach((row, i) => {
        expect(error(row, value(`${i}.logProbs.${label}`)), `sequence ${i}`).toBeLessThan(1e-5);
      });
    }
  });

  it("gives the same distribution over the whole vocabulary at every position", async () => {
    const { tokens } = recorded.sequences[0]!;
    const vocabulary = config.vocab_size;
    const one = Float32Array.of(1);
    const ends = tokens.flatMap((_, t) =>
      Array.from({ length: vocabulary }, (_, token) => ({
        tokens: Int32Array.of(...tokens.slice(0, t + 1), token),
        promptLength: t + 1,
        weights: one,
      })),
    );
    const logProbs = (await engine.logProbs(ends)).map((row) => row[0]!);
    tokens.forEach((_, t) => {
      const logits = value("logits").subarray(t * vocabulary, (t + 1) * vocabulary);
      const logSum = Math.log(logits.reduce((total, x) => total + Math.exp(x), 0));
      const expected = logits.map((x) => x - logSum);
      expect(error(logProbs.slice(t * vocabulary, (t + 1) * vocabulary), expected), `position ${t}`).toBeLessThan(1e-5);
    });
  });

  it("gives the same masked likelihood and clipped policy loss, entropies and gradient of every parameter", async () => {
    for (const { loss, label, prefix, expected } of losses()) {
      const result = await engine.gradient(sequences, loss);
      expect(Math.abs(result.loss - expected), prefix).toBeLessThan(1e-5);
      sequences.forEach((_, i) => {
        expect(error(result.logProbs[i]!, value(`${i}.logProbs.${label}`)), `log-probabilities of sequence ${i}`).toBeLessThan(1e-5);
        expect(error(result.entropies[i]!, value(`${i}.entropies.${label}`)), `entropies of sequence ${i}`).toBeLessThan(1e-5);
      });
      compare(result.gradient, prefix, 3e-5);
    }
  });

  /** Three steps of `optimiser` down the likelihood, each gradient taken where the last step led. */
  const train = async (optimiser: Optimiser, maxGradNorm: number, norms: readonly number[]) => {
    let current = parameters;
    try {
      for (const [step, scale] of recorded.scales.entries()) {
        await engine.setParameters(current);
        const { gradient } = await engine.gradient(sequences, { kind: "nll" });
        const result = await optimiser.step(current, gradient, { scale, maxGradNorm });
        expect(Math.abs(result.gradNorm / norms[step]! - 1), `norm at step ${step}`).toBeLessThan(1e-5);
        current = result.parameters;
      }
    } finally {
      await engine.setParameters(parameters);
    }
    return current;
  };

  it("has the same parameters after three clipped AdamW steps", async () => {
    const { maxGradNorm, norms, ...options } = recorded.adamw;
    expect(norms.some((norm) => norm > maxGradNorm)).toBe(true);
    compare(await train(new AdamW(config, options), maxGradNorm, norms), "adamw", 1e-5);
  });

  it("has the same parameters after three clipped Muon steps", async () => {
    const { maxGradNorm, norms, ...options } = recorded.muon;
    compare(await train(await Muon.create(config, options), maxGradNorm, norms), "muon", 1e-5);
  });

  it("continues prompts greedily with the same tokens and log-probabilities", async () => {
    const { maxNewTokens, stopToken, continuations } = recorded.greedy;
    const results = await engine.sample(
      continuations.map(({ prompt }, index) => ({
        prompt: Int32Array.from(prompt),
        seed: Seed.root("greedy").path,
        index,
        maxNewTokens,
        temperature: 0,
        stopTokens: [stopToken],
      })),
    );
    results.forEach(({ tokens, logProbs, finishReason }, i) => {
      const { tokens: expected, logProbs: expectedLogProbs } = continuations[i]!;
      expect([...tokens], `prompt ${i}`).toEqual(expected);
      expect(error(logProbs, expectedLogProbs), `prompt ${i}`).toBeLessThan(1e-5);
      expect(finishReason).toBe(expected.at(-1) === stopToken ? "stop" : "length");
    });
  });
});
