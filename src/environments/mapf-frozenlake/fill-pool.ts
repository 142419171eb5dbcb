/**
 * Who fills the slots of a round: this thread, or worker threads. Slots travel in chunks, and results are handed over in the order of the
 * slots, so the split has no influence on what comes of them. Each is handed over as soon as it can be: objects that are many and live long
 * make the heap grow. However hard the boards are, there is a turn for signals and the terminal after every candidate.
 */
import type { Worker } from "node:worker_threads";
import { EngineError, type Seed, startThread } from "../../core/index.js";
import { type FillResult, SlotFiller, type Tally } from "./fill-slot.js";
import type { Slot, SlotPlan } from "./quota.js";

const CHUNK = 32;
const TURN_MS = 50;
/** Below this many slots a worker costs more to start than it saves. */
const SLOTS_PER_WORKER = 64;

export interface ChunkRequest {
  seed: string;
  slots: Slot[];
  stopAtUnfillable: boolean;
}

export interface ChunkReply {
  results: FillResult[];
  tally: Tally;
}

/** The reply, and before it how many slots of the chunk are finished. */
export type ChunkMessage = ChunkReply | { finished: number };

export interface FillTask {
  slots: SlotPlan;
  seed: Seed;
  /** Added to. */
  tally: Tally;
  /** Ends with the first slot that cannot be filled, in the order of the slots. */
  stopAtUnfillable: boolean;
  /** Gets one result per slot, in their order; throws to stop. */
  take: (slot: Slot, result: FillResult) => void;
  /** Gets the number of slots finished so far, in turns; throws to stop. */
  onTurn: (finished: number) => void;
}

export interface FillPool {
  fill(task: FillTask): Promise<void>;
  /** Stops what is going on. */
  close(): Promise<void>;
}

export function openPool(workers: number, slots: number): FillPool {
  const useful = Math.min(workers, Math.ceil(slots / SLOTS_PER_WORKER));
  return useful > 1 ? new WorkerPool(useful) : new ThisThread();
}

function addTally(into: Tally, from: Tally): void {
  for (const [key, value] of Object.entries(from)) into[key] = (into[key] ?? 0) + value;
}

class ThisThread implements FillPool {
  private readonly filler = new SlotFiller();

  async fill({ slots, seed, tally, stopAtUnfillable, take, onTurn }: FillTask): Promise<void> {
    let finished = 0;
    const turn = async () => {
      onTurn(finished);
      await new Promise((resolve) => setImmediate(resolve));
      return performance.now() + TURN_MS;
    };
    let until = await turn();
    while (finished < slots.length) {
      const slot = slots.at(finished)!;
      this.filler.begin(slot, seed.at(slot.index));
      let result = this.filler.advance(tally, until);
      while (result === undefined) {
        until = await turn();
        result = this.filler.advance(tally, until);
      }
      finished++;
      take(slot, result);
      if (stopAtUnfillable && result.filling === undefined) break;
      if (performance.now() >= until) until = await turn();
    }
    await turn();
  }

  async close(): Promise<void> {}
}

class WorkerPool implements FillPool {
  private readonly workers: Worker[];

  constructor(count: number) {
    this.workers = Array.from({ length: count }, () => startThread(import.meta.url, "./fill-worker"));
  }

  async fill({ slots, seed, tally, stopAtUnfillable, take, onTurn }: FillTask): Promise<void> {
    const chunks = Math.ceil(slots.length / CHUNK);
    /** Of chunks that wait for those before them. */
    const replies = new Map<number, ChunkReply>();
    const finished = new Array<number>(chunks).fill(0);
    const told = () => onTurn(finished.reduce((sum, n) => sum + n, 0));
    let next = 0;
    // Also while every worker is deep in a hard board there is a turn, in which `onTurn` may throw.
    let stop: (reason: unknown) => void = () => {};
    const stopped = new Promise<never>((_, reject) => {
      stop = reject;
    });
    const clock = setInterval(() => {
      try {
        told();
      } catch (reason) {
        stop(reason);
      }
    }, TURN_MS);
    let taken = 0;
    const takeOver = () => {
      for (let reply = replies.get(taken); reply !== undefined; reply = replies.get(taken)) {
        replies.delete(taken);
        addTally(tally, reply.tally);
        const first = taken++ * CHUNK;
        for (const [i, result] of reply.results.entries()) take(slots.at(first + i)!, result);
        if (isCutOff(reply)) taken = chunks;
      }
    };
    const isCutOff = ({ results }: ChunkReply) => stopAtUnfillable && results.at(-1)?.filling === undefined;
    // Once it has failed or been stopped, nothing is handed over any more.
    let ended = false;
    const work = this.workers.map(async (worker) => {
      while (!ended && next < chunks) {
        const mine = next++;
        const first = mine * CHUNK;
        const own = Array.from({ length: Math.min(CHUNK, slots.length - first) }, (_, i) => slots.at(first + i)!);
        const reply = await ask(worker, { seed: seed.path, slots: own, stopAtUnfillable }, (n) => {
          finished[mine] = n;
        });
        if (ended) return;
        replies.set(mine, reply);
        finished[mine] = reply.results.length;
        // Chunks are handed out in order, so what comes before this one is at work or done.
        if (isCutOff(reply)) next = chunks;
        takeOver();
      }
    });
    try {
      await Promise.race([Promise.all(work), stopped]);
    } finally {
      ended = true;
      clearInterval(clock);
    }
    told();
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }
}

function ask(worker: Worker, request: ChunkRequest, onProgress: (finished: number) => void): Promise<ChunkReply> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      worker.off("message", onMessage);
      worker.off("error", onError);
      worker.off("exit", onExit);
    };
    const onMessage = (message: ChunkMessage) => {
      if ("finished" in message) {
        onProgress(message.finished);
        return;
      }
      settle();
      resolve(message);
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
