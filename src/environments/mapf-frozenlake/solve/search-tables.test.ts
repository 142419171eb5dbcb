/** The tables of the searches alone: what is known of positions, and the nodes of a joint search. */
import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { partsOfSearches } from "./testing/compile-searches.js";

/** The agent whose codes share a block in the table under test. */
const OWN = 4;

it.each([
  ["least and greatest increases", true],
  ["least increases alone", false],
])("%s: what was entered last is found, while the table grows and after it was reset", async (_, holdsMost) => {
  const table = await partsOfSearches();
  const seed = Seed.root("position-table");
  for (let board = 0; board < 3; board++) {
    table.resetTable(Number(holdsMost));
    const random = seed.at(board);
    const entered = new Map<string, { least: number; most: number }>();
    for (let i = 0; i < 20_000; i++) {
      // Few cells, so that positions come again; three to eight agents, and every set of theirs.
      const agents = random.between(3, 8);
      let position = (BigInt(random.below(3)) << 28n) | (BigInt(random.below(2)) << 60n);
      for (let a = 0; a < agents; a++) if (a !== OWN) position |= BigInt(random.below(3) * 40) << BigInt(a < 4 ? 7 * a : 4 + 7 * a);
      const code = random.below(127);
      const key = `${position} ${code}`;
      const { least, most } = entered.get(key) ?? { least: 0, most: 255 };
      const found = [table.lookUpLeast(position, code), ...(holdsMost ? [table.lookUpMost(position, code)] : [])];
      const expected = [least, ...(holdsMost ? [most] : [])];
      if (JSON.stringify(found) !== JSON.stringify(expected)) expect([i, ...found]).toEqual([i, ...expected]);
      const value = random.below(252);
      if (holdsMost && i % 2 === 0) {
        table.setMost(position, code, value);
        entered.set(key, { least, most: value });
      } else {
        table.setLeast(position, code, value);
        entered.set(key, { least: value, most });
      }
    }
    expect(entered.size).toBeGreaterThan(5_000);
  }
});

it("nodes are found by position and come off their buckets last in first out, however many nodes and buckets there are", async () => {
  const nodes = await partsOfSearches();
  const seed = Seed.root("joint-nodes");
  for (const [search, size] of [5_000, 300, 9_000].entries()) {
    nodes.resetNodes();
    const random = seed.at(search);
    const latest = new Map<bigint, number>();
    const buckets: number[][] = [];
    for (let i = 0; i < size; i++) {
      // Few of them, so that a node takes the place of an earlier one now and then.
      const position = BigInt(random.below(size)) * 0x1_0000_4081n;
      const bucket = Math.floor((i * 2_000) / size) + random.below(40);
      const node = nodes.addNode(position, bucket);
      latest.set(position, node);
      while (buckets.length <= bucket) buckets.push([]);
      buckets[bucket]!.push(node);
    }
    for (const [position, node] of latest) expect(nodes.findNode(position)).toBe(node);
    expect(nodes.findNode(BigInt(size) * 0x1_0000_4081n)).toBe(-1);
    for (const [bucket, expected] of buckets.entries()) {
      for (const node of expected.reverse()) expect(nodes.popNode(bucket)).toBe(node);
      expect(nodes.popNode(bucket)).toBe(-1);
    }
  }
});
