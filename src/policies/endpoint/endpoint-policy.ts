/**
 * A language model behind an OpenAI-compatible endpoint as a policy. Every request gets exactly one result, in order: an answer, or a
 * failure with its boundary after the retries that are allowed. No more requests are under way than the concurrency; a 429 holds all of
 * them back. Requests that differ in their sample alone go out as one with `n`, where the endpoint takes it.
 */
import { setMaxListeners } from "node:events";
import { setTimeout as sleepFor } from "node:timers/promises";
import type { JSONValue } from "ai";
import {
  type CompleteOptions,
  type Completion,
  type CompletionFailure,
  type CompletionRequest,
  InterruptedError,
  type Policy,
  type Random,
  type Rendering,
  Seed,
} from "../../core/index.js";
import { type ChatResponse, outcomeOf, sharesOf, usageOf } from "./answer.js";
import { Budget } from "./budget.js";
import { type AttemptRecord, type CallDetail, type CallRecorder, callRecord } from "./call-record.js";
import { type EndpointOptions, endpointName, endpointSettings } from "./options.js";
import { isFatal, mayRefuseField, mayRefuseSchema, refusedField } from "./refusals.js";
import { Retries } from "./retry.js";
import { type ChatCall, Transport } from "./transport.js";

export interface EndpointSurroundings {
  key: string | undefined;
  /** Jitters the waits between attempts. */
  random: Random;
  recorder?: CallRecorder;
  /** Told once of every field that the endpoint turned out not to take. */
  note?: (text: string) => void;
  fetch?: typeof fetch;
  /** Milliseconds since 1970. */
  now?: () => number;
  sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

type Result = Completion | CompletionFailure;

/** Requests that differ in their sample alone. */
interface Group {
  requests: readonly CompletionRequest[];
  indices: readonly number[];
}

interface Open {
  index: number;
  request: CompletionRequest;
}

export class EndpointPolicy implements Policy {
  readonly name: string;
  readonly rendering: Rendering;
  readonly settings: Readonly<Record<string, unknown>>;
  /** What has been spent so far. */
  readonly budget: Budget;
  private readonly transport: Transport;
  private readonly retries: Retries;
  private readonly now: () => number;
  private readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** What the endpoint takes, as far as it is known: a policy is one model behind one endpoint. */
  private takesSchema: boolean;
  private takesN: boolean;
  /** No request goes out before this time: the endpoint asked for it. */
  private heldUntil = 0;
  private fatal: string | undefined;

  constructor(
    private readonly options: EndpointOptions,
    private readonly surroundings: EndpointSurroundings,
  ) {
    const { preset, omit, endpoint, model, baseUrl, timeout, max_response } = options;
    this.name = endpointName(options);
    this.rendering = options.rendering;
    this.settings = endpointSettings(options);
    this.now = surroundings.now ?? Date.now;
    this.sleep = surroundings.sleep ?? quietSleep;
    this.budget = new Budget(options.budget);
    this.retries = new Retries(options.retries, surroundings.random);
    this.takesSchema = preset.jsonSchema && !omit.includes("response_format");
    this.takesN = preset.choices > 1 && !omit.includes("n");
    this.transport = new Transport({
      name: endpoint,
      baseUrl,
      model,
      key: surroundings.key,
      timeout: timeout * 1000,
      maxResponse: max_response,
      now: this.now,
      ...(surroundings.fetch === undefined ? {} : { fetch: surroundings.fetch }),
    });
  }

  /** @throws {InterruptedError} when the signal is aborted; what has been answered until then went to `onResult`. */
  async complete(requests: readonly CompletionRequest[], options: CompleteOptions = {}): Promise<Result[]> {
    const results = new Array<Result>(requests.length);
    const groups = this.grouped(requests);
    // Ends with the caller's signal, or when something is thrown: then nothing more is asked, and nothing is told after the rejection.
    const ending = new AbortController();
    const signal = options.signal === undefined ? ending.signal : AbortSignal.any([options.signal, ending.signal]);
    // Every attempt that is under way listens: no leak, however many there are.
    setMaxListeners(0, signal);
    const thrown: unknown[] = [];
    let next = 0;
    let done = 0;
    const settle = (index: number, result: Result, detail: CallDetail): void => {
      results[index] = result;
      this.surroundings.recorder?.record(callRecord(this.name, requests[index]!, result, detail));
      options.onResult?.(index, result);
      // On its own line: an optional call evaluates no arguments where nobody listens.
      done++;
      options.onProgress?.(done);
    };
    const lane = async (): Promise<void> => {
      for (let group = groups[next++]; group !== undefined; group = groups[next++]) {
        try {
          await this.answer(group, settle, signal);
        } catch (error) {
          thrown.push(error);
          ending.abort();
        }
        if (signal.aborted) return;
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.options.concurrency, groups.length) }, lane));
    if (thrown.length > 0) throw thrown[0];
    if (options.signal?.aborted) throw new InterruptedError({ message: `interrupted after ${done} of ${requests.length} answers` });
    return results;
  }

  async close(): Promise<void> {}

  /** Neighbours with one prompt and one sampling go out together, as many as the endpoint takes. */
  private grouped(requests: readonly CompletionRequest[]): Group[] {
    const groups: { requests: CompletionRequest[]; indices: number[] }[] = [];
    requests.forEach((request, index) => {
      const last = groups.at(-1);
      const hasRoom = last !== undefined && last.requests.length < this.options.preset.choices;
      if (this.takesN && hasRoom && isSameQuestion(last.requests[0]!, request)) {
        last.requests.push(request);
        last.indices.push(index);
      } else groups.push({ requests: [request], indices: [index] });
    });
    return groups;
  }

  /** Asks until every request of the group has its result. Leaves without one only when interrupted. */
  private async answer(
    group: Group,
    settle: (index: number, result: Result, detail: CallDetail) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const begun = this.now();
    const attempts: AttemptRecord[] = [];
    let open: Open[] = group.indices.map((index, i) => ({ index, request: group.requests[i]! }));
    let problems = 0;
    // A refusal is taken for one of the field only when the same request without it succeeds.
    let refusedSchema: string | undefined;
    let refusedN: string | undefined;
    const fail = (boundary: string, message: string): void => {
      for (const { index } of open) settle(index, { failure: { boundary, message, attempts: attempts.length } }, { attempts });
    };
    while (open.length > 0) {
      await this.untilReleased(signal);
      if (signal?.aborted) return;
      if (this.fatal !== undefined) return fail("endpoint", this.fatal);
      const spent = this.budget.exhausted();
      if (spent !== undefined) return fail("budget", spent);

      const count = this.takesN && refusedN === undefined ? open.length : 1;
      const asked = open.slice(0, count);
      const first = asked[0]!.request;
      const withSchema = first.jsonSchema !== undefined && this.takesSchema && refusedSchema === undefined;
      const started = this.now();
      const outcome = await this.transport.attempt(this.call(first, count, withSchema), signal);
      const attempt: AttemptRecord = { ms: this.now() - started };
      attempts.push(attempt);
      if (outcome.kind === "interrupted") return;
      if (outcome.status !== undefined) attempt.status = outcome.status;

      if (outcome.kind === "answered") {
        if (refusedSchema !== undefined) this.giveUpSchema(refusedSchema);
        if (refusedN !== undefined) this.giveUpN(refusedN);
        const { settled, again, problem, missing } = this.read(outcome.response, asked, attempts.length);
        if (missing !== undefined) attempt.problem = missing;
        const { id, model } = outcome.response;
        const response = { ...(id == null ? {} : { id }), ...(model == null ? {} : { model }) };
        if (problem !== undefined) attempt.problem = problem;
        for (const { index, result } of settled) {
          settle(index, "failure" in result ? result : { ...result, latencyMs: this.now() - begun }, { attempts, response });
        }
        open = [...again, ...open.slice(count)];
        if (problem === undefined || open.length === 0) continue;
        const end = await this.wait(++problems, undefined, attempt, signal);
        if (end !== undefined) return fail("endpoint", `${problem}; ${end}`);
        continue;
      }

      attempt.problem = outcome.message;
      if (withSchema && mayRefuseSchema(outcome)) {
        refusedSchema = outcome.message;
        continue;
      }
      if (count > 1 && mayRefuseField(outcome)) {
        refusedN = outcome.message;
        continue;
      }
      const field = refusedField(outcome);
      if (field !== undefined) outcome.message += `; "omit: [${field}]" in a policy file leaves it out`;
      if (field !== undefined || isFatal(outcome)) this.fatal = outcome.message;
      if (!outcome.isRetryable) return fail("endpoint", outcome.message);
      if (outcome.retryAfter !== undefined && outcome.retryAfter <= this.options.retries.longest_wait * 1000) {
        this.heldUntil = Math.max(this.heldUntil, this.now() + outcome.retryAfter);
      }
      const end = await this.wait(++problems, outcome.retryAfter, attempt, signal);
      if (end !== undefined) return fail("endpoint", `${outcome.message}; ${end}`);
    }
  }

  /** Choices → results. A choice too many is dropped; what has none is asked for again, one by one. */
  private read(
    response: ChatResponse,
    asked: readonly Open[],
    attempts: number,
  ): { settled: { index: number; result: Result }[]; again: Open[]; problem: string | undefined; missing: string | undefined } {
    const usage = usageOf(response, asked[0]!.request.prompt);
    this.budget.spend(usage);
    const choices = response.choices.slice(0, asked.length);
    const missing = choices.length < asked.length ? `${choices.length} of ${asked.length} choices came` : undefined;
    if (missing !== undefined && choices.length > 0) this.giveUpN(missing);
    const shares = sharesOf(usage, choices);
    const settled: { index: number; result: Result }[] = [];
    const again: Open[] = asked.slice(choices.length);
    let problem = choices.length === 0 ? "the response has no choices" : undefined;
    choices.forEach((choice, i) => {
      const one = asked[i]!;
      const outcome = outcomeOf(choice, shares[i]!, this.maxTokens(one.request));
      if ("completion" in outcome) {
        this.retries.answered();
        settled.push({ index: one.index, result: outcome.completion });
        return;
      }
      problem = outcome.problem;
      if (outcome.isFinal) settled.push({ index: one.index, result: { failure: { boundary: "endpoint", message: problem, attempts } } });
      else again.push(one);
    });
    return { settled, again, problem, missing };
  }

  private giveUpN(reason: string): void {
    if (this.takesN) this.surroundings.note?.(`${this.name} does not take n (${reason}): samples are asked for one by one`);
    this.takesN = false;
  }

  private giveUpSchema(reason: string): void {
    if (this.takesSchema)
      this.surroundings.note?.(`${this.name} does not take a JSON Schema (${reason}): answers are only validated by it`);
    this.takesSchema = false;
  }

  /** Waits before the next attempt; says why, when there is to be none. */
  private async wait(
    problems: number,
    asked: number | undefined,
    record: AttemptRecord,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    const pause = this.retries.next(problems, asked);
    if (typeof pause === "string") return pause;
    record.waited_ms = pause;
    await this.sleep(pause, signal);
    return undefined;
  }

  private async untilReleased(signal: AbortSignal | undefined): Promise<void> {
    for (let left = this.heldUntil - this.now(); left > 0 && !signal?.aborted; left = this.heldUntil - this.now()) {
      await this.sleep(left, signal);
    }
  }

  private maxTokens(request: CompletionRequest): number {
    return this.options.max_tokens ?? request.maxTokens;
  }

  private call(request: CompletionRequest, count: number, withSchema: boolean): ChatCall {
    const { options } = this;
    const topP = options.top_p ?? request.topP;
    const seed = Seed.parse(request.seed)
      .at(request.index)
      .below(2 ** 31);
    const body: Record<string, JSONValue> = {
      temperature: options.temperature ?? request.temperature,
      ...(topP === undefined ? {} : { top_p: topP }),
      ...(options.preset.seed ? { seed } : {}),
      ...(count > 1 ? { n: count } : {}),
      [options.preset.maxTokens]: this.maxTokens(request),
      ...(withSchema
        ? {
            response_format: {
              type: "json_schema",
              json_schema: { name: "answer", strict: true, schema: request.jsonSchema as JSONValue },
            },
          }
        : {}),
      ...options.extra_body,
    };
    for (const field of options.omit) delete body[field === "max_tokens" ? options.preset.maxTokens : field];
    return { system: options.system, prompt: request.prompt, body };
  }
}

function isSameQuestion(a: CompletionRequest, b: CompletionRequest): boolean {
  return (
    a.prompt === b.prompt &&
    a.maxTokens === b.maxTokens &&
    a.temperature === b.temperature &&
    a.topP === b.topP &&
    a.jsonSchema === b.jsonSchema &&
    a.words === b.words
  );
}

async function quietSleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleepFor(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}
