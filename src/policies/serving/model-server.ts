/**
 * A model server as a process of ours: started for one checkpoint, ready once /health answers and /v1/models names the model, stopped with
 * all that it has started. Its log is a file; a server that dies or never gets ready is a ServingError with the log's end.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { setTimeout as sleepFor } from "node:timers/promises";
import { z } from "zod";
import { ConfigError, InterruptedError, ServingError, type ServingOptions } from "../../core/index.js";
import { groupRunner, type ProcessEnd, type RunProcess } from "../../processes/index.js";
import { claimPort } from "./free-port.js";
import { serverCommand } from "./server-command.js";

/** Milliseconds between two looks at a server that is starting, and that one look may take. */
const LOOK_EVERY = 100;
const LONGEST_LOOK = 10_000;
/** Looks in a row without a good answer after which a server is taken for silent: a busy one may miss one or two. */
const MISSES = 4;
/** Milliseconds that it has to end by itself: engines let go of their GPUs then. */
const GRACE = 20_000;
const TOLD = 12;

const modelsSchema = z.looseObject({ data: z.array(z.looseObject({ id: z.string(), root: z.string().nullish() })) });

export interface StartServer {
  options: ServingOptions;
  /** Checkpoint folder, or a name that the server loads models by. */
  model: string;
  /** File that the server's log is added to. */
  log: string;
  signal?: AbortSignal | undefined;
}

export class ModelServer {
  private readonly stopping = new AbortController();
  private readonly death = new AbortController();
  private end: ProcessEnd | undefined;
  private unstartable: Error | undefined;
  /** Why its log has an end that it does not tell of. */
  private unwritten: string | undefined;
  private readonly ended: Promise<void>;

  private constructor(
    private readonly start: StartServer,
    readonly url: string,
    run: RunProcess,
    port: number,
  ) {
    const { options, model, log } = start;
    const command = serverCommand(options, { model, port }, process.cwd());
    mkdirSync(dirname(log), { recursive: true });
    appendFileSync(log, `$ ${[command.command, ...command.args].join(" ")}\n`);
    const onLine = (line: string) => {
      try {
        appendFileSync(log, `${line}\n`);
      } catch (error) {
        // A full disk is no reason to stop answering.
        this.unwritten = (error as Error).message;
      }
    };
    this.ended = run(command, { signal: this.stopping.signal, onLine })
      .catch((error: Error): ProcessEnd => {
        this.unstartable = error;
        return { status: error.message, ok: false, tail: [] };
      })
      .then((end) => {
        this.end = end;
        this.death.abort();
      });
  }

  /** Resolves once it is ready. @throws {ServingError} it died or was not ready in time; {ConfigError} there is no such program; {InterruptedError}. */
  static async start(start: StartServer, run: RunProcess = serverRunner()): Promise<ModelServer> {
    const { options, signal } = start;
    const port = await claimPort(options.host, options.port);
    const server = new ModelServer(start, `http://${options.host.includes(":") ? `[${options.host}]` : options.host}:${port}`, run, port);
    try {
      await server.untilReady(signal);
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /** Aborted when the process has ended, for whatever reason. */
  get died(): AbortSignal {
    return this.death.signal;
  }

  /** File that it writes its log to, whichever checkpoint's weights it has by now. */
  get log(): string {
    return this.start.log;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.ended;
  }

  /** Whether it lives and says that it is well. */
  async isHealthy(): Promise<boolean> {
    return this.end === undefined && (await this.saysItIsWell());
  }

  /**
   * Looks at /health until `stop` is aborted. Aborted itself once several looks in a row had no good answer, and `answers` did not grow.
   * @param every milliseconds between two looks, and that one may take.
   */
  silence(answers: () => number, every: number, stop: AbortSignal): AbortSignal {
    const silent = new AbortController();
    const watch = async (): Promise<void> => {
      let known = answers();
      for (let misses = 0; misses < MISSES; ) {
        await sleepFor(every, undefined, { signal: stop }).catch(() => undefined);
        const isWell = !stop.aborted && (await this.saysItIsWell(stop, every));
        if (stop.aborted || this.end !== undefined) return;
        misses = isWell || answers() > known ? 0 : misses + 1;
        known = answers();
      }
      silent.abort();
    };
    void watch();
    return silent.signal;
  }

  /** @param problem as in "vllm … ". */
  failure(problem: string): ServingError {
    const { options } = this.start;
    const log = `${this.log}${this.unwritten === undefined ? "" : ` (which could not be written: ${this.unwritten})`}`;
    const told = this.end?.tail.slice(-TOLD).join("\n");
    const ended = this.end === undefined ? "" : ` (it ended with ${this.end.status})`;
    return new ServingError({
      message: `${options.kind === "command" ? options.command[0] : options.kind} ${problem}${ended}`,
      value: this.end?.tail.join("\n"),
      remedy: told === undefined || told === "" ? `look into its log, ${log}` : `the end of its log, ${log}:\n${told}`,
    });
  }

  private async untilReady(signal: AbortSignal | undefined): Promise<void> {
    const { startup_timeout } = this.start.options;
    const deadline = performance.now() + startup_timeout * 1000;
    for (;;) {
      if (signal?.aborted) throw new InterruptedError({ message: "interrupted while a model server was starting" });
      if (this.unstartable !== undefined) {
        throw new ConfigError({
          message: this.unstartable.message,
          value: this.start.options.command,
          expected: "a program of this machine that serves models",
          remedy: "install it, or name another as serving.command",
          cause: this.unstartable,
        });
      }
      if (this.end !== undefined) throw this.failure("ended before it was ready");
      if ((await this.saysItIsWell(signal)) && (await this.namesTheModel(signal))) return;
      if (performance.now() > deadline) throw this.failure(`was not ready after ${startup_timeout} s`);
      const wake = AbortSignal.any([this.died, ...(signal === undefined ? [] : [signal])]);
      await sleepFor(LOOK_EVERY, undefined, { signal: wake }).catch(() => undefined);
    }
  }

  /** False while there is no list. @throws {ServingError} when it serves something else: what answers there is not what was started. */
  private async namesTheModel(signal: AbortSignal | undefined): Promise<boolean> {
    const response = await this.look("/v1/models", signal);
    const list = modelsSchema.safeParse(await response?.json().catch(() => undefined));
    if (response?.ok !== true || !list.success) return false;
    const { options, model } = this.start;
    const served = list.data.data.find(({ id }) => id === options.served_model_name);
    if (served === undefined) {
      const names = list.data.data.map(({ id }) => id).join(", ");
      throw this.failure(`serves ${names === "" ? "nothing" : names} and not ${options.served_model_name}`);
    }
    // vLLM tells where the weights are from.
    if (isAbsolute(model) && served.root != null && isAbsolute(served.root) && served.root !== model) {
      throw this.failure(`serves the weights of ${served.root} and not those of ${model}`);
    }
    return true;
  }

  private async saysItIsWell(signal?: AbortSignal, longest?: number): Promise<boolean> {
    const response = await this.look("/health", signal, longest);
    // Unread it would keep its connection.
    await response?.body?.cancel().catch(() => undefined);
    return response?.ok === true;
  }

  /** @param longest milliseconds that it may take. */
  private async look(path: string, signal?: AbortSignal, longest = LONGEST_LOOK): Promise<Response | undefined> {
    const late = AbortSignal.timeout(longest);
    const stop = AbortSignal.any([late, this.died, ...(signal === undefined ? [] : [signal])]);
    return fetch(`${this.url}${path}`, { signal: stop }).catch(() => undefined);
  }
}

export function serverRunner(grace = GRACE): RunProcess {
  return groupRunner({ boundary: "serving", remedy: "check serving.command", grace });
}
