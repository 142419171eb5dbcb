import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { coverFits, PACKED_LIMIT, packedCover, smallestCover } from "./cover.js";

function delta(pairs: [number, number, number][]): Int32Array {
  const table = new Int32Array(64);
  for (const [i, j, d] of pairs) table[i * 8 + j] = d;
  return table;
}

it("one interfering pair costs its own increase", () => {
  expect(smallestCover(delta([[0, 2, 3]]), 3)).toBe(3);
});

it("a triangle of ones costs two, a star of ones costs one", () => {
  expect(smallestCover(delta([[0, 1, 1], [0, 2, 1], [1, 2, 1]]), 3)).toBe(2); // biome-ignore format: one cover a line
  expect(smallestCover(delta([[0, 1, 1], [0, 2, 1], [0, 3, 1]]), 4)).toBe(1); // biome-ignore format: one cover a line
});

it("disjoint pairs add up", () => {
  expect(smallestCover(delta([[0, 3, 2], [1, 2, 5]]), 4)).toBe(7); // biome-ignore format: one cover a line
});

it("equals trying every value on random weights of three to five agents", () => {
  const seed = Seed.root("cover");
  for (let i = 0; i < 60; i++) {
    const random = seed.at(i);
    const agents = random.between(3, 5);
    const pairs: [number, number, number][] = [];
    for (let a = 0; a < agents; a++) for (let b = a + 1; b < agents; b++) pairs.push([a, b, random.below(5)]);
    const values = Array.from({ length: 5 ** agents }, (_, code) =>
      Array.from({ length: agents }, (_, a) => Math.floor(code / 5 ** a) % 5),
    );
    const covers = values.filter((x) => pairs.every(([a, b, d]) => x[a]! + x[b]! >= d));
    const least = Math.min(...covers.map((x) => x.reduce((sum, value) => sum + value, 0)));
    expect(smallestCover(delta(pairs), agents)).toBe(least);
    expect(coverFits(delta(pairs), 0, agents, least)).toBe(true);
    expect(coverFits(delta(pairs), 0, agents, least - 1)).toBe(false);
  }
});

it("a remembered cover is the smallest one, the first time and afterwards", () => {
  const seed = Seed.root("packed-cover");
  for (let i = 0; i < 3_000; i++) {
    const random = seed.at(i);
    const agents = random.between(4, 5);
    const most = random.between(1, PACKED_LIMIT - 1);
    const pairs: [number, number, number][] = [];
    const packed = [0, 0];
    for (let b = 1; b < agents; b++) {
      for (let a = 0; a < b; a++) {
        const word = pairs.length < 6 ? 0 : 1;
        const d = random.below(most + 1);
        packed[word]! |= d << (5 * (pairs.length - 6 * word));
        pairs.push([a, b, d]);
      }
    }
    const least = smallestCover(delta(pairs), agents);
    expect(packedCover(packed[0]!, packed[1]!, agents)).toBe(least);
    expect(packedCover(packed[0]!, packed[1]!, agents)).toBe(least);
  }
});
