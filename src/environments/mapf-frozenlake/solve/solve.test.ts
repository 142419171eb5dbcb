import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InputError, Seed } from "../../../core/index.js";
import { transformBoard } from "../hash.js";
import type { Board } from "../instance.js";
import { packBoard } from "./pack-board.js";
import { certify, solve } from "./solve.js";
import { type PackedOptions, Solver } from "./solver.js";
import { differences } from "./testing/compare.js";
import { randomBoard } from "./testing/random-board.js";
import { rowBoard } from "./testing/row-board.js";

/** A board from cell numbers row·size + column. */
function board(size: number, holes: number[], ends: [start: number, goal: number][]): Board {
  const cell = (id: number): [number, number] => [Math.floor(id / size), id % size];
  return { size, holes: holes.map(cell), agents: ends.map(([start, goal]) => ({ start: cell(start), goal: cell(goal) })) };
}

function optimum(of: Board): [sumOfCosts: number, makespan: number, sumOfShortest: number] {
  const { status, optimum: best } = certify(of);
  expect(status).toBe("solved");
  expect(differences(of)).toEqual([]);
  return [best.sum_of_costs, best.makespan, best.sum_of_shortest];
}

describe("a board that is none", () => {
  const free = board(3, [], [[0, 8]]); // biome-ignore format: one board a line
  it.each<[string, unknown, RegExp]>([
    ["with two agents on one start", board(3, [], [[0, 4], [0, 5]]), /agents 0 and 1 share the start \[0,0\]/],
    ["with a start on a hole", board(3, [0], [[0, 4]]), /start \[0,0\] of agent 0 is a hole/],
    ["with a goal outside", { ...free, agents: [{ start: [0, 0], goal: [5, 5] }] }, /goal \[5,5\] of agent 0 lies outside/],
    ["without agents", { ...free, agents: [] }, /agents/],
    ["larger than the solver takes", { ...free, size: 20 }, /size/],
    ["that is nothing", undefined, /the board/],
  ])("%s is refused by name and never judged", (_, given, message) => {
    for (const judge of [solve, certify]) {
      expect(() => judge(given as Board)).toThrow(InputError);
      expect(() => judge(given as Board)).toThrow(message);
    }
  }); // biome-ignore format: one board a line

  it.each([-1, 0, 1.5, Number.NaN])("is not told apart from one that is hard by a budget of %d nodes, which is refused", (budget) => {
    for (const judge of [solve, certify]) expect(() => judge(free, { budget })).toThrow(/is no budget of search nodes/);
  });

  it("has no plan for an objective that is none", () => {
    expect(() => solve(free, { objectives: ["cost" as "makespan"] })).toThrow(InputError);
  });
});

describe("the solver on boards worked out by hand", () => {
  it("adds nothing where the shortest paths do not meet", () => {
    expect(optimum(board(3, [], [[0, 2], [6, 8]]))).toEqual([4, 2, 4]); // biome-ignore format: one board a line
  });

  it("makes one of two crossing agents wait, and says that waiting is required", () => {
    const crossing = board(3, [], [[3, 5], [1, 7]]); // biome-ignore format: one board a line
    expect(optimum(crossing)).toEqual([5, 3, 4]);
    expect(certify(crossing)).toMatchObject({ conflict: true, wait_required: true });
  });

  it("never lets two agents exchange their cells over one edge", () => {
    expect(optimum(board(2, [], [[0, 1], [1, 0]]))).toEqual([4, 3, 2]); // biome-ignore format: one board a line
  });

  it("lets agents follow each other and four agents rotate", () => {
    expect(optimum(board(3, [3, 4, 5, 6, 7, 8], [[0, 1], [1, 2]]))).toEqual([2, 1, 2]); // biome-ignore format: one board a line
    expect(optimum(board(2, [], [[0, 1], [1, 3], [3, 2], [2, 0]]))).toEqual([4, 1, 4]); // biome-ignore format: one board a line
  });

  it("lets an agent leave its goal and come back, and counts the final arrival", () => {
    const pocket = board(3, [3, 5, 6, 7, 8], [[1, 1], [0, 2]]); // biome-ignore format: one board a line
    expect(optimum(pocket)).toEqual([4, 2, 2]);
    expect(certify(pocket)).toMatchObject({ conflict: true, wait_required: false });
  });

  it("costs nothing for an agent that starts on its goal and may stay", () => {
    expect(optimum(board(3, [], [[4, 4]]))).toEqual([0, 0, 0]);
    expect(solve(board(3, [], [[4, 4]])).plans).toEqual({ sum_of_costs: [[]], makespan: [[]] });
  });

  it("delays a goal that lies on another agent's route", () => {
    // Row 0 and cells 4 and 5 below it are free. Agent 0's goal is cell 1, on the only way of agent 1 from cell 0 to cell 3.
    const route = board(4, [6, 7, 8, 9, 10, 11, 12, 13, 14, 15], [[2, 1], [0, 3], [4, 0]]); // biome-ignore format: one board a line
    expect(optimum(route)).toEqual([9, 4, 5]);
  });

  it("finds 7 on the corridor trap on which published corridor reasoning answers 8", () => {
    expect(optimum(board(3, [0, 2], [[7, 3], [5, 1], [6, 8]]))[0]).toBe(7); // biome-ignore format: one board a line
  });
});

describe("boards without a solution", () => {
  it("are unsolvable when a goal is cut off, and then have no sum of shortest", () => {
    const result = solve(board(3, [1, 4, 7], [[0, 2]]));
    expect(result.status).toBe("unsolvable");
    expect(result.sum_of_shortest).toBeUndefined();
    expect(result.plans).toEqual({});
  });

  it("are unsolvable when two agents cannot pass each other", () => {
    expect(certify(board(3, [3, 4, 5, 6, 7, 8], [[0, 2], [2, 0]])).status).toBe("unsolvable"); // biome-ignore format: one board a line
  });

  it("differ from boards on which the budget ends first, and the budget is nodes: the same every time", () => {
    const crossing = board(3, [], [[3, 5], [1, 7]]); // biome-ignore format: one board a line
    expect(certify(crossing, { budget: 3 }).status).toBe("budget-exhausted");
    const { nodes } = certify(crossing);
    expect(certify(crossing, { budget: nodes })).toMatchObject({ status: "solved", nodes });
    expect(certify(crossing, { budget: nodes - 1 }).status).toBe("budget-exhausted");
  });
});

describe("the cost of a board in nodes", () => {
  const costOf = (solver: Solver, board: Board, options: PackedOptions) => {
    const { size, holes, starts, goals } = packBoard(board);
    const { status } = solver.certifyPacked(size, holes, starts, goals, starts.length, options);
    return `${status} after ${solver.nodes}`;
  };

  it("does not depend on the boards before it, whatever the solver keeps", () => {
    const used = new Solver();
    const seed = Seed.root("solver-kept");
    for (let i = 0; i < 60; i++) {
      const random = seed.at(i);
      const size = random.between(3, 4);
      const drawn = randomBoard(random, size, random.between(2, 7), random.between(2, 5));
      if (drawn === undefined) continue;
      const first = costOf(used, drawn, { budget: 5_000 });
      expect(costOf(used, drawn, { budget: 5_000 })).toBe(first);
      expect(costOf(new Solver(), drawn, { budget: 5_000 })).toBe(first);
    }
  });

  it("does not depend on the boards before it where it stops above the shortest distances", () => {
    const used = new Solver();
    const seed = Seed.root("before");
    for (let i = 0; i < 40; i++) {
      const random = seed.at(i);
      const drawn = randomBoard(random, 3, random.between(0, 1), random.between(4, 7))!;
      const options = { budget: 200_000, stopAboveSic: i % 2 === 0 };
      expect([i, costOf(used, drawn, options)]).toEqual([i, costOf(new Solver(), drawn, options)]);
    }
  });
});

describe("the options", () => {
  it("give plans for the objectives asked for and no others", () => {
    const crossing = board(3, [], [[3, 5], [1, 7]]); // biome-ignore format: one board a line
    expect(Object.keys(solve(crossing, { objectives: ["makespan"] }).plans)).toEqual(["makespan"]);
    expect(solve(crossing, { objectives: ["sum_of_costs"] }).makespan).toBeUndefined();
  });

  it("drop a board above its shortest distances on request, and only such a board", () => {
    const solver = new Solver();
    const status = (starts: number[], goals: number[]) =>
      solver.certifyPacked(3, new Uint8Array(9), starts, goals, 2, { stopAboveSic: true }).status;
    expect(status([3, 1], [5, 7])).toBe("above-shortest");
    expect(status([0, 6], [2, 8])).toBe("solved");
  });
});

describe("the solver and the brute force", () => {
  it.each([
    ["three by three, two agents", 3, 2, 4, 150],
    ["three by three, three agents", 3, 3, 4, 120],
    ["three by three, four agents", 3, 4, 3, 12],
    ["four by four, two agents", 4, 2, 8, 40],
  ])("agree on random boards: %s", (_, size, agents, mostHoles, boards) => {
    const seed = Seed.root("solver-quick").child(size, agents);
    const found: string[] = [];
    for (let i = 0; i < boards; i++) {
      const random = seed.at(i);
      const drawn = randomBoard(random, size, random.between(1, mostHoles), agents);
      if (drawn !== undefined) found.push(...differences(drawn));
    }
    expect(found).toEqual([]);
  });
});

describe("the certificate", () => {
  it("is the same for all 8 symmetries and every order of the agents", () => {
    const seed = Seed.root("solver-symmetry");
    const inputs = fc.tuple(fc.nat(1_000_000), fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 2 }));
    fc.assert(
      fc.property(inputs, ([index, symmetry, turn]) => {
        const random = seed.at(index);
        const size = random.between(3, 6);
        const original = randomBoard(random, size, random.below(Math.floor(size * size * 0.3)), 3);
        if (original === undefined) return;
        const image = transformBoard(original, symmetry);
        image.agents = [...image.agents.slice(turn), ...image.agents.slice(0, turn)];
        const { nodes: _nodes, ...expected } = certify(original);
        const { nodes: _others, ...actual } = certify(image);
        // What is given up early depends on the order; only what is proven has to agree.
        if (expected.status === "unsolvable") expect(actual.status).toBe("unsolvable");
        else expect(actual).toEqual(expected);
      }),
      { numRuns: 60, seed: 1 },
    );
  });
});

describe("the solver on boards whose solvability it cannot decide beforehand", () => {
  const onRows = (rows: string[], starts: number[], goals: number[]) =>
    solve(rowBoard(rows, starts, goals), { objectives: ["sum_of_costs"] });

  it("finds the plan first, where growing sets of agents took half a minute", () => {
    const rows = ["#.#..#....", "..#....#.#", "..##.#.#..", "..#.#.#.#.", "..#.##..#.", ".....#....", "...#.....#", "..#...#.#.", ".##.....##", ".....#...#"]; // biome-ignore format: one board a line
    const { status, sum_of_costs, sum_of_shortest, nodes } = onRows(rows, [37, 94, 24, 15, 31], [3, 51, 29, 59, 18]);
    expect([status, sum_of_costs, sum_of_shortest]).toEqual(["solved", 94, 60]);
    expect(nodes).toBeLessThan(400_000);
  });

  it("still ends on one without a plan: agents in a winding corridor keep their order", () => {
    const rows = ["..........", "#########.", "..........", ".#########", "..........", "#########.", "..........", ".#########", "..........", "#########."]; // biome-ignore format: one board a line
    expect(onRows(rows, [0, 1, 2, 3, 4], [40, 41, 42, 43, 44]).status).toBe("solved");
    expect(onRows(rows, [0, 1, 2, 3, 4], [41, 40, 42, 43, 44]).status).toBe("unsolvable");
  });
});
