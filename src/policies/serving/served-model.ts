/**
 * The checkpoints of a run behind one model server at a time. A policy of it brings the server up for its checkpoint when it is first asked,
 * and asks through an endpoint policy. A server that dies is started again within the budget and asked for what is missing: answers that
 * are there are kept, and none is made up.
 */
import { setTimeout as sleepFor } from "node:timers/promises";
import {
  type CompleteOptions,
  type Completion,
  type CompletionFailure,
  type CompletionRequest,
  InterruptedError,
  type Policy,
  type Random,
  type Rendering,
  ServingError,
  type ServingOptions,
} from "../../core/index.js";
import type { RunProcess } from "../../processes/index.js";
import { EndpointPolicy } from "../endpoint/endpoint-policy.js";
import { endpointOptions } from "../endpoint/options.js";
import { ModelServer } from "./model-server.js";
import { staysUp } from "./server-command.js";
import { updateWeights } from "./weight-update.js";

export interface ServedCheckpoint {
  /** 0 is the base, stage i's is i + 1. */
  checkpoint: number;
  /** Its folder, or the name that the server loads it by. */
  model: string;
  /** The stage it is asked in, and the file for the server's log. */
  stage: number;
  log: string;
}

export interface ServingSurroundings {
  rendering: Rendering;
  /** Jitters the waits between attempts of a request. */
  random: Random;
  onState?: (state: "starting" | "ready" | "stopped", of: ServedCheckpoint, seconds?: number) => void;
  onTrouble?: (message: string, of: ServedCheckpoint) => void;
  run?: RunProcess;
  /** Milliseconds before a server is started again, times the attempt: GPUs are given back a moment after a process has died. */
  pause?: number;
  /** Milliseconds between two looks at a server that has requests, and that one look may take: 30 s unless given. */
  lookEvery?: number;
}

type Result = Completion | CompletionFailure;

export class ServedModel {
  private running: { server: ModelServer; of: ServedCheckpoint } | undefined;

  constructor(
    private readonly options: ServingOptions,
    private readonly surroundings: ServingSurroundings,
  ) {}

  /** The policy of one checkpoint. Starts nothing; to close it stops nothing. */
  policy(name: string, of: ServedCheckpoint): Policy {
    return {
      name,
      rendering: this.surroundings.rendering,
      complete: (requests, options) => this.complete(of, requests, options),
      close: async () => undefined,
    };
  }

  /** Before a trainer trains: stops the server, unless it has GPUs of its own. */
  async release(): Promise<void> {
    if (!staysUp(this.options)) await this.close();
  }

  async close(): Promise<void> {
    const { running } = this;
    this.running = undefined;
    if (running === undefined) return;
    await running.server.stop();
    this.surroundings.onState?.("stopped", running.of);
  }

  private async complete(of: ServedCheckpoint, requests: readonly CompletionRequest[], options: CompleteOptions = {}): Promise<Result[]> {
    const results = new Array<Result | undefined>(requests.length).fill(undefined);
    let failures: ReadonlyMap<number, CompletionFailure>;
    let server: ModelServer;
    for (let attempt = 1; ; attempt++) {
      try {
        server = await this.serve(of, options.signal);
        failures = await this.ask(server, requests, results, options);
        break;
      } catch (error) {
        if (!(error instanceof ServingError) || attempt > this.options.retries) throw error;
        this.surroundings.onTrouble?.(`attempt ${attempt} of ${this.options.retries + 1}: ${error.message}`, of);
        await this.close();
        await this.wait(attempt, options.signal);
      }
    }
    for (const [index, failure] of failures) {
      results[index] = failure;
      options.onResult?.(index, failure);
    }
    this.refuseManyFailures(failures, requests.length, server.log);
    return results as Result[];
  }

  /**
   * Asks for what has no answer yet. Returns what a server that is well has failed to answer.
   * @throws {ServingError} it died on the way, or fell silent: the attempts of a request would find that out after an hour.
   */
  private async ask(
    server: ModelServer,
    requests: readonly CompletionRequest[],
    results: (Result | undefined)[],
    { signal, onResult, onProgress }: CompleteOptions,
  ): Promise<Map<number, CompletionFailure>> {
    const open = requests.flatMap((_, index) => (results[index] === undefined ? [index] : []));
    const failures = new Map<number, CompletionFailure>();
    let done = requests.length - open.length;
    const over = new AbortController();
    const silent = server.silence(() => done, this.surroundings.lookEvery ?? 30_000, over.signal);
    try {
      await this.endpoint(server).complete(
        open.map((index) => requests[index]!),
        {
          signal: AbortSignal.any([server.died, silent, ...(signal === undefined ? [] : [signal])]),
          onResult: (i, result) => {
            const index = open[i]!;
            if ("failure" in result) {
              failures.set(index, result);
              return;
            }
            results[index] = result;
            done++;
            onResult?.(index, result);
            onProgress?.(done);
          },
        },
      );
    } catch (error) {
      if (!(error instanceof InterruptedError) || signal?.aborted) throw error;
    } finally {
      over.abort();
    }
    if (done === requests.length) return failures;
    if (server.died.aborted) throw server.failure(`died with ${requests.length - done} of ${requests.length} answers missing`);
    if (silent.aborted) throw server.failure(`fell silent with ${requests.length - done} of ${requests.length} answers missing`);
    if (failures.size > 0 && !(await server.isHealthy())) {
      throw server.failure(`does not answer any more, with ${failures.size} of ${requests.length} answers missing`);
    }
    return failures;
  }

  /** The server with this checkpoint behind it: the one that is up, given other weights, or a new one. */
  private async serve(of: ServedCheckpoint, signal: AbortSignal | undefined): Promise<ModelServer> {
    const { options, surroundings } = this;
    const up = this.running;
    const isUp = up !== undefined && !up.server.died.aborted;
    if (isUp && up.of.model === of.model) return up.server;
    const started = performance.now();
    const ready = (server: ModelServer): ModelServer => {
      this.running = { server, of };
      surroundings.onState?.("ready", of, (performance.now() - started) / 1000);
      return server;
    };
    if (isUp && staysUp(options)) {
      // Whatever becomes of it, it has not the old weights for certain.
      this.running = { server: up.server, of: { ...of, model: "" } };
      await updateWeights(up.server.url, of.model, { timeout: options.startup_timeout * 1000, signal });
      return ready(up.server);
    }
    await this.close();
    surroundings.onState?.("starting", of);
    return ready(await ModelServer.start({ options, model: of.model, log: of.log, signal }, surroundings.run));
  }

  private endpoint(server: ModelServer): EndpointPolicy {
    const { options } = this;
    const thinking = options.kind === "command" ? undefined : options.thinking;
    const file = {
      endpoint: options.kind === "sglang" ? "sglang" : "vllm",
      model: options.served_model_name,
      base_url: `${server.url}/v1`,
      rendering: this.surroundings.rendering,
      concurrency: options.concurrency,
      timeout: options.timeout,
      ...(options.top_p === undefined ? {} : { top_p: options.top_p }),
      extra_body: {
        ...(thinking === undefined ? {} : { chat_template_kwargs: { enable_thinking: thinking } }),
        ...options.extra_body,
      },
    };
    return new EndpointPolicy(endpointOptions(file, "recipe, serving"), { key: undefined, random: this.surroundings.random });
  }

  private refuseManyFailures(failures: ReadonlyMap<number, CompletionFailure>, asked: number, log: string): void {
    const [first] = failures.values();
    if (first === undefined || failures.size <= this.options.max_failed * asked) return;
    throw new ServingError({
      message: `${failures.size} of ${asked} requests had no answer: ${first.failure.message}`,
      value: failures.size,
      expected: `at most a share of ${this.options.max_failed} (serving.max_failed)`,
      remedy: `look into the server's log, ${log}; the run resumes with what was asked`,
    });
  }

  private async wait(attempt: number, signal: AbortSignal | undefined): Promise<void> {
    const { pause = 5000 } = this.surroundings;
    await sleepFor(pause * attempt, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    if (signal?.aborted) throw new InterruptedError({ message: "interrupted before a model server was started again" });
  }
}
