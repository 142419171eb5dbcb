/**
 * The board that `envwright solve` is asked about: JSON (a file or stdin), a row of a set (a file or a benchmark set by name), or MovingAI's
 * pair of files. What stands beside the board comes along, to be held against what is found. An unknown key in a board is refused; a row of
 * a set may have columns of its own, which are passed over aloud.
 */
import { existsSync } from "node:fs";
import { extname } from "node:path";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { CorruptFileError, counted, InputError, parseJsonWith, parseWith, withoutMark } from "../core/index.js";
import { familyByName } from "../environments/index.js";
import { type Board, boardSchema } from "../environments/mapf-frozenlake/index.js";
import { movingAiBoard, parseMap, parseScenario } from "../environments/mapf-frozenlake/movingai.js";
import { isRowFile, readRows } from "../store/index.js";
import { emptyFile, loadInstanceSet, within } from "./instance-sets.js";
import { readText } from "./recipes.js";
import { isRecord } from "./recompute.js";
import { boardRecordSchema, type Recorded } from "./recorded-claims.js";
import { openMapping } from "./row-mapping.js";
import { refuseWithoutEffect } from "./without-effect.js";

export interface AskedBoard {
  /** For messages, e.g. "boards.parquet, row 7". */
  at: string;
  board: Board;
  recorded: Recorded;
}

interface Asked {
  file: string;
  scenario: string | undefined;
  agents: number | undefined;
  row: number | undefined;
  map: string | undefined;
}

const BOARD = "a board {size, holes, agents: [{start, goal}, …]}, cells as [row, column] from 0; see docs/mapf-frozenlake.md";
const PAIR = "envwright solve room.map room.scen";

/** @param note told what is passed over. @throws {InputError} */
export async function askedBoard(asked: Asked, note: (text: string) => void): Promise<AskedBoard> {
  const { file, scenario, agents, row, map } = asked;
  const kind = extname(file).toLowerCase();
  const isPair = kind === ".map" || kind === ".scen" || scenario !== undefined;
  // As for every verb: a file of that name goes before a benchmark set.
  const isNamed = !isPair && kind === "" && file !== "-" && !existsSync(file);
  // JSON is one board or a list of them.
  const isRows = isRowFile(file) && kind !== ".json";
  refuseWithoutEffect("--agents", agents, isPair, `a MovingAI pair: ${PAIR} --agents 3`);
  const maySet = isNamed || isRowFile(file) || file === "-";
  refuseWithoutEffect("--row", row, maySet && !isPair, "a set of boards (.jsonl, .json, .parquet, or a benchmark set)");
  refuseWithoutEffect("--map", map, !isPair && !isNamed, "a file that has fields of its own");
  if (isPair) return pairOf(file, scenario, agents ?? 1);
  const family = familyByName("mapf-frozenlake");
  const mapping = openMapping(map, family);
  const read = (value: unknown, at: string, isRow: boolean): AskedBoard => {
    const record = mapping === undefined ? value : within(at, () => mapping(value));
    return boardOf(isRow ? withoutColumns(record, at, note) : record, at);
  };
  const chosen = async (rows: AsyncIterable<unknown[]> | unknown[][], source: string): Promise<AskedBoard> => {
    const wanted = row ?? 1;
    return read(await rowOf(rows, source, wanted), `${source}, row ${wanted}`, true);
  };
  if (isNamed) return chosen([await loadInstanceSet(file, family)], file);
  if (isRows) return chosen(readRows(file), file);
  const source = file === "-" ? "stdin" : file;
  const content = file === "-" ? await text(process.stdin) : textOf(file);
  const value = parseJsonWith(z.unknown(), content, source, CorruptFileError);
  if (Array.isArray(value) || row !== undefined) return chosen([Array.isArray(value) ? value : [value]], source);
  return read(value, source, false);
}

function pairOf(file: string, scenario: string | undefined, count: number): AskedBoard {
  const isMap = extname(file).toLowerCase() === ".map";
  if (!isMap || scenario === undefined) {
    throw new InputError({
      message: isMap ? `${file}: a map has no agents of its own` : `${file}: this is no .map, and a scenario belongs to one`,
      value: scenario === undefined ? file : [file, scenario],
      expected: `both files of the pair: ${PAIR} --agents 3`,
      remedy: isMap ? "name the .scen as well" : "name the .map first, then the .scen",
    });
  }
  const grid = parseMap(textOf(file), file);
  const at = `${file} with ${scenario}`;
  return { at, board: movingAiBoard(grid, parseScenario(textOf(scenario), scenario, grid, count), at), recorded: {} };
}

const textOf = (file: string): string => withoutMark(readText(file, "a file: a board as JSON, a set, or MovingAI's pair"));

async function rowOf(batches: AsyncIterable<unknown[]> | unknown[][], source: string, wanted: number): Promise<unknown> {
  let read = 0;
  for await (const rows of batches) {
    if (wanted <= read + rows.length) return rows[wanted - 1 - read];
    read += rows.length;
  }
  if (read === 0) throw emptyFile(source, "instance");
  throw new InputError({
    message: `${source} has ${counted(read, "row")}`,
    value: wanted,
    expected: `a row from 1 to ${read}`,
    remedy: "name another --row",
  });
}

/** The keys and their values first, then the board that they make: a mistyped key is not told as a board that lacks something. */
function boardOf(value: unknown, at: string): AskedBoard {
  const { size, holes, agents, ...recorded } = parseWith(boardRecordSchema, value, at, InputError, BOARD);
  return { at, board: parseWith(boardSchema, { size, holes, agents }, at, InputError, BOARD), recorded };
}

function withoutColumns(row: unknown, at: string, note: (text: string) => void): unknown {
  if (!isRecord(row)) return row;
  const isKnown = ([key]: [string, unknown]) => Object.hasOwn(boardRecordSchema.shape, key);
  const passed = Object.entries(row).filter((entry) => !isKnown(entry));
  if (passed.length > 0) note(`${at}: passed over, since a board has no such field: ${passed.map(([key]) => key).join(", ")}`);
  return Object.fromEntries(Object.entries(row).filter(isKnown));
}
