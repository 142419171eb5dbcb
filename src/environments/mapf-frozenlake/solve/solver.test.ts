/** What only shows in boards that are large, hard or many: the searches' memory is not checked by anything but these. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { Searches } from "./searches.js";
import { certify, solve } from "./solve.js";
import { Solver } from "./solver.js";
import { differences } from "./testing/compare.js";
import { certifyBy, partsOfSearches } from "./testing/compile-searches.js";
import { randomBoard } from "./testing/random-board.js";
import { rowBoard } from "./testing/row-board.js";

it("certificates of four to eight agents are those of an earlier solver: status, optima and waits of 704 boards", () => {
  const digest = createHash("sha256");
  const seed = Seed.root("many-certificates");
  let waits = 0;
  let decided = 0;
  for (let i = 0; i < 820; i++) {
    const random = seed.at(i);
    const agents = random.between(4, 8);
    const size = random.between(agents > 6 ? 4 : 3, 10);
    const board = randomBoard(random, size, random.below(Math.floor((size * size) / 4) + 1), agents, i % 4 === 0);
    if (board === undefined) continue;
    const { status, optimum, wait_required } = certify(board, { budget: 60_000 });
    if (status === "budget-exhausted") continue;
    decided++;
    if (wait_required) waits++;
    digest.update(`${i} ${status} ${optimum.sum_of_costs} ${optimum.makespan} ${optimum.sum_of_shortest} ${wait_required}\n`);
  }
  expect([decided, waits]).toEqual([704, 196]);
  expect(digest.digest("hex")).toBe("8f7b6419ba1807cf0d184f230f3b1415fa562305277bcd3c2e542dd7a2401cc5");
});

it.each([
  [["...", "#..", "..."], [8, 4, 7], [8, 6, 5], 2],
  [["...", "..#", "#.."], [0, 2, 3], [3, 7, 1], 4],
  [["..#", "...", "..."], [8, 1, 7, 4], [7, 6, 3, 4], 4],
  [["....", "....", "....", "...."], [6, 7, 9, 12], [9, 8, 5, 10], 2],
])("a way around without waits that only sets of agents show: no pair costs anything (%j, from %j to %j)", (rows, starts, goals, extra) => {
  const board = rowBoard(rows, starts, goals);
  const { optimum, wait_required } = certify(board);
  expect([optimum.sum_of_costs - optimum.sum_of_shortest, wait_required]).toEqual([extra, false]);
  expect(differences(board)).toEqual([]);
  for (const first of board.agents) {
    for (const second of board.agents) {
      if (first !== second) expect(certify({ ...board, agents: [first, second] }).conflict).toBe(false);
    }
  }
});

it("what a pair was once proven to cost is forgotten, also when the boards are more than its stamps", () => {
  const seed = Seed.root("stamps");
  const boards = Array.from({ length: 60 }, (_, i) => randomBoard(seed.at(i), 3, 1, 3)!);
  const first = boards.map((board) => JSON.stringify(certify(board)));
  for (let round = 0; round < 3000; round++) {
    for (const [i, board] of boards.entries()) {
      const again = JSON.stringify(certify(board));
      if (again !== first[i]) expect([round, i, again]).toEqual([round, i, first[i]]);
    }
  }
});

describe("boards that need more room than most", () => {
  it("eight agents on the largest board", () => {
    const seed = Seed.root("eight");
    const optima = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => certify(randomBoard(seed.at(i), 10, 25, 8)!, { budget: 60_000 }).optimum);
    expect(optima.map(({ sum_of_costs, makespan }) => [sum_of_costs, makespan])).toEqual([[88, 18], [62, 13], [69, 13], [-1, -1], [64, 12], [80, 19], [67, 13], [-1, -1], [70, 14], [53, 11]]); // biome-ignore format: one line
  });

  it("three agents that change their order at the far end of a winding corridor: 307 above the shortest", () => {
    const rows = ["..........", "#########.", "..........", ".#########", "..........", "#########.", "..........", ".#########", "..........", "#######..#"]; // biome-ignore format: one board a line
    const { optimum } = certify(rowBoard(rows, [0, 1, 2], [2, 1, 0]));
    expect(optimum).toEqual({ sum_of_costs: 311, makespan: 104, sum_of_shortest: 4 });
  });

  it("two boards of five agents whose proofs ask about hundreds of thousands of positions", () => {
    const costs = [
      rowBoard(["........", ".....#..", "#.#...#.", "..####.#", ".#......", ".......#", "........", ".##....."], [0, 7, 11, 56, 54], [42, 50, 48, 0, 7]), // biome-ignore format: one board a line
      rowBoard([".....#....", ".......#..", ".##..##...", "..#.#.....", "##.##.#...", "...#.....#", ".......#..", "..........", "...##.....", ".......##."], [76, 14, 6, 39, 71], [7, 63, 28, 30, 31]), // biome-ignore format: one board a line
    ].map((board) => solve(board, { objectives: ["sum_of_costs"] }).sum_of_costs);
    expect(costs).toEqual([82, 96]);
  });

  it("five agents whose fours are asked from the first node on", async () => {
    const parts = await partsOfSearches();
    parts.askFoursFrom(0);
    const seed = Seed.root("fours");
    let conflicts = 0;
    for (let i = 0; i < 150; i++) {
      const board = randomBoard(seed.at(i), 4, 3, 5)!;
      const { sum_of_costs } = certifyBy(parts, board, 1_000_000);
      const { conflict, optimum } = certify(board);
      expect([i, sum_of_costs]).toEqual([i, optimum.sum_of_costs]);
      if (conflict) conflicts++;
    }
    expect(conflicts).toBeGreaterThan(100);
  });

  it("a board costs the same nodes whether its tables begin with room for all or for hardly anything", async () => {
    const [few, many] = [await partsOfSearches(), await partsOfSearches()];
    few.beginWithBlocks(1);
    const seed = Seed.root("blocks");
    let nodes = 0;
    for (let i = 0; i < 140; i++) {
      const random = seed.at(i);
      const size = random.between(3, 6);
      const board = randomBoard(random, size, Math.round(size * size * 0.25), random.between(4, size === 3 ? 6 : 5))!;
      const [grown, roomy] = [few, many].map((parts) => ({ i, ...certifyBy(parts, board, 10_000_000), nodes: parts.spentNodes() }));
      expect(grown).toEqual(roomy);
      nodes += roomy!.nodes;
    }
    expect(nodes).toBeGreaterThan(100_000);
    // Tables that grew have taken more space.
    expect(few.spaceEnd()).toBeGreaterThan(many.spaceEnd());
  });

  it("boards after one for which memory did not suffice are judged as if it had not been", async () => {
    const seed = Seed.root("memory");
    const boards = Array.from({ length: 30 }, (_, i) => randomBoard(seed.at(i), 4, 4, 5)!);
    boards.sort((a, b) => certify(b).nodes - certify(a).nodes);
    let ended = 0;
    for (let blocks = 0; blocks < 30; blocks++) {
      const parts = await partsOfSearches();
      parts.endSpaceAfter(blocks);
      try {
        certifyBy(parts, boards[0]!, 1_000_000);
      } catch (error) {
        expect((error as Error).message).toBe("the node budget is exhausted");
        ended++;
      }
      parts.endSpaceAfter(1_000_000);
      for (const board of boards.slice(0, 4)) {
        const { status, optimum } = certify(board);
        const { sum_of_costs, makespan } = optimum;
        expect([blocks, certifyBy(parts, board, 1_000_000)]).toEqual([blocks, { status, sum_of_costs, makespan }]);
      }
    }
    expect([ended > 5, ended < 30]).toEqual([true, true]);
  });

  it("a path past the planner's horizon gives the board up", async () => {
    const parts = await partsOfSearches();
    parts.putCell(0, 191, 5);
    expect(() => parts.putCell(0, 192, 5)).toThrow("the node budget is exhausted");
  });
});

it("a board with more cells or agents than there is room for is refused", () => {
  const solver = new Solver();
  const nine = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  expect(() => solver.certifyPacked(10, Array(100).fill(0), nine, nine, 9)).toThrow("up to 8 agents");
  expect(() => solver.certifyPacked(11, Array(121).fill(0), [0], [1], 1)).toThrow("sizes up to 10");
});

it("that agents in a corridor cannot change their order is known from the corridor, however large the board beside it", () => {
  const rows = ["#.........", "#.........", "#.........", "##########", ".....#....", "######....", "#.........", "#.........", "#.........", "#........."]; // biome-ignore format: one board a line
  const inOrder = certify(rowBoard(rows, [40, 41, 42, 43], [41, 42, 43, 44]), { budget: 1_000 });
  const changed = certify(rowBoard(rows, [40, 41, 42, 43], [43, 42, 41, 40]), { budget: 1_000 });
  expect([inOrder.status, changed.status]).toEqual(["solved", "unsolvable"]);
});

it("a board that is undecided falls back on growing sets where the nodes for a plan do not suffice", () => {
  const rows = ["..........", "#########.", "..........", ".#########", "..........", "#########.", "..........", ".#########", "..........", "#########."]; // biome-ignore format: one board a line
  const holes = [...rows.join("")].map((letter) => (letter === "#" ? 1 : 0));
  const searches = new Searches(10);
  expect(searches.certify(10, holes, [0, 1, 2, 3, 4], [41, 40, 42, 43, 44], 5, 50_000_000, false, false, false)).toBe("unsolvable");
  expect(searches.nodes).toBeGreaterThan(10);
});
