import { expect, it } from "vitest";
import { smallestCover } from "./cover.js";

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
