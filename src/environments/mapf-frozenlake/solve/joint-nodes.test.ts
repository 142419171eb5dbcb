import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { partsOfSearches } from "./testing/compile-searches.js";

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
