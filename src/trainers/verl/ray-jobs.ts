/**
 * Ray's job server by its REST API: submit, follow state and log, stop. A job that failed is submitted again by whoever asked, under a new
 * id. Calls have a time limit and are repeated while the server cannot be reached, within a budget. No Ray library is needed here.
 */
import { randomUUID } from "node:crypto";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { BoundaryError, InputError, shellWord } from "../../core/index.js";
import type { EngineCommand, EngineEnd, RunEngine } from "../engine/run-process.js";

export const RAY_STATES = ["PENDING", "RUNNING", "STOPPED", "SUCCEEDED", "FAILED"] as const;
const jobSchema = z.object({ status: z.enum(RAY_STATES), message: z.string().nullish() });
export type RayJob = z.infer<typeof jobSchema>;

export interface RayJobRequest {
  entrypoint: string;
  submission_id?: string;
  runtime_env?: { env_vars?: Record<string, string>; working_dir?: string };
  metadata?: Record<string, string>;
}

export interface RayJobsOptions {
  /** Milliseconds that one call may take. */
  timeout?: number;
  /** Calls made in a row before a server that does not answer is given up. */
  attempts?: number;
  /** Milliseconds between two looks at a job. */
  every?: number;
  /** Of a cluster with token authentication. */
  token?: string | undefined;
  /** To whom a failure is attributed. */
  boundary?: string;
}

export class RayJobs {
  private readonly base: string;
  private readonly options: Required<Omit<RayJobsOptions, "token">>;
  private readonly headers: Record<string, string>;

  /** @param address of the job server, e.g. http://head:8265. @throws {InputError} for another kind of address. */
  constructor(address: string, options: RayJobsOptions = {}) {
    if (!/^https?:\/\//.test(address)) {
      throw new InputError({
        message: `${address} is no address of a Ray job server`,
        value: address,
        expected: "http://HOST:8265",
        remedy: "trainer.ray names the dashboard's address of the head node, not ray://",
      });
    }
    const { token, ...rest } = options;
    this.headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.base = `${address.replace(/\/+$/, "")}/api/jobs/`;
    this.options = { timeout: 30_000, attempts: 6, every: 2000, boundary: "ray", ...rest };
  }

  /**
   * Returns the submission id. It is chosen before the call, so that a submission whose answer was lost can be repeated: Ray takes each id
   * once. @param own whether the id is one that nobody else can have taken.
   */
  async submit(request: RayJobRequest, own = request.submission_id === undefined): Promise<string> {
    const id = request.submission_id ?? newJobId();
    try {
      await this.call("POST", "", { ...request, submission_id: id });
    } catch (error) {
      if (!own || !(error as Error).message.includes("already exists")) throw error;
    }
    return id;
  }

  async job(id: string): Promise<RayJob> {
    return jobSchema.parse(await this.call("GET", encodeURIComponent(id)));
  }

  /** The whole log so far. */
  async logs(id: string): Promise<string> {
    return z.object({ logs: z.string() }).parse(await this.call("GET", `${encodeURIComponent(id)}/logs`)).logs;
  }

  async stop(id: string): Promise<void> {
    await this.call("POST", `${encodeURIComponent(id)}/stop`);
  }

  /** Stops a job and waits for its end, if it has one in `looks` looks. */
  async end(id: string, looks = 60): Promise<RayJob> {
    await this.stop(id);
    for (let look = 1; ; look++) {
      const job = await this.job(id);
      if (isOver(job)) return job;
      if (look >= looks) throw this.failed(`${id} is still ${job.status} after it was stopped`);
      await sleep(this.options.every);
    }
  }

  /** Follows a job to its end; `onLine` is given every finished line of its log once. An abort stops the job and waits for its end. */
  async follow(id: string, { signal, onLine }: { signal?: AbortSignal | undefined; onLine: (line: string) => void }): Promise<RayJob> {
    let read = 0;
    let stopped = false;
    for (;;) {
      if (signal?.aborted && !stopped) {
        stopped = true;
        await this.stop(id);
      }
      const job = await this.job(id);
      const over = isOver(job);
      const log = await this.logs(id);
      const end = over ? log.length : log.lastIndexOf("\n") + 1;
      if (end > read) {
        for (const line of log.slice(read, end).replace(/\n$/, "").split("\n")) onLine(line);
        read = end;
      }
      if (over) return job;
      await sleep(this.options.every, undefined, stopped || signal === undefined ? {} : { signal }).catch(() => {});
    }
  }

  private async call(method: "GET" | "POST", path: string, body?: unknown): Promise<unknown> {
    const { attempts } = this.options;
    let failure = "";
    let answered: number | undefined;
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await sleep(Math.min(8000, 250 * 2 ** attempt));
      try {
        const { status, text } = await requestOnce(method, this.base + path, this.headers, body, this.options.timeout);
        if (status >= 200 && status < 300) return JSON.parse(text);
        answered = status;
        // A traceback says what it is about at its end.
        failure = `status ${status}: ${text.length > 700 ? `${text.slice(0, 200)} … ${text.slice(-500)}` : text}`;
        // The job server tells of a submission that is there already, which its agent refuses with 400, by 500.
        if (status < 500 || text.includes("already exists")) break;
      } catch (error) {
        failure = (error as Error).message;
      }
    }
    throw this.failed(`${method} ${this.base}${path}: ${failure}`, answered);
  }

  private failed(what: string, status?: number): RayCallError {
    return new RayCallError(status, {
      boundary: this.options.boundary,
      message: `the Ray job server did not do ${what}`,
      value: this.base,
      expected: "a job server that answers",
      remedy: "is the cluster up, and is this its dashboard's address? ray status on the head node tells",
    });
  }
}

/** A call that the job server did not do; `status` is the last that it answered, if it did. */
class RayCallError extends BoundaryError {
  constructor(
    readonly status: number | undefined,
    detail: ConstructorParameters<typeof BoundaryError>[0],
  ) {
    super(detail);
  }
}

function newJobId(): string {
  return `envwright-${randomUUID()}`;
}

function isOver({ status }: RayJob): boolean {
  return status !== "PENDING" && status !== "RUNNING";
}

/** By node:http: fetch marks its requests as a browser's (`sec-fetch-mode`), and Ray refuses those that change anything. */
function requestOnce(
  method: string,
  url: string,
  given: Record<string, string>,
  body: unknown,
  timeout: number,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith("https:") ? httpsRequest : httpRequest;
    const headers = body === undefined ? given : { ...given, "content-type": "application/json" };
    const request = send(url, { method, headers, agent: false, signal: AbortSignal.timeout(timeout) }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () => resolve({ status: response.statusCode!, text: Buffer.concat(parts).toString("utf8") }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const TAIL = 30;

/**
 * Runs an engine's command as a Ray job. Working folder and command have to mean the same on the cluster.
 * @throws {BoundaryError} of the boundary `ray-job` for a job that may still be running: another one must not be put into its folder.
 */
export function rayRunner(jobs: RayJobs): RunEngine {
  return async (command, { signal, onLine }): Promise<EngineEnd> => {
    const id = newJobId();
    const tail: string[] = [];
    let job: RayJob;
    let submitted = false;
    try {
      const runtime_env = { env_vars: command.env };
      const metadata = { submitted_by: "envwright" };
      await jobs.submit({ submission_id: id, entrypoint: entrypointOf(command), runtime_env, metadata }, true);
      submitted = true;
      onLine(`Ray job ${id} submitted`);
      job = await jobs.follow(id, {
        signal,
        onLine: (line) => {
          tail.push(line);
          if (tail.length > TAIL) tail.shift();
          onLine(line);
        },
      });
    } catch (error) {
      const ended = await endLost(jobs, id, error, submitted);
      // It went through while nobody could look.
      if (ended?.status !== "SUCCEEDED") throw error;
      job = ended;
    }
    if (job.message) tail.push(job.message);
    return { status: job.status, ok: job.status === "SUCCEEDED", tail };
  };
}

/** Ends a job that was lost sight of. Undefined for one that was never begun: the server refused it, or does not know it. */
async function endLost(jobs: RayJobs, id: string, lost: unknown, submitted: boolean): Promise<RayJob | undefined> {
  const refused = lost instanceof RayCallError && lost.status !== undefined && lost.status >= 400 && lost.status < 500;
  if (!submitted && refused) return undefined;
  try {
    return await jobs.end(id);
  } catch (cause) {
    if (!submitted && cause instanceof RayCallError && cause.status === 404) return undefined;
    throw new BoundaryError({
      boundary: "ray-job",
      message: `Ray job ${id} was lost sight of (${(lost as Error).message}) and could not be stopped: it may still be training`,
      value: id,
      expected: "a job server that answers",
      remedy: `stop it on the head node (ray job stop ${id}); when it has ended, envwright run --resume begins the stage again`,
      cause,
    });
  }
}

/** One shell line, every word quoted. */
export function entrypointOf({ command, args, cwd }: EngineCommand): string {
  return `cd ${shellWord(cwd)} && ${[command, ...args].map(shellWord).join(" ")}`;
}
