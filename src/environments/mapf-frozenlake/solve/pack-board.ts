/** A board as the solver takes it, in cell numbers row·size + column. */
import type { Board, Cell } from "../instance.js";

/** `holes`: 1 where there is a hole, by cell. */
export function packBoard({ size, holes, agents }: Board): { size: number; holes: Uint8Array; starts: number[]; goals: number[] } {
  const cellOf = ([row, column]: Cell) => row * size + column;
  const isHole = new Uint8Array(size * size);
  for (const hole of holes) isHole[cellOf(hole)] = 1;
  return { size, holes: isHole, starts: agents.map(({ start }) => cellOf(start)), goals: agents.map(({ goal }) => cellOf(goal)) };
}
