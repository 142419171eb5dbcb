/** Boards for tests: arbitraries for fast-check, a way to write an instance down, and plans as text in both renderings. */
import fc from "fast-check";
import { hashBoard } from "../hash.js";
import type { Board, Cell, Instance } from "../instance.js";
import { renderPlan } from "../prompt.js";
import type { Action } from "../rules.js";

/** An instance with a given optimum; nothing is certified. */
export function instanceOf(board: Board, optimum = { sum_of_costs: 0, makespan: 0, sum_of_shortest: 0 }): Instance {
  return { id: "test", ...board, optimum, conflict: false, wait_required: false, seed: "test", hash: hashBoard(board) };
}

/** A board from a drawing: "." free, "H" hole; `agents` as [start, goal] pairs. */
export function boardOf(drawing: string, agents: [Cell, Cell][]): Board {
  const rows = drawing.trim().split(/\s+/);
  const holes: Cell[] = [];
  rows.forEach((line, row) => {
    [...line].forEach((letter, column) => {
      if (letter === "H") holes.push([row, column]);
    });
  });
  return { size: rows.length, holes, agents: agents.map(([start, goal]) => ({ start, goal })) };
}

/** Boards that satisfy the schema, solvable or not; starts may equal goals. */
export function anyBoard(maxSize = 10, maxAgents = 8): fc.Arbitrary<Board> {
  return fc
    .record({
      size: fc.integer({ min: 2, max: maxSize }),
      agents: fc.integer({ min: 1, max: maxAgents }),
      holeRatio: fc.double({ min: 0, max: 0.5, noNaN: true }),
    })
    .chain(({ size, agents, holeRatio }) => {
      const cells = Array.from({ length: size * size }, (_, i): Cell => [Math.floor(i / size), i % size]);
      const holes = Math.floor(holeRatio * cells.length);
      const k = Math.min(agents, cells.length - holes);
      const shuffled = fc.shuffledSubarray(cells, { minLength: cells.length, maxLength: cells.length });
      return shuffled.chain((order) => {
        const free = order.slice(holes);
        return fc.shuffledSubarray(free, { minLength: k, maxLength: k }).map((goals) => ({
          size,
          holes: order.slice(0, holes).sort((a, b) => a[0] - b[0] || a[1] - b[1]),
          agents: goals.map((goal, i) => ({ start: free[i]!, goal })),
        }));
      });
    });
}

/** "RDW" → RIGHT, DOWN, WAIT. */
export function actions(letters: string): Action[] {
  const names: Record<string, Action> = { U: "UP", D: "DOWN", L: "LEFT", R: "RIGHT", W: "WAIT" };
  return [...letters].map((letter) => names[letter]!);
}

export function chatAnswer(board: Board, plans: string[]): string {
  return renderPlan(board, plans.map(actions), "chat");
}

export function compactAnswer(board: Board, plans: string[]): string {
  return renderPlan(board, plans.map(actions), "compact");
}
