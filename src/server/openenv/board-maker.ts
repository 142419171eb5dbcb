/**
 * Boards for episodes, made in a thread of their own so that a config which is slow to fill holds up no session. A thread that takes longer
 * than the time limit is ended and replaced; the requests that waited for it fail.
 */
import type { Worker } from "node:worker_threads";
import { EngineError, InputError, startThread } from "../../core/index.js";
import type { Instance, MapfConfig } from "../../environments/mapf-frozenlake/index.js";

export interface BoardRequest {
  id: number;
  work: { kind: "generate"; config: MapfConfig; block: number; count: number } | { kind: "complete"; value: unknown };
}
export type BoardReply = { id: number; instances: Instance[] } | { id: number; error: { message: string; isInput: boolean } };

interface Waiting {
  resolve(instances: Instance[]): void;
  reject(error: Error): void;
}

export class BoardMaker {
  private thread: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private timer: NodeJS.Timeout | undefined;
  private asked = 0;
  private closed = false;

  /** @param limit milliseconds that the thread may be at work without an answer. */
  constructor(private readonly limit: number) {}

  /** @throws {InputError} for a board or config that cannot be @throws {EngineError} when it takes too long */
  make(work: BoardRequest["work"]): Promise<Instance[]> {
    if (this.closed) return Promise.reject(new EngineError({ message: "the server is closing" }));
    this.thread ??= this.start();
    const id = this.asked++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.timer ??= this.startTimer();
      this.thread!.postMessage({ id, work } satisfies BoardRequest);
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.end("the server is closing");
  }

  private start(): Worker {
    const thread = startThread(import.meta.url, "./board-worker");
    thread.on("message", (reply: BoardReply) => {
      clearTimeout(this.timer);
      const one = this.waiting.get(reply.id);
      this.waiting.delete(reply.id);
      this.timer = this.waiting.size > 0 ? this.startTimer() : undefined;
      if ("instances" in reply) one?.resolve(reply.instances);
      else one?.reject(new (reply.error.isInput ? InputError : EngineError)({ message: reply.error.message }));
    });
    thread.on("error", (error) => {
      if (thread === this.thread) void this.end(`the board maker failed: ${error.message}`);
    });
    thread.unref();
    return thread;
  }

  private startTimer(): NodeJS.Timeout {
    return setTimeout(() => void this.end(`no board was found within ${this.limit / 1000} s`), this.limit);
  }

  private async end(message: string): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { thread } = this;
    this.thread = undefined;
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of waiting)
      reject(new EngineError({ message, remedy: "ask for a board that is easier to find: fewer holes, agents or waits" }));
    await thread?.terminate();
  }
}
