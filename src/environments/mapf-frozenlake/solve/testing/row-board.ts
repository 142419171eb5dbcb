/** A board as it looks, `#` for a hole, with its agents' cells row·size + column. */
import type { Board, Cell } from "../../instance.js";

export function rowBoard(rows: readonly string[], starts: readonly number[], goals: readonly number[]): Board {
  const size = rows.length;
  const cell = (id: number): Cell => [Math.floor(id / size), id % size];
  const holes = [...rows.join("")].flatMap((letter, id) => (letter === "#" ? [cell(id)] : []));
  return { size, holes, agents: starts.map((start, a) => ({ start: cell(start), goal: cell(goals[a]!) })) };
}
