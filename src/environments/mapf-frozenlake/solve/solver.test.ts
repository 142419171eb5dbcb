/** What only shows in boards that are large, hard or many: the searches' memory is not checked by anything but these. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Random, Seed } from "../../../core/index.js";
import { neighbourTables } from "../neighbours.js";
import { Searches } from "./searches.js";
import { Solver } from "./solver.js";
import { partsOfSearches } from "./testing/compile-searches.js";

interface Packed {
  size: number;
  holes: number[];
  starts: number[];
  goals: number[];
}

function draw(random: Random, size: number, holeCount: number, agents: number): Packed {
  const cells = Array.from({ length: size * size }, (_, cell) => cell);
  const take = (from: number, count: number) => {
    for (let i = from; i < from + count; i++) {
      const j = i + random.below(cells.length - i);
      [cells[i], cells[j]] = [cells[j]!, cells[i]!];
    }
    return cells.slice(from, from + count);
  };
  const holes: number[] = Array.from({ length: size * size }, () => 0);
  for (const hole of take(0, holeCount)) holes[hole] = 1;
  return { size, holes, starts: take(holeCount, agents), goals: take(holeCount, agents) };
}

const rows = (...lines: string[]) => [...lines.join("")].map((letter) => (letter === "#" ? 1 : 0));
const certify = (solver: Solver, { size, holes, starts, goals }: Packed, options = {}) =>
  solver.certifyPacked(size, holes, starts, goals, starts.length, options);

it("certificates of four to eight agents are those of an earlier solver: status, optima and waits of 689 boards", () => {
  const solver = new Solver();
  const digest = createHash("sha256");
  const seed = Seed.root("many-certificates");
  let waits = 0;
  let decided = 0;
  for (let i = 0; i < 700; i++) {
    const random = seed.at(i);
    const agents = random.between(4, 8);
    const size = agents > 6 ? random.between(4, 10) : random.between(3, 10);
    const free = size * size - random.below(Math.floor((size * size) / 4) + 1);
    if (free < agents + 1) continue;
    const { status, optimum, wait_required } = certify(solver, draw(random, size, size * size - free, agents), { budget: 60_000 });
    if (status === "budget-exhausted") continue;
    decided++;
    if (wait_required) waits++;
    digest.update(`${i} ${status} ${optimum.sum_of_costs} ${optimum.makespan} ${optimum.sum_of_shortest} ${wait_required}\n`);
  }
  expect([decided, waits]).toEqual([689, 216]);
  expect(digest.digest("hex")).toBe("7cdbbdb0f1b5b7848bca3ddf050617876fc7ad19990a65366511b8dc0ed39e45");
});

it("a way around without waits that only sets of agents show", () => {
  const board = {
    size: 4,
    holes: rows(".##.", "...#", "....", "..#."),
    starts: [5, 14, 12, 7, 3, 13, 15, 0],
    goals: [5, 14, 11, 7, 3, 13, 15, 0],
  };
  expect(certify(new Solver(), board).wait_required).toBe(false);
});

it("what a pair was once proven to cost is forgotten, also when the boards are more than its stamps", () => {
  const solver = new Solver();
  const seed = Seed.root("stamps");
  const boards = Array.from({ length: 60 }, (_, i) => draw(seed.at(i), 3, 1, 3));
  const first = boards.map((board) => JSON.stringify(certify(solver, board)));
  for (let round = 0; round < 3000; round++) {
    for (const [i, board] of boards.entries()) {
      const again = JSON.stringify(certify(solver, board));
      if (again !== first[i]) expect([round, i, again]).toEqual([round, i, first[i]]);
    }
  }
});

describe("boards that need more room than most", () => {
  it("eight agents on the largest board", () => {
    const seed = Seed.root("eight");
    const solver = new Solver();
    const optima = [0, 1, 3, 8, 9, 11].map((i) => certify(solver, draw(seed.at(i), 10, 25, 8)).optimum);
    expect(optima.map(({ sum_of_costs, makespan }) => [sum_of_costs, makespan])).toEqual([[48, 14], [79, 14], [87, 15], [79, 19], [70, 14], [89, 18]]); // biome-ignore format: one line
  });

  it("three agents that change their order at the far end of a winding corridor: 307 above the shortest", () => {
    const holes = rows("..........", "#########.", "..........", ".#########", "..........", "#########.", "..........", ".#########", "..........", "#######..#"); // biome-ignore format: one board a line
    const { optimum } = certify(new Solver(), { size: 10, holes, starts: [0, 1, 2], goals: [2, 1, 0] });
    expect(optimum).toEqual({ sum_of_costs: 311, makespan: 104, sum_of_shortest: 4 });
  });

  it("two boards of five agents whose proofs ask about hundreds of thousands of positions", () => {
    const solver = new Solver();
    const dearest: [Packed, number][] = [
      [{ size: 8, holes: rows("........", ".....#..", "#.#...#.", "..####.#", ".#......", ".......#", "........", ".##....."), starts: [0, 7, 11, 56, 54], goals: [42, 50, 48, 0, 7] }, 82], // biome-ignore format: one board a line
      [{ size: 10, holes: rows(".....#....", ".......#..", ".##..##...", "..#.#.....", "##.##.#...", "...#.....#", ".......#..", "..........", "...##.....", ".......##."), starts: [76, 14, 6, 39, 71], goals: [7, 63, 28, 30, 31] }, 96], // biome-ignore format: one board a line
    ];
    for (const [board, cost] of dearest)
      expect(certify(solver, board, { needMakespan: false, needWait: false }).optimum.sum_of_costs).toBe(cost);
  });

  it("five agents whose fours are asked from the first node on", async () => {
    const parts = await partsOfSearches();
    parts.askFoursFrom(0);
    const bytes = () => new Uint8Array(parts.memory.buffer);
    for (const [size, table] of neighbourTables(() => 128, 127).entries()) bytes().set(table, parts.neighbourTablesAt() + size * 512);
    const solver = new Solver();
    const seed = Seed.root("fours");
    let conflicts = 0;
    for (let i = 0; i < 150; i++) {
      const board = draw(seed.at(i), 4, 3, 5);
      bytes().set(board.holes, parts.holesAt());
      bytes().set(board.starts, parts.startsAt());
      bytes().set(board.goals, parts.goalsAt());
      parts.certify(4, 5, 1_000_000, 0, 0, 0);
      const sum = new Int32Array(parts.memory.buffer)[parts.resultsAt() / 4];
      const { conflict, optimum } = certify(solver, board, { needMakespan: false, needWait: false });
      expect([i, sum]).toEqual([i, optimum.sum_of_costs]);
      if (conflict) conflicts++;
    }
    expect(conflicts).toBeGreaterThan(100);
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
  expect(() => certify(solver, { size: 10, holes: Array(100).fill(0), starts: nine, goals: nine })).toThrow("up to 8 agents");
  expect(() => certify(solver, { size: 11, holes: Array(121).fill(0), starts: [0], goals: [1] })).toThrow("sizes up to 10");
});

it("a board that is undecided falls back on growing sets where the nodes for a plan do not suffice", () => {
  const holes = rows("..........", "#########.", "..........", ".#########", "..........", "#########.", "..........", ".#########", "..........", "#########."); // biome-ignore format: one board a line
  const searches = new Searches(10);
  expect(searches.certify(10, holes, [0, 1, 2, 3, 4], [41, 40, 42, 43, 44], 5, 50_000_000, false, false, false)).toBe("unsolvable");
  expect(searches.nodes).toBeGreaterThan(10);
});
