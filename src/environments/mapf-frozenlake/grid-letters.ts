/**
 * A grid drawn in letters or numbers → its holes. What is neither a hole nor free by the given letters is refused, with its row and
 * column: a guess here would make another board.
 */
import { InputError } from "../../core/index.js";
import type { Cell } from "./instance.js";

export interface Letters {
  hole: readonly string[];
  free: readonly string[];
}

/** FrozenLake's own letters, MovingAI's (Sturtevant 2012: @ O T W block here, . G S are free) and 0/1 arrays; S and G are free in both. */
export const DEFAULT_LETTERS: Letters = {
  hole: ["H", "#", "@", "O", "T", "W", "X", "1", "true"],
  free: ["F", ".", "S", "G", "B", "_", " ", "0", "false"],
};

export interface Grid {
  width: number;
  height: number;
  holes: Cell[];
}

/** @param value rows as strings, rows as arrays, or one string with line breaks. @throws {InputError} */
export function readGrid(value: unknown, letters: Letters = DEFAULT_LETTERS): Grid {
  const rows: unknown = typeof value === "string" ? value.replace(/\r?\n$/, "").split(/\r?\n/) : value;
  if (!Array.isArray(rows) || rows.length === 0) throw refused("the grid is no list of rows", value);
  const holes: Cell[] = [];
  let width: number | undefined;
  rows.forEach((line: unknown, row) => {
    const cells: unknown[] | undefined = typeof line === "string" ? [...line] : Array.isArray(line) ? line : undefined;
    if (cells === undefined) throw refused(`row ${row} of the grid is neither text nor a list`, line);
    width ??= cells.length;
    if (cells.length !== width) throw refused(`row ${row} of the grid has ${cells.length} cells, row 0 has ${width}`, line);
    cells.forEach((cell, column) => {
      const letter = String(cell);
      if (letters.hole.includes(letter)) holes.push([row, column]);
      else if (!letters.free.includes(letter)) {
        throw new InputError({
          message: `cell (${row}, ${column}) of the grid is ${JSON.stringify(cell)}, neither a hole nor free`,
          value: cell,
          expected: `one of ${letters.hole.join(" ")} (holes) or ${letters.free.join(" ")} (free)`,
          remedy: "say which letters are holes and which are free",
        });
      }
    });
  });
  return { width: width!, height: rows.length, holes };
}

function refused(message: string, value: unknown): InputError {
  return new InputError({
    message,
    value,
    expected: "rows of equal length, each a string or a list of cells",
    remedy: "check the path of the grid",
  });
}
