import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Seed } from "../core/index.js";
import { Engine } from "./engine.js";
import { sequenceGrammar } from "./grammar.js";
import { initialParameters, parameterLayout, qwen3ConfigSchema } from "./qwen3-config.js";
import type { SampleRequest } from "./sampler.js";
import { pickAllowed, pickGreedy, pickNucleus, pickSampled, softmaxInto } from "./token-choice.js";

/** Grouped queries, and a cache that has to grow on the way. */
const config = qwen3ConfigSchema.parse({
  vocab_size: 40,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 8,
  max_position_embeddings: 128,
  rope_theta: 10_000,
});
const seed = Seed.root("sampler-test");

/** Weights large enough that the distributions are far from uniform. */
function parameters(): Float32Array {
  const flat = initialParameters(config, seed);
  for (const spec of parameterLayout(config).specs) {
    if (spec.shape.length < 2) continue;
    for (let i = 0; i < spec.size; i++) flat[spec.offset + i] = flat[spec.offset + i]! * 12;
  }
  return flat;
}

const request = (i: number, changes: Partial<SampleRequest> = {}): SampleRequest => {
  const random = seed.child("prompt").at(i);
  return {
    prompt: Int32Array.from({ length: 3 + (i % 19) }, () => random.below(40)),
    seed: seed.child("draw").path,
    index: i,
    maxNewTokens: 40,
    temperature: 1,
    stopTokens: [0],
    ...changes,
  };
};

describe("the sampler", () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await Engine.start({ config, workers: 1 });
    await engine.setParameters(parameters());
  });
  afterAll(() => engine.close());

  const asSequences = (requests: SampleRequest[], results: { tokens: Int32Array }[]) =>
    requests.map(({ prompt }, i) => ({
      tokens: Int32Array.of(...prompt, ...results[i]!.tokens),
      promptLength: prompt.length,
      weights: new Float32Array(results[i]!.tokens.length),
    }));

  for (const temperature of [1, 0.7]) {
    it(`gives the log-probabilities of the training graph at temperature ${temperature}`, async () => {
      const requests = Array.from({ length: 70 }, (_, i) => request(i, { temperature }));
      const results = await engine.sample(requests);
      const expected = await engine.logProbs(asSequences(requests, results), 1 / temperature);
      let worst = 0;
      let steps = 0;
      results.forEach((result, i) => {
        expect(result.logProbs.length).toBe(result.tokens.length);
        result.logProbs.forEach((p, t) => {
          worst = Math.max(worst, Math.abs(p - expected[i]![t]!));
          steps += 1;
        });
      });
      expect(worst).toBeLessThan(1e-4);
      expect(steps).toBeGreaterThan(400);
    });
  }

  it("ends at a stop token or at the limit, and says which", async () => {
    const results = await engine.sample(Array.from({ length: 40 }, (_, i) => request(i, { maxNewTokens: 12 })));
    for (const { tokens, finishReason } of results) {
      const stopped = tokens.at(-1) === 0;
      expect(tokens.indexOf(0)).toBe(stopped ? tokens.length - 1 : -1);
      expect(finishReason).toBe(stopped ? "stop" : "length");
      if (!stopped) expect(tokens.length).toBe(12);
    }
    expect(new Set(results.map((r) => r.finishReason)).size).toBe(2);
  });

  it("greedy takes the likeliest token: no other choice at that place has a higher log-probability", async () => {
    const greedy = await engine.sample([request(4, { temperature: 0, maxNewTokens: 6, stopTokens: [] })]);
    const { prompt } = request(4);
    for (let t = 0; t < 6; t++) {
      const head = [...prompt, ...greedy[0]!.tokens.slice(0, t)];
      const alternatives = await engine.logProbs(
        Array.from({ length: 40 }, (_, token) => ({
          tokens: Int32Array.of(...head, token),
          promptLength: head.length,
          weights: new Float32Array(1),
        })),
      );
      const best = Math.max(...alternatives.map((a) => a[0]!));
      expect(alternatives[greedy[0]!.tokens[t]!]![0]).toBeCloseTo(best, 5);
      expect(greedy[0]!.logProbs[t]).toBeCloseTo(best, 4);
    }
  });

  it("draws the same from the same seed and index, other things from another index", async () => {
    const one = await engine.sample([request(1), request(2)]);
    const two = await engine.sample([request(1), request(2)]);
    expect(two).toEqual(one);
    const other = await engine.sample([request(1, { index: 99 }), request(2)]);
    expect([...other[0]!.tokens]).not.toEqual([...one[0]!.tokens]);
  });

  it("gives a row the same completion whoever its neighbours are", async () => {
    const alone = await engine.sample([request(5)]);
    const among = await engine.sample(Array.from({ length: 30 }, (_, i) => request(i)));
    expect([...among[5]!.tokens]).toEqual([...alone[0]!.tokens]);
  });

  it("never leaves its grammar, greedy or sampled", async () => {
    const allowed = [[3, 5], [7], [11, 12, 13], [2]];
    const grammar = sequenceGrammar(allowed, 0);
    for (const temperature of [0, 1]) {
      const results = await engine.sample(Array.from({ length: 20 }, (_, i) => request(i, { grammar, temperature })));
      for (const { tokens, finishReason } of results) {
        expect(finishReason).toBe("stop");
        expect(tokens.length).toBe(5);
        allowed.forEach((set, t) => {
          expect(set).toContain(tokens[t]);
        });
        expect(tokens[4]).toBe(0);
      }
    }
  });

  it("refuses a request that exceeds the model's positions, and an empty prompt", async () => {
    await expect(engine.sample([request(1, { maxNewTokens: 1000 })])).rejects.toThrow(/128 positions/);
    await expect(engine.sample([request(1, { prompt: new Int32Array(0) })])).rejects.toThrow(/empty prompt/);
  });
});

describe("choosing a token", () => {
  const distribution = fc.array(fc.float({ min: -6, max: 6, noNaN: true }), { minLength: 2, maxLength: 30 }).map((logits) => {
    const out = new Float32Array(logits.length);
    softmaxInto(Float32Array.from(logits), out);
    return out;
  });

  it("follows the distribution: frequencies over a grid of uniform numbers are the probabilities", () => {
    fc.assert(
      fc.property(distribution, (p) => {
        const counts = new Array(p.length).fill(0);
        const n = 4000;
        for (let i = 0; i < n; i++) counts[pickSampled(p, 0, p.length, (i + 0.5) / n)] += 1;
        for (let i = 0; i < p.length; i++) expect(Math.abs(counts[i] / n - p[i]!)).toBeLessThan(2 / n + 1e-5);
      }),
      { numRuns: 30 },
    );
  });

  it("greedy breaks ties to the lowest id", () => {
    expect(pickGreedy(Float32Array.of(0.2, 0.4, 0.4), 0, 3)).toBe(1);
    expect(pickAllowed(Float32Array.of(1, 2, 2), 0, [2, 1], undefined)).toBe(1);
  });

  it("a nucleus never yields a token outside of the smallest set that reaches its mass", () => {
    const p = Float32Array.of(0.5, 0.3, 0.15, 0.05);
    const drawn = new Set(Array.from({ length: 200 }, (_, i) => pickNucleus(p, 0, 4, 0.8, i / 200)));
    expect([...drawn].sort()).toEqual([0, 1]);
  });
});
