/** Which cells touch, as flat tables for inner loops: cells are row·size + column. */
import { MAX_SIZE } from "./instance.js";

/** Stands for "outside of the grid"; larger than any cell. */
export const OUTSIDE = 255;

/** tables[size][cell·4 + direction], directions in the order of ACTIONS (UP, DOWN, LEFT, RIGHT). */
export const NEIGHBOURS: readonly Uint8Array[] = neighbourTables((size) => size * size, OUTSIDE);

/** One table for each size, of `cells(size)` cells; `outside` where a move leads off the grid, and for cells that the grid lacks. */
export function neighbourTables(cells: (size: number) => number, outside: number): Uint8Array[] {
  return Array.from({ length: MAX_SIZE + 1 }, (_, size) => {
    const table = new Uint8Array(cells(size) * 4).fill(outside);
    for (let cell = 0; cell < size * size; cell++) {
      const column = cell % size;
      if (cell >= size) table[cell * 4] = cell - size;
      if (cell + size < size * size) table[cell * 4 + 1] = cell + size;
      if (column > 0) table[cell * 4 + 2] = cell - 1;
      if (column + 1 < size) table[cell * 4 + 3] = cell + 1;
    }
    return table;
  });
}
