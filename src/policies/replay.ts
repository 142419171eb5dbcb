/**
 * A policy that answers from the recorded calls of an earlier one, without it. A request that was never recorded is a failure, not an
 * answer, and says in which setting it differs from what was recorded.
 */
import { createHash } from "node:crypto";
import {
  type CompleteOptions,
  type Completion,
  type CompletionFailure,
  type CompletionRequest,
  canonicalJson,
  InterruptedError,
  type Policy,
  type Rendering,
} from "../core/index.js";
import { type CallRecord, requestKey, requestOf } from "./endpoint/call-record.js";

/** Recorded calls, wherever they lie. */
export interface RecordedCalls {
  /** The answer to this request, else its last failure; undefined where it was never recorded. */
  result(key: string): Completion | CompletionFailure | undefined;
  /** What the requests asked with. */
  readonly asked: AskedValues;
  close(): void;
}

type Asked = CallRecord["request"];
/** What a request is answered by beside its prompt, with the option of `envwright eval` that sets it. */
const FIELDS = {
  max_tokens: (value: string) => `--max-tokens ${value}`,
  temperature: (value: string) => `--temperature ${value}`,
  top_p: (value: string) => (value === "unset" ? "a policy without top_p" : `top_p: ${value} in a policy file`),
  seed: () => "the --seed that was recorded",
  index: () => "no more --samples than were recorded",
  json_schema: () => "the same engineer and family",
  words: () => "the same engineer and family",
} as const satisfies Partial<Record<keyof Asked, (value: string) => string>>;
type Field = keyof typeof FIELDS;
const NAMES = Object.keys(FIELDS) as Field[];
/** Values too long to be shown. */
const LONG: readonly Field[] = ["json_schema", "words", "seed"];

/** The values that occur in recorded requests, each once: for saying why a request is not among them. Holds no text of a prompt. */
export class AskedValues {
  private readonly prompts = new Set<string>();
  private readonly values = new Map<Field, Set<string>>(NAMES.map((name) => [name, new Set()]));

  add(request: Asked): void {
    this.prompts.add(shortHash(request.prompt));
    for (const name of NAMES) this.values.get(name)!.add(written(request[name]));
  }

  /** Why no record answers this request, and what would. */
  difference(request: Asked): string {
    if (this.prompts.size === 0) return "there is no recorded call";
    if (!this.prompts.has(shortHash(request.prompt))) {
      return "its prompt was never asked; evaluate the set, in the rendering, that was recorded";
    }
    const differing = NAMES.filter((name) => !this.values.get(name)!.has(written(request[name])));
    if (differing.length === 0) return "its prompt was asked with other settings or another sample of the seed";
    const told = differing.map((name) => {
      const recorded = [...this.values.get(name)!];
      if (LONG.includes(name)) return `${name} differs from what was recorded`;
      return `${name} is ${written(request[name])} and was ${recorded.slice(0, 3).join(" or ")}`;
    });
    const remedies = new Set(differing.map((name) => FIELDS[name]([...this.values.get(name)!][0]!)));
    return `${told.join(", ")}; ask with ${[...remedies].join(" and ")}`;
  }
}

export class ReplayPolicy implements Policy {
  readonly settings: Readonly<Record<string, unknown>>;

  /** @param settings of the policy that was recorded, where they were kept: they win over a request's, as they did then. */
  constructor(
    readonly name: string,
    readonly rendering: Rendering,
    private readonly calls: RecordedCalls,
    settings: Readonly<Record<string, unknown>> = {},
  ) {
    this.settings = replaySettings(name, settings);
  }

  async complete(requests: readonly CompletionRequest[], options: CompleteOptions = {}): Promise<(Completion | CompletionFailure)[]> {
    if (options.signal?.aborted) throw new InterruptedError({ message: "interrupted while replaying" });
    return requests.map((request, i) => {
      const result = this.calls.result(requestKey(request)) ?? this.missing(request);
      options.onResult?.(i, result);
      options.onProgress?.(i + 1);
      return result;
    });
  }

  async close(): Promise<void> {
    this.calls.close();
  }

  private missing(request: CompletionRequest): CompletionFailure {
    const message = `this request is not among the recorded calls: ${this.calls.asked.difference(requestOf(request))}`;
    return { failure: { boundary: "replay", message, attempts: 0 } };
  }
}

/** Who was recorded, and with what: another recording in the same place is another policy, more calls of the same are not. */
export function replaySettings(name: string, settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { ...settings, replay_of: name };
}

const written = (value: unknown): string =>
  value === undefined ? "unset" : typeof value === "object" ? shortHash(canonicalJson(value)) : String(value);
const shortHash = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22);
