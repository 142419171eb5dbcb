import { describe, expect, it } from "vitest";
import { InputError } from "../../core/index.js";
import { completeInstance, identifyBoard } from "./complete.js";
import { demonstrate, optimalPlan } from "./demonstrate.js";
import type { Board } from "./instance.js";
import { boardOf } from "./testing/boards.js";
import { verify } from "./verify.js";

/** Two agents change places in a corridor with one niche: one has to step aside. */
const board: Board = boardOf(".... H.HH HHHH HHHH", [
  [
    [0, 0],
    [0, 3],
  ],
  [
    [0, 3],
    [0, 0],
  ],
]);

describe("records from elsewhere", () => {
  it("optimum, flags, hash, id and seed are computed when they are missing; holes come out in reading order", () => {
    const shuffled = { ...board, holes: [...board.holes].reverse() };
    const instance = completeInstance(shuffled);
    expect(instance.holes).toEqual(board.holes);
    expect(instance.id).toBe(instance.hash);
    expect(instance.optimum.sum_of_shortest).toBe(6);
    expect(instance.conflict).toBe(true);
    expect(completeInstance(instance)).toEqual(instance);
    expect(completeInstance({ ...shuffled, id: "7" }).id).toBe("7");
  });

  it.each([
    ["two agents with one start", { ...board, agents: [board.agents[0]!, { start: [0, 0], goal: [0, 1] }] }, "share the start"],
    ["two agents with one goal", { ...board, agents: [board.agents[0]!, { start: [0, 1], goal: [0, 3] }] }, "share the goal"],
    ["a start on a hole", { ...board, agents: [{ start: [1, 0], goal: [0, 0] }] }, "is a hole"],
    ["a goal outside", { ...board, agents: [{ start: [0, 0], goal: [4, 0] }] }, "outside"],
    [
      "a board without a solution",
      {
        size: 2,
        holes: [[0, 1]],
        agents: [
          { start: [0, 0], goal: [1, 1] },
          { start: [1, 1], goal: [0, 0] },
        ],
      },
      "no solution",
    ],
    ["a wrong hash", { ...board, hash: "3" }, "hash"],
    ["a wrong optimum", { ...board, optimum: { sum_of_costs: 6, makespan: 3, sum_of_shortest: 6 } }, "optimum is"],
    ["a flag that contradicts the optimum", { ...completeInstance(board), conflict: false }, "conflict is false"],
    [
      "a wait without a conflict",
      {
        ...completeInstance(board),
        conflict: undefined,
        optimum: { sum_of_costs: 6, makespan: 3, sum_of_shortest: 6 },
        wait_required: true,
      },
      "wait_required",
    ],
  ])("%s is refused and named", (_, value, message) => {
    expect(() => completeInstance(value)).toThrow(InputError);
    expect(() => completeInstance(value)).toThrow(message);
  });

  it("a board alone is identified without being solved, and refused where it is none or the hash is another's", () => {
    const { id, hash, holes } = completeInstance({ ...board, id: "7" });
    expect(identifyBoard({ ...board, id: "7", holes: [...board.holes].reverse(), optimum: "unknown" })).toEqual({
      ...board,
      id,
      hash,
      holes,
    });
    const agents = [{ start: [0, 0], goal: [1, 1] }, { start: [1, 1], goal: [0, 0] }]; // biome-ignore format: one row
    const unsolvable = { size: 2, holes: [[0, 1]], agents };
    const named = identifyBoard(unsolvable);
    expect(named.id).toBe(named.hash);
    for (const [value, message] of [
      [{ ...unsolvable, hash: "3" }, "hash is 3"],
      [{ ...unsolvable, size: 1 }, '"size"'],
      [{ ...unsolvable, id: 7 }, '"id"'],
    ] as const) {
      expect(() => identifyBoard(value)).toThrow(InputError);
      expect(() => identifyBoard(value)).toThrow(message);
    }
  });

  it("start equal to goal is legal input with cost 0", () => {
    const instance = completeInstance({ size: 3, holes: [], agents: [{ start: [1, 1], goal: [1, 1] }] });
    expect(instance.optimum).toEqual({ sum_of_costs: 0, makespan: 0, sum_of_shortest: 0 });
    expect(verify(instance, demonstrate(instance, "makespan", "compact"), "stop", "compact").optimal.makespan).toBe(true);
  });
});

describe("demonstrations", () => {
  const instance = completeInstance(board);

  it("are optimal in the objective asked for, deterministic, and end with the last arrival", () => {
    for (const objective of ["makespan", "sum_of_costs"] as const) {
      const plan = optimalPlan(instance, objective);
      expect(optimalPlan(instance, objective)).toEqual(plan);
      for (const actions of plan) expect(actions.at(-1)).not.toBe("WAIT");
      expect(verify(instance, demonstrate(instance, objective, "chat"), "stop", "chat").optimal[objective]).toBe(true);
    }
  });
});
