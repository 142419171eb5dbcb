/**
 * A board as one short word and back, for the frozen sets that are shipped with the package: the layout of the canonical hash, but of the
 * board as it stands, agents in their order.
 *
 *   size (1 digit) · holes (n² bits in words of 16, row by row) · per agent: start (2 digits), goal (2 digits); hexadecimal
 */
import { CorruptFileError, parseWith } from "../../core/index.js";
import { type Board, boardSchema, type Cell } from "./instance.js";

export function encodeBoard({ size, holes, agents }: Board): string {
  const id = ([row, column]: Cell) => row * size + column;
  const words = new Array<number>(Math.ceil((size * size) / 16)).fill(0);
  for (const hole of holes) words[id(hole) >> 4]! |= 0x8000 >> (id(hole) & 15);
  for (const { start, goal } of agents) words.push((id(start) << 8) | id(goal));
  return size.toString(16) + words.map((word) => word.toString(16).padStart(4, "0")).join("");
}

/** @throws {CorruptFileError} for text that `encodeBoard` did not write */
export function decodeBoard(code: string): Board {
  const wellFormed = /^[0-9a-f](?:[0-9a-f]{4})*$/.test(code);
  const size = wellFormed ? Number.parseInt(code[0]!, 16) : Number.NaN;
  const words = (code.slice(1).match(/.{4}/g) ?? []).map((word) => Number.parseInt(word, 16));
  const holeWords = Math.ceil((size * size) / 16);
  const cell = (id: number): Cell => [Math.floor(id / size), id % size];
  const holes: Cell[] = [];
  for (let id = 0; id < holeWords * 16; id++) if ((words[id >> 4]! & (0x8000 >> (id & 15))) !== 0) holes.push(cell(id));
  const agents = words.slice(holeWords).map((word) => ({ start: cell(word >> 8), goal: cell(word & 0xff) }));
  return parseWith(boardSchema, { size, holes, agents }, `board code "${code}"`, CorruptFileError);
}
