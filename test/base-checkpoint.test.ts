/** The shipped base is the one that the docs describe, and it can run the loop: it knows every word of task and engineer. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { engineerWords } from "../src/engineers/index.js";
import { mapfFrozenLake } from "../src/environments/index.js";
import { checkpointHash, readCheckpoint } from "../src/nn/index.js";

const ROOT = join(import.meta.dirname, "..");
const BASE = join(ROOT, "assets/base-tiny");

test("the shipped base checkpoint has the hash that the docs publish", async () => {
  expect(readFileSync(join(ROOT, "docs/embedded.md"), "utf8")).toContain(await checkpointHash(BASE));
});

test("its tokenizer has every word of the task and of the engineer, one token each", async () => {
  const { tokenizer, config } = await readCheckpoint(BASE);
  const words = [...mapfFrozenLake.compactWords.map((w) => w.word), ...engineerWords(mapfFrozenLake.allStrata, mapfFrozenLake)];
  for (const word of words) expect(tokenizer.encode(word)).toHaveLength(1);
  expect(tokenizer.size).toBe(config.vocab_size);
});
