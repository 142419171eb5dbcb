/**
 * Batched sampling with a KV cache. One call decodes one batch: each distinct prompt is read once, then all rows advance a token at a
 * time; completions of one prompt share its keys and values, and finished rows make room. What a row draws depends on its own seed and
 * index; its probabilities depend on the batch in the last bits only, and equal batches give equal bits.
 */
import { InputError, type Random, Seed } from "../core/index.js";
import { decodeGraph, MOST_ROWS, prefillGraph } from "./decode-graph.js";
import { advance, type Grammar } from "./grammar.js";
import { floats, integers, parameterTensors, type SessionCache, type Tensor } from "./graph/session.js";
import { KeyValueCache, type PromptStates } from "./kv-cache.js";
import { graphParameters, type Qwen3Config } from "./qwen3-config.js";
import { layOut, type RowLayout } from "./row-layout.js";
import { logProbAt, pickAllowed, pickGreedy, pickNucleus, pickSampled, softmaxInto } from "./token-choice.js";

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

/** Prompts are padded to a multiple of this, so that few prefill graphs are made. */
const ROUND = 16;
/** Requests of one call. A layout has up to half again as many places. */
const MOST_REQUESTS = MOST_ROWS / 2;
/** Rows are packed together again when that costs less than this share of what the present layout costs. */
const WORTH_PACKING = 0.8;

interface Row {
  request: SampleRequest;
  random: Random;
  tokens: number[];
  logProbs: number[];
  state: number;
}

/** One arrangement of the rows, ready to be run step after step. */
interface Arrangement {
  layout: RowLayout;
  feeds: Record<string, Tensor>;
  outputs: Record<string, Tensor>;
  tokens: Int32Array;
  probabilities: Float32Array;
  /** The array of probabilities itself where no grammar needs logits. */
  logits: Float32Array;
}

export class Sampler {
  private parameters: Record<string, Tensor> = {};
  private readonly cache: KeyValueCache;
  /** Where the decode graph writes, kept from batch to batch: memory that comes and goes outside of the heap sets off collections. */
  private readonly written = { probabilities: new Float32Array(0), logits: new Float32Array(0) };

  constructor(
    private readonly config: Qwen3Config,
    private readonly sessions: SessionCache,
  ) {
    this.cache = new KeyValueCache(config);
  }

  setParameters(flat: Float32Array): void {
    this.parameters = parameterTensors(graphParameters(this.config), flat);
  }

  /** @throws {InputError} too many requests; a prompt that is empty, not of this vocabulary, or with its completion too long for the model. */
  async sample(requests: readonly SampleRequest[]): Promise<SampleResult[]> {
    const rows = this.rowsOf(requests);
    const results = new Array<SampleResult>(rows.length);
    const finish = (index: number, finishReason: "stop" | "length") => {
      const { tokens, logProbs } = rows[index]!;
      results[index] = { tokens: Int32Array.from(tokens), logProbs: Float32Array.from(logProbs), finishReason };
    };
    if (rows.length === 0) return results;

    const { states, logits, promptOf } = await this.prefill(rows);
    let active = this.takeFirst(rows, logits, promptOf, finish);
    if (active.length === 0) return results;
    this.cache.start(states);
    const longest = Math.max(...states.lengths);
    const arrange = () => this.arrange(rows, layOut(active, promptOf, longest), constrained);
    const constrained = requests.some((r) => r.grammar !== undefined);
    const session = await this.sessions.get(constrained ? "decode with logits" : "decode", () => decodeGraph(this.config, constrained));
    const { vocab_size: vocabulary } = this.config;

    let now = arrange();
    while (active.length > 0) {
      if (this.cache.full) now = arrange();
      const { layout, feeds, outputs, tokens } = now;
      layout.places.forEach((index, place) => {
        // A place left by its row goes on with its last token; nobody reads what comes of it.
        if (index !== undefined) tokens[place] = rows[index]!.tokens.at(-1)!;
      });
      await session.run(feeds, outputs);
      this.cache.append();

      const left = new Set(active);
      layout.places.forEach((index, place) => {
        if (index === undefined || results[index] !== undefined) return;
        const end = this.take(rows[index]!, now.probabilities, now.logits, place * vocabulary);
        if (end === undefined) return;
        finish(index, end);
        left.delete(index);
      });
      if (left.size === active.length) continue;
      active = active.filter((index) => left.has(index));
      if (active.length > 0 && layOut(active, promptOf, longest).cost <= WORTH_PACKING * layout.cost) now = arrange();
    }
    return results;
  }

  private rowsOf(requests: readonly SampleRequest[]): Row[] {
    const { max_position_embeddings: limit } = this.config;
    if (requests.length > MOST_REQUESTS) {
      throw new InputError({
        message: `${requests.length} requests in one batch`,
        value: requests.length,
        expected: `at most ${MOST_REQUESTS}`,
      });
    }
    const seeds = new Map<string, Seed>();
    return requests.map((request, i) => {
      const { prompt, maxNewTokens, seed } = request;
      if (prompt.length === 0) throw new InputError({ message: `request ${i} has an empty prompt`, expected: "at least one token" });
      const unknown = prompt.find((token) => !(token >= 0 && token < this.config.vocab_size));
      if (unknown !== undefined) {
        throw new InputError({
          message: `request ${i} has the prompt token ${unknown}`,
          value: unknown,
          expected: `0 to ${this.config.vocab_size - 1}`,
          remedy: "encode the prompt with the tokenizer of this checkpoint",
        });
      }
      if (prompt.length + maxNewTokens > limit) {
        throw new InputError({
          message: `a prompt of ${prompt.length} tokens and ${maxNewTokens} new ones exceed the model's ${limit} positions`,
          value: prompt.length + maxNewTokens,
          expected: `at most ${limit}`,
          remedy: "lower max_tokens, or use a model with more positions",
        });
      }
      if (!seeds.has(seed)) seeds.set(seed, Seed.parse(seed));
      return { request, random: seeds.get(seed)!.at(request.index), tokens: [], logProbs: [], state: request.grammar?.start ?? 0 };
    });
  }

  /** Draws every row's first token from its prompt's logits [P, V]. Returns the rows that go on. */
  private takeFirst(
    rows: readonly Row[],
    logits: Float32Array,
    promptOf: readonly number[],
    finish: (index: number, reason: "stop" | "length") => void,
  ): number[] {
    const { vocab_size: vocabulary } = this.config;
    const probabilities = new Float32Array(vocabulary);
    const scaled = new Float32Array(vocabulary);
    const active: number[] = [];
    let known = "";
    rows.forEach((row, index) => {
      if (row.request.maxNewTokens === 0) {
        finish(index, "length");
        return;
      }
      const inverse = inverseTemperature(row.request);
      const key = `${promptOf[index]} ${inverse}`;
      if (key !== known) {
        const from = promptOf[index]! * vocabulary;
        for (let i = 0; i < vocabulary; i++) scaled[i] = logits[from + i]! * inverse;
        softmaxInto(scaled, probabilities);
        known = key;
      }
      const end = this.take(row, probabilities, scaled, 0);
      if (end === undefined) active.push(index);
      else finish(index, end);
    });
    return active;
  }

  private arrange(rows: readonly Row[], layout: RowLayout, constrained: boolean): Arrangement {
    const { inputs, outputs } = this.cache.place(layout);
    const { vocab_size: vocabulary } = this.config;
    const batch = layout.places.length;
    const requests = layout.places.map((index) => (index === undefined ? undefined : rows[index]!.request));
    const tokens = new Int32Array(batch);
    const inverse = Float32Array.from(requests, (r) => (r === undefined ? 1 : inverseTemperature(r)));
    const output = (name: "probabilities" | "logits") => {
      const size = batch * vocabulary;
      if (this.written[name].length < size) this.written[name] = new Float32Array(size);
      const part = this.written[name].subarray(0, size);
      outputs[name] = floats(part, [batch, vocabulary]);
      return part;
    };
    const probabilities = output("probabilities");
    const logits = constrained ? output("logits") : probabilities;
    const feeds = {
      ...this.parameters,
      ...inputs,
      tokens: integers(tokens, [batch]),
      inverseTemperature: floats(inverse, [batch, 1]),
    };
    return { layout, feeds, outputs, tokens, probabilities, logits };
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
    // A grammar can force a token whose probability is nothing in float32; its logarithm still is a number.
    row.logProbs.push(
      grammar === undefined ? Math.log(Math.max(probabilities[offset + token]!, Number.MIN_VALUE)) : logProbAt(logits, offset, size, token),
    );
    if (grammar !== undefined) {
      row.state = advance(grammar, row.state, token)!;
      if (Object.keys(grammar.transitions[row.state] ?? {}).length === 0) return "stop";
    }
    if (stopTokens.includes(token)) return "stop";
    return row.tokens.length >= maxNewTokens ? "length" : undefined;
  }

  /** Reads every distinct prompt once. `promptOf` tells which prompt each row has, and thus which logits [P, V] it starts from. */
  private async prefill(rows: readonly Row[]): Promise<{ states: PromptStates; logits: Float32Array; promptOf: number[] }> {
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
    const lengths = prompts.map((p) => p.length);
    const padded = Math.ceil(Math.max(...lengths) / ROUND) * ROUND;
    const tokens = new Int32Array(prompts.length * padded);
    const last = new Int32Array(prompts.length);
    prompts.forEach((prompt, p) => {
      tokens.set(prompt, p * padded);
      last[p] = p * padded + prompt.length - 1;
    });
    const session = await this.sessions.get(`prefill ${padded}`, () => prefillGraph(this.config, padded));
    const feeds = { ...this.parameters, tokens: integers(tokens, [tokens.length]), rows: integers(last, [last.length]) };
    const outputs = await session.run(feeds);
    const numbers = (name: string) => outputs[name]!.data as Float32Array;
    const ofLayers = (name: string) => Array.from({ length: this.config.num_hidden_layers }, (_, l) => numbers(`${name}${l}`));
    return { states: { keys: ofLayers("k"), values: ofLayers("v"), padded, lengths }, logits: numbers("logits"), promptOf };
  }
}

function inverseTemperature(request: SampleRequest): number {
  return request.temperature === 0 ? 1 : 1 / request.temperature;
}
