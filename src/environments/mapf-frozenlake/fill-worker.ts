/** Worker thread of fill-pool.ts: one chunk of slots in, their results out. Holds no state between chunks that a result depends on. */
import { parentPort } from "node:worker_threads";
import { Seed } from "../../core/index.js";
import type { ChunkReply, ChunkRequest } from "./fill-pool.js";
import { SlotFiller, type Tally } from "./fill-slot.js";

const filler = new SlotFiller();

parentPort?.on("message", ({ seed, slots }: ChunkRequest) => {
  const stream = Seed.parse(seed);
  const tally: Tally = {};
  const results = slots.map((slot) => filler.fill(slot, stream.at(slot.index), tally));
  parentPort?.postMessage({ results, tally } satisfies ChunkReply);
});
