/**
 * Batched sampling with a KV cache. One call decodes one batch: prompts are read once each (completions of one prompt share the reading),
 * then all rows advance a token at a time; finished rows are dropped. What a row draws depends on its own seed and index; its
 * probabilities depend on the batch in the last bits only, and equal batches give equal bits.
 */
import { InputError, type Random, Seed } from "../core/index.js";
import { decodeGraph, prefillGraph } from "./decode-graph.js";
import { advance, type Grammar } from "./grammar.js";
import { floats, integers, parameterTensors, type SessionCache, Tensor } from "./graph/session.js";
import { KeyValueCache } from "./kv-cache.js";
import { graphParameters, type Qwen3Config } from "./qwen3-config.js";
import { pickAllowed, pickGreedy, pickNucleus, pickSampled, softmaxInto } from "./token-choice.js";

export interface SampleRequest {
  prompt: Int32Array;
  /** Path of a `Seed`; the completion is drawn from its stream `index`, one number a token. */
  seed: string;
  index: number;
  maxNewTokens: number;
  /** 0: the likeliest token, the lowest id of equals. */
  temperature: number;
  topP?: number;
  stopTokens: readonly number[];
  grammar?: Grammar;
}

export interface SampleResult {
  /** The stop token included. */
  tokens: Int32Array;
  /**
   * Of each token under softmax(logits / temperature) over the whole vocabulary, before nucleus or grammar: what the training graph
   * computes at inverseTemperature = 1 / temperature. Greedy: temperature 1.
   */
  logProbs: Float32Array;
  finishReason: "stop" | "length";
}

const ROUND = 16;
/** Rows that the batch is a multiple of when finished rows are dropped. */
const ROWS = 8;

interface Row {
  request: SampleRequest;
  random: Random;
  result: number;
  tokens: number[];
  logProbs: number[];
  state: number;
}

export class Sampler {
  private parameters: Record<string, Tensor> = {};

  constructor(
    private readonly config: Qwen3Config,
    private readonly sessions: SessionCache,
  ) {}

  setParameters(flat: Float32Array): void {
    this.parameters = parameterTensors(graphParameters(this.config), flat);
  }

  /** @throws {InputError} an empty prompt, or one that with its completion exceeds the model's positions. */
  async sample(requests: readonly SampleRequest[]): Promise<SampleResult[]> {
    const { max_position_embeddings: limit, vocab_size: vocabulary } = this.config;
    const results = new Array<SampleResult>(requests.length);
    const seeds = new Map<string, Seed>();
    const rows: Row[] = [];
    requests.forEach((request, result) => {
      const { prompt, maxNewTokens, seed } = request;
      if (prompt.length === 0) throw new InputError({ message: `request ${result} has an empty prompt`, expected: "at least one token" });
      if (prompt.length + maxNewTokens > limit) {
        throw new InputError({
          message: `a prompt of ${prompt.length} tokens and ${maxNewTokens} new ones exceed the model's ${limit} positions`,
          value: prompt.length + maxNewTokens,
          expected: `at most ${limit}`,
          remedy: "lower max_tokens, or use a model with more positions",
        });
      }
      if (!seeds.has(seed)) seeds.set(seed, Seed.parse(seed));
      const random = seeds.get(seed)!.at(request.index);
      rows.push({ request, random, result, tokens: [], logProbs: [], state: request.grammar?.start ?? 0 });
    });
    const finish = (row: Row, finishReason: "stop" | "length") => {
      results[row.result] = { tokens: Int32Array.from(row.tokens), logProbs: Float32Array.from(row.logProbs), finishReason };
    };

    const { cache, logits, promptOf } = await this.prefill(rows);
    let active: Row[] = [];
    const kept: number[] = [];
    const probabilities = new Float32Array(vocabulary);
    const scaled = new Float32Array(vocabulary);
    for (const [r, row] of rows.entries()) {
      if (row.request.maxNewTokens === 0) {
        finish(row, "length");
        continue;
      }
      const inverse = inverseTemperature(row.request);
      const from = promptOf[r]! * vocabulary;
      for (let i = 0; i < vocabulary; i++) scaled[i] = logits[from + i]! * inverse;
      softmaxInto(scaled, probabilities);
      const end = this.take(row, probabilities, scaled, 0);
      if (end === undefined) {
        active.push(row);
        kept.push(r);
      } else finish(row, end);
    }
    cache.keep(kept, paddedRows(kept.length));

    while (active.length > 0) {
      const step = await this.step(active, cache);
      const next: Row[] = [];
      const survivors: number[] = [];
      active.forEach((row, r) => {
        const end = this.take(row, step.probabilities, step.logits, r * vocabulary);
        if (end === undefined) {
          next.push(row);
          survivors.push(r);
        } else finish(row, end);
      });
      // Dropping moves memory: worth it when a group of rows becomes free.
      const target = paddedRows(next.length);
      if (next.length < active.length) cache.keep(survivors, target);
      active = next;
    }
    return results;
  }

  /** Draws the row's next token from the distribution at `offset`; says how the row ended, if it did. */
  private take(row: Row, probabilities: Float32Array, logits: Float32Array, offset: number): "stop" | "length" | undefined {
    const { request, random } = row;
    const { grammar, temperature, topP, stopTokens, maxNewTokens } = request;
    const size = this.config.vocab_size;
    let token: number;
    if (grammar !== undefined) {
      const allowed = Object.keys(grammar.transitions[row.state]!).map(Number);
      token = pickAllowed(logits, offset, allowed, temperature === 0 ? undefined : random.float());
    } else if (temperature === 0) token = pickGreedy(probabilities, offset, size);
    else if (topP !== undefined && topP < 1) token = pickNucleus(probabilities, offset, size, topP, random.float());
    else token = pickSampled(probabilities, offset, size, random.float());

    row.tokens.push(token);
    row.logProbs.push(Math.log(Math.max(probabilities[offset + token]!, Number.MIN_VALUE)));
    if (grammar !== undefined) {
      row.state = advance(grammar, row.state, token)!;
      if (Object.keys(grammar.transitions[row.state] ?? {}).length === 0) return "stop";
    }
    if (stopTokens.includes(token)) return "stop";
    return row.tokens.length >= maxNewTokens ? "length" : undefined;
  }

  /** Reads every distinct prompt once. Returns the cache of all rows, and which prompt's logits [P, V] each row starts from. */
  private async prefill(rows: readonly Row[]): Promise<{ cache: KeyValueCache; logits: Float32Array; promptOf: number[] }> {
    const { vocab_size: vocabulary, num_hidden_layers: layers, num_key_value_heads: kvHeads, head_dim: hd } = this.config;
    const known = new Map<string, number>();
    const prompts: Int32Array[] = [];
    const promptOf = rows.map(({ request }) => {
      const key = request.prompt.join();
      let index = known.get(key);
      if (index === undefined) {
        index = prompts.length;
        known.set(key, index);
        prompts.push(request.prompt);
      }
      return index;
    });
    const length = roundUp(Math.max(...prompts.map((p) => p.length)));
    const tokens = new Int32Array(prompts.length * length);
    const last = new Int32Array(prompts.length);
    prompts.forEach((prompt, p) => {
      tokens.set(prompt, p * length);
      last[p] = p * length + prompt.length - 1;
    });
    const session = await this.sessions.get(`prefill ${length}`, () => prefillGraph(this.config, length));
    const shape = [prompts.length, kvHeads, length, hd];
    const outputs: Record<string, Tensor> = {
      logits: floats(new Float32Array(prompts.length * vocabulary), [prompts.length, vocabulary]),
    };
    for (let l = 0; l < layers; l++) {
      for (const name of [`k${l}`, `v${l}`]) outputs[name] = floats(new Float32Array(prompts.length * kvHeads * length * hd), shape);
    }
    const feeds = { ...this.parameters, tokens: integers(tokens, [tokens.length]), rows: integers(last, [last.length]) };
    await session.run(feeds, outputs);

    const cache = new KeyValueCache(this.config, rows.length, length + ROUND);
    rows.forEach(({ request }, r) => {
      for (let l = 0; l < layers; l++) {
        const source = (name: string) => outputs[`${name}${l}`]!.data as Float32Array;
        cache.copyPrompt(r, l, source("k"), source("v"), promptOf[r]!, length, request.prompt.length);
      }
    });
    return { cache, logits: outputs.logits!.data as Float32Array, promptOf };
  }

  /** One token for each active row: reads the last token of each, writes its keys and values, gives the next distributions. */
  private async step(active: readonly Row[], cache: KeyValueCache): Promise<{ probabilities: Float32Array; logits: Float32Array }> {
    cache.makeRoom(active.length, ROUND * 2);
    const { vocab_size: vocabulary, num_hidden_layers: layers } = this.config;
    const batch = cache.rows;
    const tokens = new Int32Array(batch);
    const positions = new BigInt64Array(batch);
    const inverse = new Float32Array(batch).fill(1);
    active.forEach((row, r) => {
      tokens[r] = row.tokens.at(-1)!;
      positions[r] = BigInt(cache.length(r));
      inverse[r] = inverseTemperature(row.request);
    });
    const session = await this.sessions.get(`decode ${cache.capacity}`, () => decodeGraph(this.config, cache.capacity));
    const probabilities = new Float32Array(batch * vocabulary);
    const constrained = active.some((row) => row.request.grammar !== undefined);
    const logits = constrained ? new Float32Array(batch * vocabulary) : probabilities;
    const outputs: Record<string, Tensor> = { ...cache.outputs(), probabilities: floats(probabilities, [batch, vocabulary]) };
    if (constrained) outputs.logits = floats(logits, [batch, vocabulary]);
    const feeds = {
      ...this.parameters,
      ...cache.inputs(),
      tokens: integers(tokens, [batch]),
      positions: new Tensor("int64", positions, [batch, 1]),
      inverseTemperature: floats(inverse, [batch, 1]),
    };
    await session.run(feeds, outputs);
    for (let l = 0; l < layers; l++) cache.append(l, active.length);
    cache.advance(active.length);
    return { probabilities, logits };
  }
}

function inverseTemperature(request: SampleRequest): number {
  return request.temperature === 0 ? 1 : 1 / request.temperature;
}

function roundUp(n: number): number {
  return Math.ceil(n / ROUND) * ROUND;
}

function paddedRows(n: number): number {
  return Math.ceil(n / ROWS) * ROWS;
}
