/**
 * One attempt of one chat request, through the AI SDK's OpenAI-compatible provider; never retries, never throws but when it is interrupted.
 * The key is set in one header here and is known nowhere else; a response that quotes it is cleaned before anybody reads it. Attempts
 * and bodies are bounded in time and size.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { JSONValue } from "ai";
import { shorten } from "../../core/index.js";
import { type ChatResponse, chatResponseSchema } from "./answer.js";
import { SHORTEST_SECRET } from "./options.js";
import { retryAfter } from "./retry.js";

export interface TransportOptions {
  /** How the provider is named. */
  name: string;
  baseUrl: string;
  model: string;
  key: string | undefined;
  /** Milliseconds for one attempt. */
  timeout: number;
  /** Bytes of one response. */
  maxResponse: number;
  now: () => number;
  /** `patientFetch` unless given. */
  fetch?: typeof fetch;
}

export interface ChatCall {
  system: string | undefined;
  prompt: string;
  /** Fields of the body next to model and messages. */
  body: Record<string, JSONValue>;
}

export type AttemptOutcome =
  | { kind: "answered"; status: number; response: ChatResponse }
  | {
      kind: "failed";
      status?: number;
      message: string;
      isRetryable: boolean;
      /** Milliseconds that the endpoint asks to wait. */
      retryAfter?: number;
      /** The text of the refusal, for telling what was refused. */
      body?: string;
    }
  | { kind: "interrupted" };

/** Statuses that may pass by themselves. */
const PASSING = new Set([408, 409, 425, 429]);
/** Statuses that are about the address rather than the request. */
const NOWHERE = new Set([404, 405]);
const SHOWN = 300;

interface Exchange {
  response?: { status: number; headers: Headers; body: string };
  /** Why there is no response. */
  problem?: string;
}

export class Transport {
  private readonly keyPattern: RegExp | undefined;
  /** Of the attempt that a fetch belongs to: the model is shared by all that are under way. */
  private readonly exchanges = new AsyncLocalStorage<Exchange>();
  private client: ReturnType<Transport["openClient"]> | undefined;

  constructor(private readonly options: TransportOptions) {
    const { key } = options;
    // A stand-in for a key, hidden, would tear words and coordinates out of answers.
    this.keyPattern = key === undefined || key.length < SHORTEST_SECRET ? undefined : spellingsOf(key);
  }

  async attempt(call: ChatCall, signal: AbortSignal | undefined): Promise<AttemptOutcome> {
    const { name, timeout } = this.options;
    this.client ??= this.openClient();
    const { generateText, chatModel } = await this.client;
    const exchange: Exchange = {};
    const attempt = new AbortController();
    const onAbort = () => attempt.abort();
    signal?.addEventListener("abort", onAbort, { once: true });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      attempt.abort();
    }, timeout);
    try {
      if (signal?.aborted) return { kind: "interrupted" };
      const text = {
        model: chatModel,
        ...(call.system === undefined ? {} : { system: call.system }),
        prompt: call.prompt,
        maxRetries: 0,
        abortSignal: attempt.signal,
        providerOptions: { [name]: call.body },
      };
      await this.exchanges.run(exchange, () => generateText(text));
    } catch (error) {
      // What the provider makes of a response is told below from the response itself; here only that there was none.
      if (exchange.response === undefined) exchange.problem = this.redact(reasonOf(error));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
    if (exchange.response !== undefined) return this.read(exchange.response);
    if (signal?.aborted) return { kind: "interrupted" };
    if (isLate) return { kind: "failed", message: `no answer within ${timeout / 1000} s`, isRetryable: true };
    return { kind: "failed", message: exchange.problem ?? "no response", isRetryable: true };
  }

  /** With the first request: whoever asks no endpoint does not wait for the SDK. One model for all requests: to make one costs a millisecond. */
  private async openClient() {
    const [{ generateText }, { createOpenAICompatible }, { patientFetch }] = await Promise.all([
      import("ai"),
      import("@ai-sdk/openai-compatible"),
      import("./patient-fetch.js"),
    ]);
    const ask = this.options.fetch ?? patientFetch;
    const { name, baseUrl, model, key, maxResponse } = this.options;
    const provider = createOpenAICompatible({
      name,
      baseURL: baseUrl,
      ...(key === undefined ? {} : { apiKey: key }),
      fetch: async (url, init) => {
        const response = await ask(url, init);
        const body = this.redact(await boundedText(response, maxResponse));
        const exchange = this.exchanges.getStore();
        if (exchange !== undefined) exchange.response = { status: response.status, headers: response.headers, body };
        return new Response(body, { status: response.status, headers: { "content-type": "application/json" } });
      },
    });
    return { generateText, chatModel: provider.chatModel(model) };
  }

  private read({ status, headers, body }: { status: number; headers: Headers; body: string }): AttemptOutcome {
    if (status < 200 || status > 299) {
      const asked = retryAfter(headers, this.options.now());
      return {
        kind: "failed",
        status,
        message: NOWHERE.has(status)
          ? `HTTP ${status} from ${this.asked()}: ${shorten(messageIn(body), SHOWN)}${this.missingVersion()}`
          : `HTTP ${status}: ${shorten(messageIn(body), SHOWN)}`,
        isRetryable: status >= 500 || PASSING.has(status),
        ...(asked === undefined ? {} : { retryAfter: asked }),
        body,
      };
    }
    const value = parsed(body);
    if (value === undefined) {
      const message = `the response of ${this.asked()} is not JSON: ${shorten(body, 80)}${this.missingVersion()}`;
      return { kind: "failed", status, message, isRetryable: true };
    }
    const response = chatResponseSchema.safeParse(value);
    if (response.success) return { kind: "answered", status, response: response.data };
    const hasError = typeof value === "object" && value !== null && "error" in value;
    const message = hasError
      ? shorten(messageIn(body), SHOWN)
      : `the response of ${this.asked()} is not a chat completion${this.missingVersion()}`;
    return { kind: "failed", status, message, isRetryable: true };
  }

  /** Where a chat request goes. */
  private asked(): string {
    return this.redact(`${this.options.baseUrl}/chat/completions`);
  }

  /** A hint where the base URL is most likely short of its last part. */
  private missingVersion(): string {
    const { baseUrl } = this.options;
    return /\/v\d/.test(new URL(baseUrl).pathname) ? "" : this.redact(`; the base URL has no /v1, which may be missing: ${baseUrl}/v1`);
  }

  private redact(text: string): string {
    return this.keyPattern === undefined ? text : text.replace(this.keyPattern, "[key]");
  }
}

/**
 * The key in any spelling: as it is, or escaped as JSON does it, also inside of JSON inside of JSON. A character may be a backslash and itself,
 * or a code such as \\u002f; with each level of JSON the backslashes double.
 */
function spellingsOf(key: string): RegExp {
  const character = (c: string): string => {
    const code = c.charCodeAt(0).toString(16).padStart(4, "0");
    return `(?:\\\\{0,16}(?:${c.replace(/[^\w]/g, "\\$&")}|u${code}|u${code.toUpperCase()}))`;
  };
  return new RegExp([...key].map(character).join(""), "g");
}

async function boundedText(response: Response, most: number): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream, and with it the connection.
    if (size > most) throw new Error(`the response is larger than ${most} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function messageIn(body: string): string {
  const whole = parsed(body);
  // Google's layer puts its error into a list.
  const value = (Array.isArray(whole) ? whole[0] : whole) as { error?: unknown; message?: unknown } | null | undefined;
  const error = value?.error as { message?: unknown } | string | undefined;
  const message = typeof error === "string" ? error : (error?.message ?? value?.message);
  return typeof message === "string" ? message : body.trim() === "" ? "no reason given" : body;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The innermost reason: fetch says "fetch failed" and holds the cause. */
function reasonOf(error: unknown): string {
  let at = error;
  for (let depth = 0; depth < 5 && at instanceof Error && at.cause instanceof Error; depth++) at = at.cause;
  if (!(at instanceof Error)) return String(at);
  const code = (at as NodeJS.ErrnoException).code;
  return code === undefined || at.message.includes(code) ? at.message : `${at.message} (${code})`;
}
