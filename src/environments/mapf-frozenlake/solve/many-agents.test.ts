/** Four to eight agents are closed over the increases of their sets; A* over all of them at once, which shares the pairs with it, is another way. */
import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import type { Board } from "../instance.js";
import { certify, solve } from "./solve.js";
import { partsOfSearches, placeBoard } from "./testing/compile-searches.js";
import { randomBoard } from "./testing/random-board.js";
import { arrivals } from "./testing/simulate.js";

const parts = await partsOfSearches();

/** The least sum of costs by A* over the joint positions of all agents; −1: unsolvable. */
function costOfAll(board: Board): number {
  placeBoard(parts, board);
  return parts.costByJointSearch(board.size, board.agents.length, 50_000_000, 1000);
}

it.each([
  [4, 2, 400],
  [5, 1, 300],
  [6, 1, 100],
  [7, 1, 20],
  [8, 0, 6],
])("%i agents on size 3 with %i hole(s): both find the same cost, or that there is no plan", (agents, holes, boards) => {
  const seed = Seed.root("many-agents").child(agents);
  for (let i = 0; i < boards; i++) {
    const board = randomBoard(seed.at(i), 3, holes, agents)!;
    const { status, optimum } = certify(board);
    const cost = costOfAll(board);
    const found = [i, status, optimum.sum_of_costs];
    expect(found).toEqual(cost < 0 ? [i, "unsolvable", -1] : [i, "solved", cost]);
  }
});

it("plans of four to eight agents are each agent's own, valid and as good as is claimed", () => {
  const seed = Seed.root("plans-of-many");
  let judged = 0;
  for (let i = 0; i < 160; i++) {
    const random = seed.at(i);
    const agents = random.between(4, 8);
    const board = randomBoard(random, random.between(agents > 6 ? 4 : 3, 6), random.between(0, 4), agents);
    const solution = board === undefined ? undefined : solve(board, { budget: 20_000 });
    if (board === undefined || solution?.status !== "solved" || solution.sum_of_costs === solution.sum_of_shortest) continue;
    const { plans, sum_of_costs, makespan } = solution;
    const times = arrivals(board, plans.sum_of_costs!);
    expect([i, times, typeof times !== "string" && times.reduce((sum, time) => sum + time, 0)]).toEqual([i, times, sum_of_costs]);
    const latest = arrivals(board, plans.makespan!);
    expect([i, latest, typeof latest !== "string" && Math.max(...latest)]).toEqual([i, latest, makespan]);
    judged++;
  }
  expect(judged).toBeGreaterThan(60);
});

// Boards on which it decides from which side an agent has come onto the cell that another one is about to leave.
it.each([
  [3, [2, 3], [0, 7, 8, 6], [8, 6, 5, 0], 18],
  [3, [1, 3], [8, 5, 2, 6], [5, 4, 6, 8], 13],
  [3, [3], [6, 8, 2, 0, 4], [1, 7, 5, 4, 8], 16],
  [3, [7], [0, 5, 6, 8, 1], [3, 8, 1, 2, 0], 12],
  [3, [7], [8, 3, 4, 5, 1, 6], [4, 6, 2, 0, 5, 1], 19],
  [4, [0, 6, 8, 10, 11, 15], [1, 4, 14, 7], [14, 5, 13, 12], 33],
  [4, [4, 6, 10, 12, 14, 15], [2, 1, 7, 0], [1, 3, 13, 5], 39],
  // From above or from below.
  [3, [5, 6], [7, 8, 2, 1, 4], [1, 7, 4, 0, 8], 25],
  [3, [1, 6], [5, 8, 7, 0, 3], [0, 5, 2, 4, 8], 22],
  [4, [4, 5, 8, 9, 10, 12, 13, 14, 15], [3, 6, 0, 1, 2], [7, 6, 3, 11, 0], 26],
  // From the left or from the right.
  [4, [0, 1, 2, 3, 4, 5, 6], [14, 12, 8, 13, 9], [15, 13, 8, 12, 9], 9],
  [4, [0, 4, 5, 8, 11, 12, 13, 14, 15], [2, 9, 3, 6], [9, 10, 3, 2], 15],
  [4, [0, 1, 3, 4, 5, 12, 13, 15], [8, 7, 10, 11], [9, 6, 8, 14], 15],
])(
  "two agents never exchange their cells, and one that is followed may go anywhere else (size %i, holes %j, from %j)",
  (size, holes, starts, goals, cost) => {
    const cell = (id: number): [number, number] => [Math.floor(id / size), id % size];
    const agents = starts.map((start, a) => ({ start: cell(start), goal: cell(goals[a]!) }));
    expect(certify({ size, holes: holes.map(cell), agents }).optimum.sum_of_costs).toBe(cost);
    expect(costOfAll({ size, holes: holes.map(cell), agents })).toBe(cost);
  },
);
