/**
 * A fixed set of engine workers. Tasks go to the least busy worker, at most two at a time each, so that the next one waits in the thread and not
 * here. A worker that dies fails everything that is waiting, and everything asked later: nothing hangs.
 */
import type { Worker } from "node:worker_threads";
import { EngineError, InputError, startThread } from "../core/index.js";
import { CLOSE, type ReplyMessage, type TaskKind, type Tasks, type WorkerSetup } from "./engine-protocol.js";

const DEPTH = 2;

interface Waiting {
  readonly kind: TaskKind;
  readonly request: unknown;
  readonly transfer: ArrayBuffer[];
  readonly resolve: (reply: never) => void;
  readonly reject: (error: EngineError | InputError) => void;
}

interface Member {
  readonly worker: Worker;
  readonly running: Map<number, Waiting>;
  readonly ended: Promise<void>;
}

export class WorkerPool {
  private readonly members: Member[];
  private readonly queue: Waiting[] = [];
  private failure: EngineError | undefined;
  private nextId = 0;
  private closing = false;

  constructor(count: number, setup: WorkerSetup) {
    this.members = Array.from({ length: count }, () => {
      const worker = startThread(import.meta.url, "./engine-worker", setup);
      const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
      const member: Member = { worker, running: new Map(), ended };
      worker.on("message", (message: ReplyMessage) => this.receive(member, message));
      worker.on("error", (cause) => this.fail(`an engine worker died: ${cause instanceof Error ? cause.message : String(cause)}`, cause));
      worker.on("exit", (code) => {
        if (!this.closing) this.fail(`an engine worker ended with code ${code}`);
      });
      return member;
    });
  }

  get size(): number {
    return this.members.length;
  }

  /** One task on whichever worker is free. @throws {EngineError} */
  run<K extends TaskKind>(kind: K, request: Tasks[K]["request"], transfer: ArrayBuffer[] = []): Promise<Tasks[K]["reply"]> {
    return new Promise((resolve, reject) => {
      this.queue.push({ kind, request, transfer, resolve: resolve as (reply: never) => void, reject });
      this.dispatch();
    });
  }

  /** One task on every worker; `make` is called for each, because what is transferred can be given once. @throws {EngineError} */
  async broadcast<K extends TaskKind>(
    kind: K,
    make: (worker: number) => { request: Tasks[K]["request"]; transfer: ArrayBuffer[] },
  ): Promise<void> {
    const replies = this.members.map(
      (member, index) =>
        new Promise((resolve, reject) => {
          this.send(member, { kind, ...make(index), resolve: resolve as (reply: never) => void, reject });
        }),
    );
    await Promise.all(replies);
  }

  /**
   * Rejects everything that waits; resolves when all threads have ended, which each does after the task it is at. They are not terminated:
   * a thread that is stopped inside of the native runtime takes the process with it.
   */
  async close(): Promise<void> {
    this.closing = true;
    this.fail("the engine is closed");
    for (const member of this.members) member.worker.postMessage(CLOSE);
    await Promise.all(this.members.map((m) => m.ended));
  }

  private dispatch(): void {
    if (this.failure !== undefined) {
      this.rejectAll(this.failure);
      return;
    }
    while (this.queue.length > 0) {
      const member = this.members.reduce((best, m) => (m.running.size < best.running.size ? m : best));
      if (member.running.size >= DEPTH) return;
      this.send(member, this.queue.shift()!);
    }
  }

  private send(member: Member, task: Waiting): void {
    if (this.failure !== undefined) {
      task.reject(this.failure);
      return;
    }
    const id = this.nextId++;
    member.running.set(id, task);
    member.worker.postMessage({ id, kind: task.kind, request: task.request }, task.transfer);
  }

  private receive(member: Member, message: ReplyMessage): void {
    const task = member.running.get(message.id);
    if (task === undefined) return;
    member.running.delete(message.id);
    if ("error" in message) task.reject(failureOf(message.error));
    else task.resolve(message.reply as never);
    this.dispatch();
  }

  private fail(message: string, cause?: unknown): void {
    this.failure ??= new EngineError({ message, cause, remedy: "start a new engine" });
    this.rejectAll(this.failure);
  }

  private rejectAll(error: EngineError): void {
    const waiting = this.queue.splice(0);
    for (const member of this.members) {
      waiting.push(...member.running.values());
      member.running.clear();
    }
    for (const task of waiting) task.reject(error);
  }
}

/** A caller's mistake that only the worker could see stays the caller's mistake. */
function failureOf({ name, message }: { name: string; message: string }): EngineError | InputError {
  return name === "InputError" ? new InputError({ message }) : new EngineError({ message, value: name });
}
