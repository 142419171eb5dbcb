/** The thread of a BoardMaker: makes the boards that are asked for, one request after the other. What is wrong with a request is answered. */
import { createHash } from "node:crypto";
import { parentPort } from "node:worker_threads";
import { canonicalJson, EnvwrightError, InputError, Seed } from "../../core/index.js";
import { type Instance, mapfFrozenLake as lake, reservedHashes } from "../../environments/mapf-frozenlake/index.js";
import type { BoardReply, BoardRequest } from "./board-maker.js";

const port = parentPort!;

port.on("message", ({ id, work }: BoardRequest) => {
  make(work).then(
    (instances) => port.postMessage({ id, instances } satisfies BoardReply),
    (error: unknown) => {
      const message = error instanceof EnvwrightError ? error.explain() : (error as Error).message;
      port.postMessage({ id, error: { message, isInput: error instanceof InputError } } satisfies BoardReply);
    },
  );
});

async function make(work: BoardRequest["work"]): Promise<Instance[]> {
  if (work.kind === "complete") return [lake.complete(work.value)];
  const { config } = lake.normalise(lake.configSchema.parse(work.config));
  const seed = Seed.root("openenv").child(createHash("sha256").update(canonicalJson(config)).digest("hex").slice(0, 12), work.block);
  // Boards that are reported on are never handed out for training.
  return (await lake.generate(config, { count: work.count, seed, exclude: reservedHashes(), repeats: "allow" })).instances;
}
