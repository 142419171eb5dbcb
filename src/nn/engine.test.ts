import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EngineError, InputError, Seed } from "../core/index.js";
import { Engine } from "./engine.js";
import { type LossSpec, planMicroBatches, sequencesPerMicroBatch, type TrainingSequence } from "./micro-batch.js";
import { initialParameters, parseQwen3Config } from "./qwen3-config.js";
import { WorkerPool } from "./worker-pool.js";

const config = parseQwen3Config({
  vocab_size: 40,
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 8,
  max_position_embeddings: 96,
});
const parameters = initialParameters(config, Seed.root("engine"));
const policy: LossSpec = { kind: "policy", clipLow: 0.2, clipHigh: 0.28, klCoefficient: 0.1, inverseTemperature: 0.9 };

/** 90 sequences of 5 to 64 tokens: several micro-batches at each of several lengths, the last of them partial. */
function sequences(seed: string): TrainingSequence[] {
  return Array.from({ length: 90 }, (_, index) => {
    const random = Seed.root(seed).at(index);
    const tokens = Int32Array.from({ length: random.between(5, 64) }, () => random.below(config.vocab_size));
    const promptLength = random.between(1, tokens.length - 1);
    const each = (f: () => number) => Float32Array.from({ length: tokens.length - promptLength }, f);
    return {
      tokens,
      promptLength,
      weights: each(() => random.float() / 100),
      advantages: each(() => random.normal()),
      oldLogProbs: each(() => -3.7 + 0.2 * random.normal()),
      referenceLogProbs: each(() => -3.7 + 0.2 * random.normal()),
    };
  });
}

describe("one worker and three", () => {
  const engines: Engine[] = [];
  beforeAll(async () => {
    for (const workers of [1, 3]) engines.push(await Engine.start({ config, workers }));
    for (const engine of engines) await engine.setParameters(parameters);
  });
  afterAll(async () => {
    for (const engine of engines) await engine.close();
  });

  test.each([{ kind: "nll" } as LossSpec, policy])("give the same bits for the $kind loss", async (loss) => {
    const [one, three] = await Promise.all(engines.map((engine) => engine.gradient(sequences("bits"), loss)));
    expect(one!.loss).toBe(three!.loss);
    expect(Buffer.from(one!.gradient.buffer).equals(Buffer.from(three!.gradient.buffer))).toBe(true);
    expect(one!.logProbs).toEqual(three!.logProbs);
    expect(one!.entropies).toEqual(three!.entropies);
    expect(one!.gradient.some((x) => x !== 0)).toBe(true);
  });

  test("give per-token results in the order of the request, whatever its order", async () => {
    const forward = sequences("order");
    const there = await engines[1]!.logProbs(forward, 0.9);
    const back = await engines[1]!.logProbs([...forward].reverse(), 0.9);
    const alone = await engines[0]!.logProbs([forward[17]!], 0.9);
    const { logProbs } = await engines[0]!.gradient(forward, policy);
    forward.forEach((sequence, i) => {
      expect(there[i]!.length).toBe(sequence.tokens.length - sequence.promptLength);
      there[i]!.forEach((x, t) => {
        expect(x).toBeCloseTo(back.at(-1 - i)![t]!, 5);
        expect(x).toBeCloseTo(logProbs[i]![t]!, 5);
      });
    });
    alone[0]!.forEach((x, t) => {
      expect(x).toBeCloseTo(there[17]![t]!, 5);
    });
  });

  test("see the parameters that were set before the call, also when calls overlap", async () => {
    const other = initialParameters(config, Seed.root("other"));
    const rows = sequences("overlap").slice(0, 8);
    const engine = engines[1]!;
    const first = engine.logProbs(rows);
    const set = engine.setParameters(other);
    const second = engine.logProbs(rows);
    const reset = engine.setParameters(parameters);
    const third = engine.logProbs(rows);
    await Promise.all([set, reset]);
    expect(await first).toEqual(await third);
    expect(await first).not.toEqual(await second);
  });

  test("leave what they were given untouched", async () => {
    const given = sequences("untouched");
    const before = parameters.slice();
    await engines[0]!.setParameters(parameters);
    await engines[0]!.gradient(given, policy);
    expect(given).toEqual(sequences("untouched"));
    expect(parameters).toEqual(before);
  });

  test("sample the same tokens, with the log-probabilities that the training graph gives them", async () => {
    const requests = sequences("sample").map((s, index) => ({
      prompt: s.tokens.slice(0, s.promptLength),
      seed: "sampling",
      index,
      maxNewTokens: 12,
      temperature: 0.8,
      stopTokens: [3],
    }));
    const [one, three] = await Promise.all(engines.map((engine) => engine.sample(requests)));
    expect(one).toEqual(three);
    const completed = one!.map((r, i) => ({
      tokens: Int32Array.from([...requests[i]!.prompt, ...r.tokens]),
      promptLength: requests[i]!.prompt.length,
      weights: new Float32Array(r.tokens.length),
    }));
    const logProbs = await engines[1]!.logProbs(completed, 1 / 0.8);
    one!.forEach((r, i) => {
      r.logProbs.forEach((x, t) => {
        expect(Math.abs(x - logProbs[i]![t]!)).toBeLessThan(2e-5);
      });
    });
  });

  test("keep the main thread free while they work", async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const rows = Array.from({ length: 10 }, (_, i) => sequences(`busy ${i}`)).flat();
    const started = performance.now();
    await engines[1]!.gradient(rows, { kind: "nll" });
    clearInterval(timer);
    expect(performance.now() - started, "the work takes long enough to tell").toBeGreaterThan(10);
    expect(turns).toBeGreaterThan(3);
  });

  test.each([
    [
      "a token outside of the vocabulary",
      { tokens: Int32Array.of(1, 2, 99), promptLength: 1, weights: new Float32Array(2) },
      /sequence 1: token 99/,
    ],
    ["an empty prompt", { tokens: Int32Array.of(1, 2), promptLength: 0, weights: new Float32Array(2) }, /sequence 1: promptLength 0/],
    [
      "too many weights",
      { tokens: Int32Array.of(1, 2, 3), promptLength: 2, weights: new Float32Array(2) },
      /sequence 1: weights has 2 values/,
    ],
    ["too many tokens", { tokens: new Int32Array(97), promptLength: 96, weights: new Float32Array(1) }, /sequence 1: 97 tokens/],
  ])("refuse %s, naming the sequence", async (_, bad, message) => {
    const refused = engines[0]!.gradient([sequences("good")[0]!, bad], { kind: "nll" });
    await expect(refused).rejects.toThrow(InputError);
    await expect(refused).rejects.toThrow(message);
  });

  test("refuse the policy loss without old log-probabilities, and a KL term without a reference", async () => {
    const { oldLogProbs: _, ...noOld } = sequences("old")[0]!;
    await expect(engines[0]!.gradient([noOld], policy)).rejects.toThrow(/oldLogProbs/);
    const { referenceLogProbs: __, ...noReference } = sequences("old")[0]!;
    await expect(engines[0]!.gradient([noReference], policy)).rejects.toThrow(/referenceLogProbs/);
    const free = await engines[0]!.gradient([noReference], { ...policy, klCoefficient: 0 });
    expect(Number.isFinite(free.loss)).toBe(true);
  });
});

test("Micro-batches are cut by length alone: every sequence once, none longer than its padding, full but for the last.", () => {
  const lengths = Array.from({ length: 500 }, (_, i) => Seed.root("plan").at(i).between(2, 350));
  const plan = planMicroBatches(lengths);
  expect(plan.flatMap((p) => p.members).sort((a, b) => a - b)).toEqual(lengths.map((_, i) => i));
  plan.forEach(({ length, members }, b) => {
    expect(Math.max(...members.map((m) => lengths[m]!))).toBeLessThanOrEqual(length);
    if (b < plan.length - 1) expect(members.length).toBe(sequencesPerMicroBatch(length));
    expect(length * members.length).toBeLessThanOrEqual(1024);
  });
  expect([16, 32, 48, 64, 192, 352, 2048].map(sequencesPerMicroBatch)).toEqual([64, 32, 16, 16, 4, 2, 1]);
});

describe("failures", () => {
  test("An engine without parameters says so.", async () => {
    const engine = await Engine.start({ config, workers: 1 });
    await expect(engine.logProbs(sequences("none").slice(0, 1))).rejects.toThrow(/no parameters/);
    await engine.close();
  });

  test("A sampling request that cannot fit is the caller's mistake, also when a worker finds it.", async () => {
    const engine = await Engine.start({ config, workers: 1 });
    const request = { prompt: Int32Array.of(1), seed: "s", index: 0, maxNewTokens: 96, temperature: 1, stopTokens: [] };
    await expect(engine.sample([request])).rejects.toThrow(/no parameters/);
    await engine.setParameters(parameters);
    await expect(engine.sample([request])).rejects.toThrow(InputError);
    await engine.close();
  });

  test("Parameters of another model are refused.", async () => {
    const engine = await Engine.start({ config, workers: 1 });
    await expect(engine.setParameters(new Float32Array(3))).rejects.toThrow(InputError);
    await engine.close();
  });

  test("Closing at any moment rejects what is still running, and what is asked later, and leaves the process alive.", async () => {
    for (const delay of [3, 30]) {
      const engine = await Engine.start({ config, workers: 2 });
      await engine.setParameters(parameters);
      const rows = Array.from({ length: 10 }, () => sequences("closing")).flat();
      const outcome = expect(engine.gradient(rows, policy)).rejects.toThrow(EngineError);
      await new Promise((resolve) => setTimeout(resolve, delay));
      await engine.close();
      await outcome;
      await expect(engine.logProbs(sequences("later"))).rejects.toThrow(/closed/);
    }
  });

  test("A worker that dies rejects what waits for it instead of hanging.", async () => {
    const pool = new WorkerPool(2, { config: null as never, threads: 1 });
    await expect(pool.run("sample", [])).rejects.toThrow(/engine worker died/);
    await expect(pool.run("sample", [])).rejects.toThrow(EngineError);
    await pool.close();
  });

  test("A process ends by itself after close.", async () => {
    const script = `
      import { Engine, initialParameters } from ${JSON.stringify(new URL("./index.ts", import.meta.url).href)};
      import { Seed } from ${JSON.stringify(new URL("../core/index.ts", import.meta.url).href)};
      const config = ${JSON.stringify(config)};
      const engine = await Engine.start({ config, workers: 2 });
      await engine.setParameters(initialParameters(config, Seed.root("engine")));
      const [row] = await engine.logProbs([{ tokens: Int32Array.of(1, 2, 3), promptLength: 1, weights: new Float32Array(2) }]);
      console.log(row.length);
      await engine.close();`;
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
      cwd: root,
      timeout: 15_000,
    });
    expect(stdout.trim()).toBe("2");
  });
});
