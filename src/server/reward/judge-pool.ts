/**
 * The threads of the reward service. A batch goes to the least busy thread. A thread that dies fails the batches it held (never a score)
 * and is replaced; more than `MAX_WAITING` batches are refused, so that a crowd cannot fill the memory.
 */
import type { Worker } from "node:worker_threads";
import { BoundaryError, startThread } from "../../core/index.js";
import type { JudgeDefaults } from "./judge.js";
import type { JudgeReply, JudgeTask } from "./judge-worker.js";

const MAX_WAITING = 4096;

interface Waiting {
  resolve(reply: JudgeReply): void;
  reject(error: BoundaryError): void;
}

interface Member {
  worker: Worker;
  running: Map<number, Waiting>;
}

export class OverloadedError extends BoundaryError {
  constructor(waiting: number) {
    super({ boundary: "reward-service", message: `${waiting} batches are waiting`, remedy: "ask again later, or with more threads" });
  }
}

export class JudgePool {
  private readonly members: Member[];
  private nextId = 0;
  private closing = false;

  constructor(
    threads: number,
    private readonly defaults: JudgeDefaults,
  ) {
    this.members = Array.from({ length: threads }, () => this.start());
  }

  get waiting(): number {
    return this.members.reduce((sum, { running }) => sum + running.size, 0);
  }

  /** @throws {OverloadedError} @throws {BoundaryError} when the thread died. The body is given away. */
  judge(body: ArrayBuffer, emaValid: number, listen: boolean): Promise<JudgeReply> {
    if (this.waiting >= MAX_WAITING) return Promise.reject(new OverloadedError(this.waiting));
    const member = this.members.reduce((best, m) => (m.running.size < best.running.size ? m : best));
    const task: JudgeTask = { id: this.nextId++, body, emaValid, listen };
    return new Promise((resolve, reject) => {
      member.running.set(task.id, { resolve, reject });
      member.worker.postMessage(task, [body]);
    });
  }

  async close(): Promise<void> {
    this.closing = true;
    await Promise.all(this.members.map(({ worker }) => worker.terminate()));
  }

  private start(): Member {
    const member: Member = { worker: startThread(import.meta.url, "./judge-worker", this.defaults), running: new Map() };
    member.worker.on("message", (reply: JudgeReply) => {
      member.running.get(reply.id)?.resolve(reply);
      member.running.delete(reply.id);
    });
    let cause: unknown;
    member.worker.on("error", (error) => {
      cause = error;
    });
    member.worker.on("exit", () => {
      const error = new BoundaryError({ boundary: "reward-service", message: "the thread that judged this batch died", cause });
      for (const { reject } of member.running.values()) reject(error);
      member.running.clear();
      if (!this.closing) this.members[this.members.indexOf(member)] = this.start();
    });
    return member;
  }
}
