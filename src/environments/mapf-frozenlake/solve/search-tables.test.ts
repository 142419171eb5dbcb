/** The tables of the searches alone: what is known of positions, what moves of two agents cost, and the nodes of a joint search. */
import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { partsOfSearches, placeBoard } from "./testing/compile-searches.js";
import { randomBoard } from "./testing/random-board.js";

/** The agent whose codes share a block in the table under test. */
const OWN = 4;
/** A block of what moves cost: a row for each option of the first agent. */
const ROWS = 6;
const ROW = 8;
/** More than any increase that is told apart. */
const CAP = 59;

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

it("of two agents' moves every cost up to what is asked is exact, whatever was asked before, and no other is within it", async () => {
  const [parts, exact] = [await partsOfSearches(), await partsOfSearches()];
  const seed = Seed.root("pair-moves");
  let [within, beyond] = [0, 0];
  for (let i = 0; i < 60; i++) {
    const random = seed.at(i);
    const size = random.between(3, 6);
    const board = randomBoard(random, size, Math.round(size * size * 0.3), 2)!;
    for (const one of [parts, exact]) placeBoard(one, board);
    if (parts.beginPairs(size, 2) === 0 || exact.beginPairs(size, 2) === 0) continue;
    const done = size * size;
    const goals = board.agents.map(({ goal: [row, column] }) => row * size + column);
    const isHole = (code: number) => board.holes.some(([row, column]) => row * size + column === code);
    const codes = [...Array(done + 1).keys()].filter((code) => !isHole(code));
    for (let asked = 0; asked < 12; asked++) {
      const [a, b] = [random.pick(codes), random.pick(codes)];
      const cells = [a, b].map((code, agent) => (code === done ? goals[agent]! : code));
      for (const slack of random.below(2) === 0 ? [0, 1, 2, 3, 8] : [2, 20]) {
        const block = parts.movesOfPair(0, 1, a, b, slack);
        const costs = new Uint8Array(parts.memory.buffer, block, ROWS * ROW);
        costs.forEach((found, at) => {
          const moves = [parts.optionOf(0, a, Math.floor(at / ROW)), parts.optionOf(1, b, at % ROW)];
          const cost = moves.includes(-1) ? Number.POSITIVE_INFINITY : costOf(moves[0]!, moves[1]!, cells);
          const where = { i, a, b, slack, at };
          if (cost <= slack) {
            expect({ ...where, found }).toEqual({ ...where, found: cost });
            within++;
          } else if (found <= slack) expect({ ...where, found }).toEqual({ ...where, found: "more" });
          else beyond++;
        });
      }
    }
  }
  expect(Math.min(within, beyond)).toBeGreaterThan(5000);

  function costOf(moveA: number, moveB: number, [cellA, cellB]: number[]): number {
    const [nextA, nextB] = [moveA, moveB].map((move) => (move >> 2) & 127);
    if (nextA === nextB || (nextA === cellB && nextB === cellA)) return Number.POSITIVE_INFINITY;
    return (moveA & 3) + (moveB & 3) + exact.pairIncrease(0, 1, moveA >> 9, moveB >> 9, CAP);
  }
});
