/**
 * Who fills the slots of a round: this thread, or worker threads. Slots travel in chunks and come back by position, so the split has no
 * influence on the result.
 */
import type { Worker } from "node:worker_threads";
import { EngineError, type Seed, startThread } from "../../core/index.js";
import { type FillResult, SlotFiller, type Tally } from "./fill-slot.js";
import type { Slot } from "./quota.js";

const CHUNK = 32;
const TURN_MS = 50;
/** Below this many slots a worker costs more to start than it saves. */
const SLOTS_PER_WORKER = 64;

export interface ChunkRequest {
  seed: string;
  slots: Slot[];
}

export interface ChunkReply {
  results: FillResult[];
  tally: Tally;
}

export interface FillPool {
  /** One result per slot, in order; adds to `tally`. `onChunk` gets the number of slots finished so far and may throw to stop. */
  fill(slots: readonly Slot[], seed: Seed, tally: Tally, onChunk: (finished: number) => void): Promise<FillResult[]>;
  close(): Promise<void>;
}

export function openPool(workers: number, slots: number): FillPool {
  const useful = Math.min(workers, Math.ceil(slots / SLOTS_PER_WORKER));
  return useful > 1 ? new WorkerPool(useful) : new ThisThread();
}

function chunksOf(slots: readonly Slot[]): Slot[][] {
  return Array.from({ length: Math.ceil(slots.length / CHUNK) }, (_, i) => slots.slice(i * CHUNK, (i + 1) * CHUNK));
}

function addTally(into: Tally, from: Tally): void {
  for (const [key, value] of Object.entries(from)) into[key] = (into[key] ?? 0) + value;
}

class ThisThread implements FillPool {
  private readonly filler = new SlotFiller();

  async fill(slots: readonly Slot[], seed: Seed, tally: Tally, onChunk: (finished: number) => void): Promise<FillResult[]> {
    const results: FillResult[] = [];
    let turn = performance.now();
    for (const slot of slots) {
      results.push(this.filler.fill(slot, seed.at(slot.index), tally));
      if (performance.now() - turn < TURN_MS && results.length < slots.length) continue;
      onChunk(results.length);
      // Lets signals and the terminal have their turn, however hard the boards are.
      await new Promise((resolve) => setImmediate(resolve));
      turn = performance.now();
    }
    return results;
  }

  async close(): Promise<void> {}
}

class WorkerPool implements FillPool {
  private readonly workers: Worker[];

  constructor(count: number) {
    this.workers = Array.from({ length: count }, () => startThread(import.meta.url, "./fill-worker"));
  }

  async fill(slots: readonly Slot[], seed: Seed, tally: Tally, onChunk: (finished: number) => void): Promise<FillResult[]> {
    const chunks = chunksOf(slots);
    const replies: ChunkReply[] = new Array(chunks.length);
    let next = 0;
    let finished = 0;
    await Promise.all(
      this.workers.map(async (worker) => {
        while (next < chunks.length) {
          const mine = next++;
          const reply = await ask(worker, { seed: seed.path, slots: chunks[mine]! });
          replies[mine] = reply;
          finished += reply.results.length;
          onChunk(finished);
        }
      }),
    );
    for (const reply of replies) addTally(tally, reply.tally);
    return replies.flatMap((reply) => reply.results);
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }
}

function ask(worker: Worker, request: ChunkRequest): Promise<ChunkReply> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      worker.off("message", onMessage);
      worker.off("error", onError);
      worker.off("exit", onExit);
    };
    const onMessage = (reply: ChunkReply) => {
      settle();
      resolve(reply);
    };
    const onError = (cause: unknown) => {
      settle();
      reject(new EngineError({ message: `a generator worker failed: ${(cause as Error).message}`, cause }));
    };
    const onExit = (code: number) => {
      settle();
      reject(new EngineError({ message: `a generator worker exited with code ${code}` }));
    };
    worker.on("message", onMessage);
    worker.on("error", onError);
    worker.on("exit", onExit);
    worker.postMessage(request);
  });
}
