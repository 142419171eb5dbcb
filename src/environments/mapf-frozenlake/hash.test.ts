import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashBoard, transformBoard } from "./hash.js";
import type { Board } from "./instance.js";
import { anyBoard } from "./testing/boards.js";

describe("canonical hash", () => {
  it("is invariant under the 8 symmetries, agent order and hole order", () => {
    fc.assert(
      fc.property(anyBoard(), fc.integer({ min: 0, max: 7 }), fc.infiniteStream(fc.nat()), (board, s, numbers) => {
        const image = transformBoard(board, s);
        const shuffled = <T>(items: T[]) =>
          items.map((item) => [numbers.next().value as number, item] as const).sort((a, b) => a[0] - b[0]);
        const reordered: Board = {
          size: image.size,
          holes: shuffled(image.holes).map(([, hole]) => hole),
          agents: shuffled(image.agents).map(([, agent]) => agent),
        };
        expect(hashBoard(reordered)).toBe(hashBoard(board));
      }),
      { numRuns: 500 },
    );
  });

  it("the 8 symmetries are different and each keeps neighbours neighbours", () => {
    const board: Board = { size: 3, holes: [[0, 1]], agents: [{ start: [0, 0], goal: [1, 0] }] };
    const images = Array.from({ length: 8 }, (_, s) => transformBoard(board, s));
    expect(new Set(images.map((image) => JSON.stringify(image))).size).toBe(8);
    for (const { agents } of images) {
      const { start, goal } = agents[0]!;
      expect(Math.abs(start[0] - goal[0]) + Math.abs(start[1] - goal[1])).toBe(1);
    }
  });

  it("differs for boards that are not equal under them: as many hashes as classes, counted by brute force on 2x2 and 3x3", () => {
    for (const { size, holes, agents } of [
      { size: 2, holes: 1, agents: 2 },
      { size: 3, holes: 1, agents: 1 },
    ]) {
      const boards = allBoards(size, holes, agents);
      const hashes = new Set(boards.map(hashBoard));
      // Union by comparing plain texts of all images and orders.
      const classes = new Set(boards.map((board) => smallestText(board)));
      expect(hashes.size).toBe(classes.size);
    }
  });

  it("tells start from goal, size and agent count", () => {
    const board: Board = { size: 3, holes: [], agents: [{ start: [0, 0], goal: [1, 1] }] };
    const others: Board[] = [
      { ...board, agents: [{ start: [1, 1], goal: [0, 0] }] },
      { ...board, size: 4 },
      { ...board, holes: [[2, 2]] },
      { ...board, agents: [...board.agents, { start: [2, 2], goal: [2, 1] }] },
    ];
    expect(new Set([board, ...others].map(hashBoard)).size).toBe(5);
  });
});

function smallestText(board: Board): string {
  const texts = Array.from({ length: 8 }, (_, s) => {
    const image = transformBoard(board, s);
    return JSON.stringify([image.holes.map(String).sort(), image.agents.map((agent) => JSON.stringify(agent)).sort()]);
  });
  return texts.sort()[0]!;
}

function allBoards(size: number, holes: number, agents: number): Board[] {
  const cells = Array.from({ length: size * size }, (_, i): [number, number] => [Math.floor(i / size), i % size]);
  const choose = (from: [number, number][], count: number): [number, number][][] =>
    count === 0
      ? [[]]
      : from.flatMap((cell) =>
          choose(
            from.filter((other) => other !== cell),
            count - 1,
          ).map((rest) => [cell, ...rest]),
        );
  return choose(cells, holes).flatMap((holeCells) => {
    const free = cells.filter((cell) => !holeCells.includes(cell));
    return choose(free, agents).flatMap((starts) =>
      choose(free, agents).map((goals) => ({ size, holes: holeCells, agents: starts.map((start, i) => ({ start, goal: goals[i]! })) })),
    );
  });
}
