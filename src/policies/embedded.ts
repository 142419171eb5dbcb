/**
 * The embedded miniature as a policy: text in, text out, over one engine that the trainer shares. Speaks the compact rendering.
 * Parameters are handed to the engine before each batch, because another policy (the frozen base, the trainer) may have used it since.
 */
import { type CompleteOptions, type Completion, type CompletionRequest, InterruptedError, type Policy } from "../core/index.js";
import { type Engine, type Grammar, sequenceGrammar, type Tokenizer } from "../nn/index.js";

/** Requests per engine call: enough to fill every worker, few enough that progress moves and an interrupt is heard. */
const CHUNK = 512;

export class EmbeddedPolicy implements Policy {
  readonly rendering = "compact";

  constructor(
    readonly name: string,
    private readonly engine: Engine,
    private readonly tokenizer: Tokenizer,
    private readonly parameters: Float32Array,
    readonly settings: Readonly<Record<string, unknown>> = {},
  ) {}

  async complete(requests: readonly CompletionRequest[], options: CompleteOptions = {}): Promise<Completion[]> {
    await this.engine.setParameters(this.parameters);
    const completions: Completion[] = [];
    for (let i = 0; i < requests.length; i += CHUNK) {
      if (options.signal?.aborted) throw new InterruptedError({ message: "interrupted while sampling" });
      const chunk = requests.slice(i, i + CHUNK);
      const results = await this.engine.sample(
        chunk.map((r) => ({
          prompt: this.tokenizer.encode(r.prompt),
          seed: r.seed,
          index: r.index,
          maxNewTokens: r.maxTokens,
          temperature: r.temperature,
          stopTokens: [this.tokenizer.eosId],
          ...(r.topP === undefined ? {} : { topP: r.topP }),
          ...(r.words === undefined ? {} : { grammar: this.grammar(r.words) }),
        })),
      );
      for (const r of results) {
        const { tokens, finishReason } = r;
        const completion = { text: this.tokenizer.decode(tokens, { skipSpecial: true }), tokens: tokens.length, finishReason };
        options.onResult?.(completions.length, completion);
        completions.push(completion);
      }
      options.onProgress?.(completions.length);
    }
    return completions;
  }

  room(prompt: string): number {
    return this.engine.config.max_position_embeddings - this.tokenizer.encode(prompt).length;
  }

  /** The caller owns the engine. */
  async close(): Promise<void> {}

  private grammar(words: readonly (readonly string[])[]): Grammar {
    return sequenceGrammar(
      words.map((allowed) => allowed.map((word) => this.tokenizer.wordId(word))),
      this.tokenizer.eosId,
    );
  }
}
