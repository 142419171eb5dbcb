/** Four to eight agents are closed over the increases of their sets; A* over all of them at once is another way to the same cost. */
import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { Grid } from "./grid.js";
import { JointSearch } from "./joint-search.js";
import { NodeBudget } from "./node-budget.js";
import { PairIncreases } from "./pair-increases.js";
import { certify } from "./solve.js";
import { randomBoard } from "./testing/random-board.js";

const grid = new Grid();
const budget = new NodeBudget();
const pairs = new PairIncreases(grid, budget);
const joint = new JointSearch(grid, pairs, budget);
const ANY_COST = 1000;

/** The least sum of costs by A* over the joint positions of all agents. */
function costOfAll(board: NonNullable<ReturnType<typeof randomBoard>>): number {
  const cell = ([row, column]: readonly [number, number]) => row * board.size + column;
  const holes = new Uint8Array(board.size ** 2);
  for (const hole of board.holes) holes[cell(hole)] = 1;
  const count = board.agents.length;
  budget.start(50_000_000);
  pairs.reset();
  const reachable = grid.load(board.size, holes, board.agents.map((a) => cell(a.start)), board.agents.map((a) => cell(a.goal)), count); // biome-ignore format: one call
  expect(reachable).toBe(true);
  grid.completeDistances();
  return grid.sumOfShortest + joint.run(Array.from({ length: count }, (_, a) => a), count, ANY_COST); // biome-ignore format: one call
}

it.each([
  [4, 3, 2, 300],
  [5, 3, 1, 300],
  [6, 3, 1, 100],
  [7, 3, 1, 20],
  [8, 3, 0, 4],
])("%i agents on size %i and %i hole(s): both find the same cost", (agents, size, holes, boards) => {
  const seed = Seed.root("many-agents").child(agents, size);
  let compared = 0;
  for (let i = 0; compared < boards; i++) {
    const board = randomBoard(seed.at(i), size, holes, agents);
    if (board === undefined) continue;
    const { status, optimum } = certify(board);
    if (status !== "solved") continue;
    expect([i, optimum.sum_of_costs]).toEqual([i, costOfAll(board)]);
    compared++;
  }
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
])(
  "two agents never exchange their cells, and one that is followed may go anywhere else (size %i, holes %j, from %j)",
  (size, holes, starts, goals, cost) => {
    const cell = (id: number): [number, number] => [Math.floor(id / size), id % size];
    const agents = starts.map((start, a) => ({ start: cell(start), goal: cell(goals[a]!) }));
    expect(certify({ size, holes: holes.map(cell), agents }).optimum.sum_of_costs).toBe(cost);
    expect(costOfAll({ size, holes: holes.map(cell), agents })).toBe(cost);
  },
);
