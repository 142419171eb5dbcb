/**
 * Canonical hash of a board: equal exactly for boards that are equal under the 8 symmetries of the square and under the order of the
 * agents. It is the smallest of the 8 encodings itself, in hexadecimal, so two different boards never share one:
 *
 *   size (1 digit) · holes (n² bits, row by row) · per agent, ascending: start (2 digits), goal (2 digits)
 */
import { type Board, MAX_AGENTS, MAX_SIZE } from "./instance.js";

/** images[n][s][cell]: where symmetry s of the n×n square takes cell row·n + column. */
const images: Uint8Array[][] = Array.from({ length: MAX_SIZE + 1 }, (_, n) =>
  Array.from({ length: 8 }, (_, s) =>
    Uint8Array.from({ length: n * n }, (_, cell) => {
      let row = Math.floor(cell / n);
      let column = cell % n;
      if (s & 1) row = n - 1 - row;
      if (s & 2) column = n - 1 - column;
      return s & 4 ? column * n + row : row * n + column;
    }),
  ),
);

/** The image of a board under symmetry `s` (0 to 7; 0 is the identity). Holes and agents keep their order. */
export function transformBoard(board: Board, s: number): Board {
  const n = board.size;
  const image = images[n]![s]!;
  const move = ([row, column]: readonly [number, number]): [number, number] => {
    const cell = image[row * n + column]!;
    return [Math.floor(cell / n), cell % n];
  };
  return {
    size: n,
    holes: board.holes.map(move),
    agents: board.agents.map((agent) => ({ start: move(agent.start), goal: move(agent.goal) })),
  };
}

const HOLE_WORDS = Math.ceil((MAX_SIZE * MAX_SIZE) / 16);
const best = new Uint16Array(HOLE_WORDS + MAX_AGENTS);
const current = new Uint16Array(HOLE_WORDS + MAX_AGENTS);

/**
 * The canonical hash of a board given as cell numbers row·size + column.
 * @param holes of which the first `holeCount` count; likewise `starts`, `goals` and `agentCount`.
 */
export function hashCells(
  size: number,
  holes: ArrayLike<number>,
  holeCount: number,
  starts: ArrayLike<number>,
  goals: ArrayLike<number>,
  agentCount: number,
): string {
  const words = Math.ceil((size * size) / 16);
  const length = words + agentCount;
  for (let s = 0; s < 8; s++) {
    const image = images[size]![s]!;
    current.fill(0, 0, words);
    for (let i = 0; i < holeCount; i++) {
      const cell = image[holes[i]!]!;
      const word = cell >> 4;
      current[word] = current[word]! | (0x8000 >> (cell & 15));
    }
    for (let i = 0; i < agentCount; i++) {
      const pair = (image[starts[i]!]! << 8) | image[goals[i]!]!;
      let j = words + i;
      for (; j > words && current[j - 1]! > pair; j--) current[j] = current[j - 1]!;
      current[j] = pair;
    }
    if (s === 0 || isSmaller(length)) best.set(current.subarray(0, length));
  }
  let text = size.toString(16);
  for (let i = 0; i < length; i++) text += best[i]!.toString(16).padStart(4, "0");
  return text;
}

function isSmaller(length: number): boolean {
  for (let i = 0; i < length; i++) {
    const difference = current[i]! - best[i]!;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** The canonical hash of a board. The board satisfies `boardSchema`. */
export function hashBoard(board: Board): string {
  const n = board.size;
  return hashCells(
    n,
    board.holes.map(([row, column]) => row * n + column),
    board.holes.length,
    board.agents.map(({ start: [row, column] }) => row * n + column),
    board.agents.map(({ goal: [row, column] }) => row * n + column),
    board.agents.length,
  );
}
