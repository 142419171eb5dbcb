/** What every two options of two agents cost together, as the searches keep it, against the exact increases one by one. */
import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { partsOfSearches, placeBoard } from "./testing/compile-searches.js";
import { randomBoard } from "./testing/random-board.js";

const ROWS = 6;
const ROW = 8;
/** More than any increase that is told apart. */
const CAP = 59;

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
