/**
 * Ray's job server by its REST API: submit, follow state and log, stop. A job that failed is submitted again by whoever asked, under a new
 * id. Calls have a time limit and are repeated while the server cannot be reached, within a budget. No Ray library is needed here.
 */
import { randomUUID } from "node:crypto";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { BoundaryError, InputError } from "../../core/index.js";
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

  /** Returns the submission id. It is chosen here, so that a submission whose answer was lost can be repeated: Ray takes each id once. */
  async submit(request: RayJobRequest): Promise<string> {
    const id = request.submission_id ?? `envwright-${randomUUID()}`;
    try {
      await this.call("POST", "", { ...request, submission_id: id });
    } catch (error) {
      const taken = request.submission_id === undefined && (error as Error).message.includes("already exists");
      if (!taken) throw error;
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
      const over = job.status !== "PENDING" && job.status !== "RUNNING";
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
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await sleep(Math.min(8000, 250 * 2 ** attempt));
      try {
        const { status, text } = await requestOnce(method, this.base + path, this.headers, body, this.options.timeout);
        if (status >= 200 && status < 300) return JSON.parse(text);
        // A traceback says what it is about at its end.
        failure = `status ${status}: ${text.length > 700 ? `${text.slice(0, 200)} … ${text.slice(-500)}` : text}`;
        if (status < 500) break;
      } catch (error) {
        failure = (error as Error).message;
      }
    }
    throw new BoundaryError({
      boundary: this.options.boundary,
      message: `the Ray job server did not do ${method} ${this.base}${path}: ${failure}`,
      value: this.base,
      expected: "a job server that answers",
      remedy: "is the cluster up, and is this its dashboard's address? ray status on the head node tells",
    });
  }
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

/** Runs an engine's command as a Ray job. Working folder and command have to mean the same on the cluster. */
export function rayRunner(jobs: RayJobs): RunEngine {
  return async (command, { signal, onLine }): Promise<EngineEnd> => {
    const id = await jobs.submit({
      entrypoint: entrypointOf(command),
      runtime_env: { env_vars: command.env },
      metadata: { submitted_by: "envwright" },
    });
    onLine(`Ray job ${id} submitted`);
    const tail: string[] = [];
    const job = await jobs.follow(id, {
      signal,
      onLine: (line) => {
        tail.push(line);
        if (tail.length > TAIL) tail.shift();
        onLine(line);
      },
    });
    if (job.message) tail.push(job.message);
    return { status: job.status, ok: job.status === "SUCCEEDED", tail };
  };
}

/** One shell line, every word quoted. */
export function entrypointOf({ command, args, cwd }: EngineCommand): string {
  const quoted = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
  return `cd ${quoted(cwd)} && ${[command, ...args].map(quoted).join(" ")}`;
}
