/**
 * A GGUF file as a policy, through llama.cpp in this process. One request after another, each in a conversation of its own with the chat
 * template that the file holds. A prompt that does not fit the context is a failure of that request: nothing is ever cut out of a prompt.
 * A JSON Schema becomes a grammar; such a grammar lets some values through that the schema does not, so the answer is validated as any other.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import {
  BoundaryError,
  type CompleteOptions,
  type Completion,
  type CompletionFailure,
  type CompletionRequest,
  InputError,
  InterruptedError,
  type Policy,
  Seed,
} from "../../core/index.js";
import { splitThinking } from "../endpoint/answer.js";
import { type CallRecorder, callRecord } from "../endpoint/call-record.js";
import {
  type Llama,
  type LlamaContext,
  type LlamaGrammar,
  type LlamaModel,
  type LlamaSequence,
  loadNodeLlamaCpp,
  type NodeLlamaCpp,
} from "./node-llama-cpp.js";

export interface GgufOptions {
  file: string;
  system?: string;
  /** Most tokens of prompt and answer together; the model's own limit, and at most 8192, unless given. */
  contextSize?: number;
  /** "auto": whatever GPU llama.cpp finds. */
  gpu?: "auto" | false;
  /** Threads of llama.cpp where no GPU is used, at most; one per core unless given. More than are idle is much slower than fewer: they wait for each other. */
  threads?: number;
  recorder?: CallRecorder;
  load?: () => Promise<NodeLlamaCpp>;
  now?: () => number;
}

/** What decides the answers: the bytes of the file, and what is put around a prompt. Threads and GPU are not settings. @throws {InputError} no such file */
export async function ggufSettings({ file, contextSize = LARGEST_CONTEXT, system }: GgufOptions): Promise<Record<string, unknown>> {
  requireFile(file);
  const digest = createHash("sha256");
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) digest.update(chunk);
  return { gguf_sha256: digest.digest("hex"), context_size: contextSize, ...(system === undefined ? {} : { system }) };
}

const LARGEST_CONTEXT = 8192;
/** Tokens that a chat template puts around a prompt, at most. */
const TEMPLATE = 64;

export class GgufPolicy implements Policy {
  readonly name: string;
  readonly rendering = "chat";
  /** The context is one: requests take turns, also those of different calls. */
  private turn: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly options: GgufOptions,
    private readonly library: NodeLlamaCpp,
    private readonly llama: Llama,
    private readonly model: LlamaModel,
    private readonly context: LlamaContext,
    private readonly sequence: LlamaSequence,
    readonly settings: Readonly<Record<string, unknown>>,
  ) {
    this.name = `gguf:${options.file}`;
  }

  /**
   * @param settings as `ggufSettings` gives them, where they are known: to hash a large file takes seconds.
   * @throws {InputError} no such file; {ConfigError} no node-llama-cpp; {BoundaryError} llama.cpp refuses the file.
   */
  static async open(options: GgufOptions, settings?: Record<string, unknown>): Promise<GgufPolicy> {
    requireFile(options.file);
    const library = await (options.load ?? loadNodeLlamaCpp)();
    const { threads } = options;
    try {
      const llama = await library.getLlama({
        gpu: options.gpu ?? "auto",
        build: "never",
        logLevel: "error",
        ...(threads === undefined ? {} : { maxThreads: threads }),
      });
      const model = await llama.loadModel({ modelPath: options.file });
      const most = Math.min(options.contextSize ?? LARGEST_CONTEXT, model.trainContextSize);
      const context = await model.createContext({ contextSize: { max: most } });
      return new GgufPolicy(options, library, llama, model, context, context.getSequence(), settings ?? (await ggufSettings(options)));
    } catch (cause) {
      throw new BoundaryError({
        message: `llama.cpp cannot open ${options.file}: ${reason(cause)}`,
        value: options.file,
        boundary: "llama.cpp",
        remedy: "check that the file is whole and that its architecture is known to this version of llama.cpp",
        cause,
      });
    }
  }

  async complete(requests: readonly CompletionRequest[], options: CompleteOptions = {}): Promise<(Completion | CompletionFailure)[]> {
    const run = this.turn.then(() => this.answerAll(requests, options));
    this.turn = run.catch(() => undefined);
    return run;
  }

  room(prompt: string): number {
    return this.context.contextSize - this.model.tokenize(prompt).length - TEMPLATE;
  }

  async close(): Promise<void> {
    await this.turn;
    await this.context.dispose();
    await this.model.dispose();
    await this.llama.dispose();
  }

  private async answerAll(requests: readonly CompletionRequest[], options: CompleteOptions): Promise<(Completion | CompletionFailure)[]> {
    const results: (Completion | CompletionFailure)[] = [];
    for (const request of requests) {
      const result = await this.answer(request, options.signal);
      this.options.recorder?.record(callRecord(this.name, request, result));
      options.onResult?.(results.length, result);
      results.push(result);
      options.onProgress?.(results.length);
    }
    return results;
  }

  private async answer(request: CompletionRequest, signal: AbortSignal | undefined): Promise<Completion | CompletionFailure> {
    const interrupted = () => new InterruptedError({ message: "interrupted while sampling" });
    if (signal?.aborted) throw interrupted();
    const room = this.room(request.prompt);
    if (room < 1) return failed("context", `the prompt does not fit the context of ${this.context.contextSize} tokens`);
    const now = this.options.now ?? Date.now;
    const begun = now();
    const { usedInputTokens, usedOutputTokens } = this.sequence.tokenMeter;
    const maxTokens = Math.min(request.maxTokens, room);
    const { system } = this.options;
    try {
      await this.sequence.clearHistory();
      const grammar = await this.grammar(request.jsonSchema);
      const session = new this.library.LlamaChatSession({
        contextSequence: this.sequence,
        ...(system === undefined ? {} : { systemPrompt: system }),
      });
      const answer = await session.promptWithMeta(request.prompt, {
        maxTokens,
        temperature: request.temperature,
        topK: 0,
        topP: request.topP ?? 1,
        seed: Seed.parse(request.seed)
          .at(request.index)
          .below(2 ** 31),
        // The library punishes repetition by default, and a plan repeats its moves.
        repeatPenalty: false,
        budgets: { thoughtTokens: Number.POSITIVE_INFINITY, commentTokens: Number.POSITIVE_INFINITY },
        ...(grammar === undefined ? {} : { grammar }),
        ...(signal === undefined ? {} : { signal }),
      });
      session.dispose();
      const tokens = this.sequence.tokenMeter.usedOutputTokens - usedOutputTokens;
      const promptTokens = this.sequence.tokenMeter.usedInputTokens - usedInputTokens;
      const split = splitThinking(answer.responseText);
      const thoughts = answer.response.flatMap((part) =>
        typeof part === "object" && part.segmentType === "thought" ? [part.text ?? ""] : [],
      );
      const reasoning = [...thoughts, split.reasoning].filter((text) => text !== "").join("\n");
      return {
        text: split.text,
        tokens,
        finishReason: answer.stopReason === "maxTokens" || split.isOpen ? "length" : "stop",
        ...(reasoning === "" ? {} : { reasoning }),
        usage: { promptTokens, completionTokens: tokens },
        latencyMs: now() - begun,
      };
    } catch (error) {
      if (signal?.aborted) throw interrupted();
      return failed("llama.cpp", reason(error));
    }
  }

  /** Undefined also for a schema that llama.cpp cannot hold a model to: the prompt asks for the same form. */
  private async grammar(schema: Record<string, unknown> | undefined): Promise<LlamaGrammar | undefined> {
    if (schema === undefined) return undefined;
    return this.llama.createGrammarForJsonSchema(schema).catch(() => undefined);
  }
}

function requireFile(file: string): void {
  if (existsSync(file)) return;
  throw new InputError({ message: `${file}: no such file`, value: file, expected: "a GGUF file", remedy: "check the path" });
}

const failed = (boundary: string, message: string): CompletionFailure => ({ failure: { boundary, message, attempts: 1 } });
const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
