import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FilledSlots } from "./filled-slots.js";
import { hashCells } from "./hash.js";
import { fingerprint, TakenBoards } from "./taken-boards.js";

const SIZE = 3;
/** Two agents on an open 3×3 board: few enough classes that random boards often meet again. */
const board = fc.tuple(
  fc.shuffledSubarray([...Array(9).keys()], { minLength: 2, maxLength: 2 }),
  fc.constantFrom<number[]>([0, 8], [1, 7], [4, 5]),
);
const hashOf = (starts: number[], goals: number[]) => hashCells(SIZE, [], 0, starts, goals, 2);

describe("the boards a set holds already", () => {
  test("are what a set of their canonical hashes would hold, in whatever order the slots are filled", () => {
    fc.assert(
      fc.property(fc.array(board, { maxLength: 60 }), fc.integer(), (boards, seed) => {
        const filled = new FilledSlots(boards.length, 2);
        const taken = new TakenBoards(filled);
        const hashes = new Set<string>();
        const order = [...boards.keys()].sort((a, b) => Math.imul(a + 1, seed | 1) - Math.imul(b + 1, seed | 1));
        for (const index of order) {
          const [starts, goals] = boards[index]!;
          const hash = hashOf(starts, goals);
          expect(taken.has(hash)).toBe(hashes.has(hash));
          const filling = { holes: [], starts, goals, sum_of_costs: 4, makespan: 2, sum_of_shortest: 4, wait_required: false };
          filled.set({ index, size: SIZE, agents: 2, holes: [0, 0], want: "no-conflict" }, 0, filling);
          taken.add(hash, index);
          hashes.add(hash);
        }
        for (const [starts, goals] of boards) expect(taken.has(hashOf(starts, goals))).toBe(true);
      }),
    );
  });

  test("are told apart where their fingerprints agree", () => {
    const boards = [
      { holes: [1, 3, 7, 15, 24], starts: [20, 18], goals: [19, 14] },
      { holes: [1, 2, 4, 9, 24], starts: [12, 23], goals: [20, 0] },
    ];
    const [first, second] = boards.map(({ holes, starts, goals }) => hashCells(5, holes, 5, starts, goals, 2));
    expect(fingerprint(first!)).toBe(fingerprint(second!));
    const filled = new FilledSlots(2, 2);
    const taken = new TakenBoards(filled);
    const measures = { sum_of_costs: 9, makespan: 5, sum_of_shortest: 9, wait_required: false };
    boards.forEach((cells, index) => {
      filled.set({ index, size: 5, agents: 2, holes: [5, 5], want: "no-conflict" }, 0, { ...cells, ...measures });
      if (index === 0) taken.add(first!, 0);
    });
    expect([taken.has(first!), taken.has(second!)]).toEqual([true, false]);
    taken.add(second!, 1);
    expect([taken.has(first!), taken.has(second!)]).toEqual([true, true]);
  });
});
