/** Worker thread of fill-pool.ts: one chunk of slots in, their results out. Holds no state between chunks that a result depends on. */
import { parentPort } from "node:worker_threads";
import { Seed } from "../../core/index.js";
import type { ChunkMessage, ChunkRequest } from "./fill-pool.js";
import { type FillResult, SlotFiller, type Tally } from "./fill-slot.js";

const TELL_MS = 250;

const filler = new SlotFiller();
const tell = (message: ChunkMessage) => parentPort?.postMessage(message);

parentPort?.on("message", ({ seed, slots, stopAtUnfillable }: ChunkRequest) => {
  const stream = Seed.parse(seed);
  const tally: Tally = {};
  const results: FillResult[] = [];
  let told = performance.now();
  for (const slot of slots) {
    const result = filler.fill(slot, stream.at(slot.index), tally);
    results.push(result);
    if (stopAtUnfillable && result.filling === undefined) break;
    if (performance.now() - told < TELL_MS) continue;
    told = performance.now();
    tell({ finished: results.length });
  }
  tell({ results, tally });
});
