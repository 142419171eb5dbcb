/**
 * The part of node-llama-cpp that is used here, and where it is found. It is an optional peer: 83 MB of native code that only those who
 * evaluate GGUF files need. It is looked for beside this package, then in the folder that the command runs in. Nothing is built or
 * downloaded.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError } from "../../core/index.js";

export const NODE_LLAMA_CPP_VERSION = "3.21.1";

export interface LlamaSequence {
  readonly tokenMeter: { readonly usedInputTokens: number; readonly usedOutputTokens: number };
  clearHistory(): Promise<void>;
}

export interface LlamaContext {
  readonly contextSize: number;
  getSequence(): LlamaSequence;
  dispose(): Promise<void>;
}

export interface LlamaModel {
  readonly trainContextSize: number;
  tokenize(text: string): readonly number[];
  createContext(options: { contextSize: number | { max: number } }): Promise<LlamaContext>;
  dispose(): Promise<void>;
}

/** A grammar is handed back as it was given. */
export type LlamaGrammar = object;

export interface Llama {
  loadModel(options: { modelPath: string }): Promise<LlamaModel>;
  createGrammarForJsonSchema(schema: Record<string, unknown>): Promise<LlamaGrammar>;
  dispose(): Promise<void>;
}

export interface LlamaAnswer {
  /** Text, and segments such as thoughts. */
  response: readonly (string | { type: string; segmentType?: string; text?: string })[];
  responseText: string;
  stopReason: string;
}

export interface LlamaChatSession {
  promptWithMeta(prompt: string, options: Record<string, unknown>): Promise<LlamaAnswer>;
  dispose(): void;
}

export interface NodeLlamaCpp {
  getLlama(options: { gpu: "auto" | false; build: "never"; logLevel: string; maxThreads?: number }): Promise<Llama>;
  LlamaChatSession: new (options: { contextSequence: LlamaSequence; systemPrompt?: string }) => LlamaChatSession;
}

const PACKAGE: string = "node-llama-cpp";
const INSTALL = `npm install --save-exact --omit=optional ${PACKAGE}@${NODE_LLAMA_CPP_VERSION} @node-llama-cpp/${process.platform === "darwin" ? "mac" : process.platform === "win32" ? "win" : "linux"}-${process.arch}@${NODE_LLAMA_CPP_VERSION}`;

/** @throws {ConfigError} saying how to install it, when it is absent. */
export async function loadNodeLlamaCpp(folder = process.cwd()): Promise<NodeLlamaCpp> {
  try {
    return (await import(PACKAGE)) as NodeLlamaCpp;
  } catch (cause) {
    const path = join(folder, "node_modules", PACKAGE, "dist", "index.js");
    if (existsSync(path)) return (await import(pathToFileURL(path).href)) as NodeLlamaCpp;
    throw new ConfigError({
      message: `GGUF files need the package ${PACKAGE}, which is not installed`,
      expected: `${PACKAGE} ${NODE_LLAMA_CPP_VERSION} beside envwright or in ${folder}`,
      remedy: INSTALL,
      cause,
    });
  }
}
