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

  it("gives them too where completions share a prompt, in groups of any size, and end one by one", async () => {
    const sizes = [8, 8, 3, 1, 5, 8, 2, 8, 7, 1, 13];
    const requests = sizes.flatMap((size, group) =>
      Array.from({ length: size }, (_, j) => {
        const temperature = group % 3 === 0 ? 0.8 : 1;
        return request(20 + group, { index: 100 * group + j, maxNewTokens: 1 + ((7 * j + 5 * group) % 60), stopTokens: [], temperature });
      }),
    );
    const results = await engine.sample(requests);
    for (const temperature of [0.8, 1]) {
      const chosen = requests.flatMap((r, i) => (r.temperature === temperature ? [i] : []));
      const expected = await engine.logProbs(
        asSequences(
          chosen.map((i) => requests[i]!),
          chosen.map((i) => results[i]!),
        ),
        1 / temperature,
      );
      chosen.forEach((i, at) => {
        expect(results[i]!.tokens.length).toBe(requests[i]!.maxNewTokens);
        results[i]!.logProbs.forEach((p, t) => {
          expect(Math.abs(p - expected[at]![t]!), `row ${i}, token ${t}`).toBeLessThan(1e-4);
        });
      });
    }
  });

  it("draws by the probabilities: the tokens of 3,000 completions of one prompt are as frequent as their log-probabilities say", async () => {
    const count = 3000;
    const results = await engine.sample(
      Array.from({ length: count }, (_, index) => request(3, { index, maxNewTokens: 2, stopTokens: [] })),
    );
    const counts = new Map<number, { expected: number; found: number }>();
    for (const { tokens, logProbs } of results) {
      const known = counts.get(tokens[0]!) ?? { expected: count * Math.exp(logProbs[0]!), found: 0 };
      known.found += 1;
      counts.set(tokens[0]!, known);
    }
    let chiSquare = 0;
    let others = { expected: count, found: count };
    let cells = 0;
    for (const { expected, found } of counts.values()) {
      if (expected < 10) continue;
      chiSquare += (found - expected) ** 2 / expected;
      others = { expected: others.expected - expected, found: others.found - found };
      cells += 1;
    }
    chiSquare += (others.found - others.expected) ** 2 / Math.max(others.expected, 1);
    expect(cells).toBeGreaterThan(8);
    // Mean `cells`, deviation √(2·cells): four deviations; the seed is fixed.
    expect(chiSquare).toBeLessThan(cells + 4 * Math.sqrt(2 * cells));
  });

  it("forgets what an earlier batch left, numbers that are not finite included", async () => {
    const requests = Array.from({ length: 12 }, (_, i) => request(i));
    const before = await engine.sample(requests);
    await engine.setParameters(new Float32Array(parameterLayout(config).total).fill(Number.NaN));
    await engine.sample(requests);
    await engine.setParameters(parameters());
    expect(await engine.sample(requests)).toEqual(before);
  });

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

  it("decodes to the model's last position, beside a row that ended with a longer prompt", async () => {
    const longer = await Engine.start({ config: { ...config, max_position_embeddings: 300 }, workers: 1 });
    await longer.setParameters(parameters());
    const random = seed.child("long").at(0);
    const prompt = Int32Array.from({ length: 290 }, () => random.below(40));
    const requests = [
      request(0, { prompt, maxNewTokens: 10, stopTokens: [] }),
      ...Array.from({ length: 9 }, (_, i) => request(i, { prompt: Int32Array.of(i + 1), maxNewTokens: 299, stopTokens: [] })),
    ];
    const results = await longer.sample(requests);
    const expected = await longer.logProbs(asSequences(requests, results));
    await longer.close();
    results.forEach(({ tokens, logProbs }, i) => {
      expect(tokens.length).toBe(requests[i]!.maxNewTokens);
      logProbs.forEach((p, t) => {
        expect(Math.abs(p - expected[i]![t]!)).toBeLessThan(2e-4);
      });
    });
  });

  it("gives the training graph's log-probabilities of forced tokens too, however unlikely", async () => {
    const steep = parameters();
    const embedding = parameterLayout(config).specs[0]!;
    for (let i = 0; i < embedding.size; i++) steep[i] = steep[i]! * 40;
    await engine.setParameters(steep);
    const grammar = sequenceGrammar([[3], [7], [11]], 0);
    const requests = Array.from({ length: 12 }, (_, i) => request(i, { grammar }));
    const results = await engine.sample(requests);
    const expected = await engine.logProbs(asSequences(requests, results));
    await engine.setParameters(parameters());
    const least = Math.min(...expected.flatMap((row) => [...row]));
    expect(least, "a probability that float32 does not have").toBeLessThan(-110);
    results.forEach(({ logProbs }, i) => {
      logProbs.forEach((p, t) => {
        expect(Math.abs(p - expected[i]![t]!)).toBeLessThan(1e-2);
      });
    });
  });

  it("refuses a request that exceeds the model's positions, and an empty prompt", async () => {
    await expect(engine.sample([request(1, { maxNewTokens: 1000 })])).rejects.toThrow(/128 positions/);
    await expect(engine.sample([request(1, { prompt: new Int32Array(0) })])).rejects.toThrow(/empty prompt/);
    await expect(engine.sample([request(1, { prompt: Int32Array.of(1, 40) })])).rejects.toThrow(/prompt token 40/);
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

  it("a nucleus is the one that a full sort gives, whatever the distribution", () => {
    const nucleus = (p: Float32Array, topP: number): Set<number> => {
      const order = [...p.keys()].sort((a, b) => p[b]! - p[a]! || a - b);
      const kept = new Set<number>();
      for (let mass = 0; mass < topP && kept.size < p.length; ) {
        const token = order[kept.size]!;
        kept.add(token);
        mass += p[token]!;
      }
      return kept;
    };
    fc.assert(
      fc.property(distribution, fc.double({ min: 0.05, max: 0.95, noNaN: true }), (p, topP) => {
        const kept = nucleus(p, topP);
        const drawn = new Set(Array.from({ length: 500 }, (_, i) => pickNucleus(p, 0, p.length, topP, i / 500)));
        for (const token of drawn) expect(kept).toContain(token);
        // Whoever has a chance of more than one in 500 must have been drawn.
        for (const token of kept) if (p[token]! > 1 / 400) expect(drawn).toContain(token);
      }),
      { numRuns: 100 },
    );
  });

  it("a nucleus never yields a token outside of the smallest set that reaches its mass", () => {
    const p = Float32Array.of(0.5, 0.3, 0.15, 0.05);
    const drawn = new Set(Array.from({ length: 200 }, (_, i) => pickNucleus(p, 0, 4, 0.8, i / 200)));
    expect([...drawn].sort()).toEqual([0, 1]);
  });
});
