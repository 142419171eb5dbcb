/**
 * Rows of a foreign data set → records of this family: where each field stands, how coordinates are written, which letters are holes. The
 * mapping is data (`grid=board,starts=agents.*.from,coordinates=xy`, or the same keys in YAML or JSON). What it does not name is looked for
 * under the family's own name and, where it is missing, computed by `completeInstance`. Refuses what it would have to guess.
 */
import { z } from "zod";
import { ConfigError, InputError, parseWith, shorten } from "../../core/index.js";
import { DEFAULT_LETTERS, readGrid } from "./grid-letters.js";
import { MAX_SIZE, MIN_SIZE } from "./instance.js";

const path = z.string().min(1);
const letters = z.union([
  z.string().transform((text) => [...text]),
  z.array(z.union([z.string(), z.number(), z.boolean()]).transform(String)),
]);

export const fieldMappingSchema = z.strictObject({
  id: path.optional(),
  /** Side length, where there is no grid. */
  size: path.optional(),
  /** Rows as strings, rows as lists, or one string with line breaks. */
  grid: path.optional(),
  /** Holes as a list of coordinates. */
  holes: path.optional(),
  /** Agents as a list of {start, goal} or [start, goal]. */
  agents: path.optional(),
  /** Starts and goals as two lists in the order of the agents; `*` in a path goes through a list. */
  starts: path.optional(),
  goals: path.optional(),
  /** `xy`: [column, row], from 0, rows downwards. */
  coordinates: z.enum(["rc", "xy"]).default("rc"),
  /** Letters (or numbers) of the grid that are holes, and that are free. */
  hole: letters.default([...DEFAULT_LETTERS.hole]),
  free: letters.default([...DEFAULT_LETTERS.free]),
});
export type FieldMapping = z.output<typeof fieldMappingSchema>;

/** Keys whose path ends at a list, of cells or of agents. */
const LISTS = ["holes", "agents", "starts", "goals"] as const;

const KEYS = `keys: ${Object.keys(fieldMappingSchema.shape).join(", ")}`;

/** `key=value,key=value`. @throws {ConfigError} for a part without "=", a key twice, an unknown key or a value of the wrong kind */
export function parseFieldMapping(text: string): FieldMapping {
  const given: Record<string, string> = {};
  for (const part of text.split(",")) {
    const at = part.indexOf("=");
    const key = part.slice(0, at).trim();
    if (at < 1 || key in given) {
      throw new ConfigError({
        message: at < 1 ? `mapping: "${part}" is not key=value` : `mapping: "${key}" is given twice`,
        value: text,
        expected: `key=value pairs with commas between; ${KEYS}`,
        remedy: "for letters with a comma or an equals sign write the mapping as a YAML or JSON file",
      });
    }
    given[key] = key === "hole" || key === "free" ? part.slice(at + 1) : part.slice(at + 1).trim();
  }
  return readFieldMapping(given, "mapping");
}

/** @throws {ConfigError} */
export function readFieldMapping(value: unknown, source: string): FieldMapping {
  const mapping = parseWith(fieldMappingSchema, value, source, ConfigError, `${KEYS} (docs/data.md)`);
  for (const key of LISTS) refuseTooDeep(key, mapping[key], source);
  const shared = mapping.hole.find((letter) => mapping.free.includes(letter));
  if (shared === undefined) return mapping;
  const fix = (given: string[], standard: readonly string[], other: string[]) =>
    given.length === standard.length && given.every((letter, i) => letter === standard[i])
      ? given.filter((letter) => !other.includes(letter))
      : given;
  // Letters that were chosen win over the standard ones of the other kind.
  const hole = fix(mapping.hole, DEFAULT_LETTERS.hole, mapping.free);
  const free = fix(mapping.free, DEFAULT_LETTERS.free, hole);
  const both = hole.find((letter) => free.includes(letter));
  if (both === undefined) return { ...mapping, hole, free };
  throw new ConfigError({
    message: `${source}: "${both}" is both a hole and free`,
    value,
    expected: "each letter in one of the two",
    remedy: "drop it from one",
  });
}

/** A second `*` at the end goes through each cell, or agent, and gives it back as it was: whoever wrote it expects another file. */
function refuseTooDeep(key: (typeof LISTS)[number], path: string | undefined, source: string): void {
  const names = path?.split(".") ?? [];
  if (path === undefined || names.at(-1) !== "*" || names.indexOf("*") === names.length - 1) return;
  throw new ConfigError({
    message: `${source}: ${key}=${path} goes one level too deep`,
    value: path,
    expected: `the path of a list of ${key === "agents" ? "agents" : "cells"}, not of what is in each`,
    remedy: `end it at a list of ${key === "agents" ? "agents" : "cells"}, e.g. ${key}=${path.replace(/(\.\*)+$/, "")}; lists of lists are not joined`,
  });
}

/** The record of this family that a foreign row holds; not yet checked as a board. @throws {InputError} */
export function mapRow(mapping: FieldMapping, row: unknown): Record<string, unknown> {
  const own = typeof row === "object" && row !== null ? (row as Record<string, unknown>) : {};
  const cell = (value: unknown, what: string) => readCell(value, mapping.coordinates, what);
  const cells = (from: string, what: string) => list(look(row, from), from).map((value, i) => cell(value, `${what} ${i}`));
  const record: Record<string, unknown> = {};
  if (mapping.grid !== undefined) {
    const { width, height, holes } = readGrid(look(row, mapping.grid), mapping);
    if (width !== height || width < MIN_SIZE || width > MAX_SIZE) {
      throw new InputError({
        message: `the grid is ${height}x${width}`,
        value: [height, width],
        expected: `a square grid of ${MIN_SIZE} to ${MAX_SIZE}`,
        remedy: "leave the row out, or pad the grid with holes",
      });
    }
    record.size = width;
    record.holes = holes;
  }
  if (mapping.size !== undefined) record.size = wholeNumber(look(row, mapping.size), mapping.size);
  else if (record.size === undefined) record.size = own.size;
  if (mapping.holes !== undefined) record.holes = [...((record.holes as unknown[] | undefined) ?? []), ...cells(mapping.holes, "hole")];
  else if (record.holes === undefined) record.holes = own.holes ?? [];
  if (mapping.starts !== undefined || mapping.goals !== undefined) {
    const starts = cells(mapping.starts ?? "starts", "start");
    const goals = cells(mapping.goals ?? "goals", "goal");
    if (starts.length !== goals.length) {
      throw new InputError({
        message: `${starts.length} starts but ${goals.length} goals`,
        value: { starts, goals },
        expected: "one goal for every start",
        remedy: "check the paths of starts and goals",
      });
    }
    record.agents = starts.map((start, i) => ({ start, goal: goals[i] }));
  } else {
    const from = mapping.agents ?? "agents";
    record.agents = list(look(row, from), from).map((agent, i) => {
      const at = `${from}.${i}`;
      const pair = typeof agent === "string" ? asJson(agent) : agent;
      const [start, goal] = Array.isArray(pair) ? pair : [look(agent, "start", at), look(agent, "goal", at)];
      return { start: cell(start, `start of agent ${i}`), goal: cell(goal, `goal of agent ${i}`) };
    });
  }
  const id = mapping.id === undefined ? own.id : look(row, mapping.id);
  if (id !== undefined) record.id = nameOf(id, mapping.id ?? "id");
  return record;
}

/** Data sets keep numbers as text and, in columns of 64 bits, as big integers. */
function wholeNumber(value: unknown, from: string): number {
  const isNumeric = typeof value === "number" || typeof value === "bigint" || (typeof value === "string" && value.trim() !== "");
  if (isNumeric && Number.isSafeInteger(Number(value))) return Number(value);
  throw new InputError({ message: `"${from}" is no whole number: ${shown(value)}`, value, expected: "a whole number", remedy: "correct the path in the mapping" }); // biome-ignore format: one line
}

function nameOf(value: unknown, from: string): string {
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") return String(value);
  throw new InputError({ message: `"${from}" is no name: ${shown(value)}`, value, expected: "a text or a number", remedy: "correct the path in the mapping" }); // biome-ignore format: one line
}

function shown(value: unknown): string {
  return shorten(typeof value === "bigint" ? String(value) : (JSON.stringify(value, (_, v) => (typeof v === "bigint" ? Number(v) : v)) ?? String(value)), 80); // biome-ignore format: one line
}

/**
 * The value at a dotted path: names, numbers from 0 in lists, `*` for every item of a list.
 * @param within where `value` stands, for messages
 * @throws {InputError} where there is nothing
 */
function look(value: unknown, dotted: string, within = ""): unknown {
  const walk = (at: unknown, names: readonly string[], so: string): unknown => {
    const [name, ...rest] = names;
    if (name === undefined) return at;
    if (name === "*") return list(at, so).map((item, i) => walk(item, rest, `${so}.${i}`));
    const next = typeof at === "object" && at !== null && Object.hasOwn(at, name) ? (at as Record<string, unknown>)[name] : undefined;
    if (next !== undefined && next !== null) return walk(next, rest, so === "" ? name : `${so}.${name}`);
    throw new InputError({
      message: `there is no "${name}"${so === "" ? "" : ` in "${so}"`} (path ${dotted})`,
      value: at,
      expected: typeof at === "object" && at !== null ? `one of ${Object.keys(at).slice(0, 12).join(", ")}` : "an object or a list",
      remedy: "correct the path in the mapping",
    });
  };
  return walk(typeof value === "string" && dotted !== "" ? asJson(value) : value, dotted.split("."), within);
}

/** Data sets often keep a whole record as JSON text in one column. */
function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function list(value: unknown, from: string): unknown[] {
  const items = typeof value === "string" ? asJson(value) : value;
  if (Array.isArray(items)) return items;
  throw new InputError({ message: `"${from}" is no list`, value, expected: "a list", remedy: "correct the path in the mapping" });
}

function readCell(given: unknown, order: "rc" | "xy", what: string): [number, number] {
  const value = typeof given === "string" ? asJson(given) : given;
  let pair: unknown[] | undefined;
  if (Array.isArray(value)) pair = value;
  else if (typeof value === "object" && value !== null) {
    const named = value as Record<string, unknown>;
    // Names say which is which, whatever the order of lists is.
    if ("x" in named && "y" in named) return readCell([named.y, named.x], "rc", what);
    pair = [named.row ?? named.r, named.column ?? named.col ?? named.c];
    if (pair.every((n) => n !== undefined)) return readCell(pair, "rc", what);
  }
  const numbers = pair?.map((n) => (typeof n === "bigint" ? Number(n) : n));
  if (numbers?.length === 2 && numbers.every((n) => Number.isInteger(n) && (n as number) >= 0)) {
    const [a, b] = numbers as [number, number];
    return order === "xy" ? [b, a] : [a, b];
  }
  throw new InputError({
    message: `${what} is no cell: ${shown(value)}`,
    value,
    expected: order === "xy" ? "[x, y] from 0, or {x, y}" : "[row, column] from 0, or {row, column}",
    remedy: "correct the row, or the mapping's coordinates",
  });
}
