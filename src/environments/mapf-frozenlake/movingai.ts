/**
 * A board from MovingAI's pair of files (Sturtevant, "Benchmarks for grid-based pathfinding", 2012; MAPF scenarios: Stern et al., SoCS 2019):
 * `.map` holds type, height, width and the grid, `.scen` a version and a line for each agent. **Scenarios store x, the column, first.**
 * A rectangular map becomes a square board with holes beyond its edge, which changes no plan. Every malformed line is named; nothing is
 * skipped in silence.
 */
import { CorruptFileError, InputError, parseWith } from "../../core/index.js";
import { type Agent, type Board, boardSchema, type Cell, MAX_AGENTS, MAX_SIZE } from "./instance.js";

/** G, S and . can be walked on; S (swamp) costs nothing more here. */
const FREE = [".", "G", "S"];
const BLOCKED = ["@", "O", "T", "W"];

export interface MovingAiMap {
  width: number;
  height: number;
  holes: Cell[];
}

/** @param source named in errors. @throws {CorruptFileError} naming the line. @throws {InputError} for a map larger than the solver's */
export function parseMap(text: string, source: string): MovingAiMap {
  const { lines, bad } = linesOf(text, source);
  if (!/^type\s+\S+$/.test(lines[0] ?? "")) throw bad(1, "not the type of a map", "type octile");
  const header = new Map<string, number>();
  for (const number of [2, 3]) {
    const found = /^(height|width)\s+([1-9]\d*)$/.exec(lines[number - 1] ?? "");
    if (found === null || header.has(found[1]!)) throw bad(number, "not the height or the width", "height N and width N, one of each");
    header.set(found[1]!, Number(found[2]));
  }
  if ((lines[3] ?? "").trim() !== "map") throw bad(4, 'not the word "map"', "map");
  const width = header.get("width")!;
  const height = header.get("height")!;
  if (Math.max(width, height) > MAX_SIZE) {
    throw new InputError({
      message: `${source}: the map is ${width} wide and ${height} high`,
      value: [width, height],
      expected: `at most ${MAX_SIZE} of each: the testbed's boards`,
      remedy: "cut a smaller map out of it",
    });
  }
  const rows = lines.slice(4);
  if (rows.length !== height)
    throw bad(Math.min(lines.length, 4 + height + 1), `the map has ${rows.length} rows`, `${height} rows, as its header says`);
  const holes: Cell[] = [];
  rows.forEach((line, row) => {
    if (line.length !== width) throw bad(row + 5, `the row has ${line.length} cells`, `${width} cells, as the header says`);
    [...line].forEach((letter, column) => {
      if (BLOCKED.includes(letter)) holes.push([row, column]);
      else if (!FREE.includes(letter)) {
        throw bad(row + 5, `unknown terrain "${letter}" at column ${column}`, `${FREE.join(" ")} (free) or ${BLOCKED.join(" ")} (blocked)`);
      }
    });
  });
  return { width, height, holes };
}

/** The agents of the first `count` lines. @throws {CorruptFileError} naming the line. @throws {InputError} when there are fewer */
export function parseScenario(text: string, source: string, map: MovingAiMap, count: number): Agent[] {
  const { lines, bad } = linesOf(text, source);
  if (!/^version\s+[\d.]+$/.test((lines[0] ?? "").trim())) throw bad(1, "not the version of a scenario", "version 1");
  const whole = "bucket, map, map width, map height, start x, start y, goal x, goal y, length, with tabs between";
  const blocked = new Set(map.holes.map(String));
  const agents: Agent[] = [];
  lines.slice(1).forEach((line, i) => {
    const number = i + 2;
    const fields = line.trim().split(/\s+/);
    const numbers = fields.slice(2, 8).map(Number);
    if (fields.length !== 9 || !/^\d+$/.test(fields[0]!)) throw bad(number, `${line.trim() === "" ? 0 : fields.length} fields`, whole);
    if (numbers.some((n) => !Number.isInteger(n) || n < 0)) throw bad(number, "a size or a coordinate is no whole number from 0", whole);
    if (!Number.isFinite(Number(fields[8]))) throw bad(number, `"${fields[8]}" is no length`, whole);
    const [width, height, startX, startY, goalX, goalY] = numbers as [number, number, number, number, number, number];
    if (width !== map.width || height !== map.height) {
      throw bad(number, `made for a map of ${width} by ${height}`, `a map ${map.width} wide and ${map.height} high, as the map file is`);
    }
    for (const [what, x, y] of [
      ["start", startX, startY],
      ["goal", goalX, goalY],
    ] as const) {
      if (x >= width || y >= height)
        throw bad(number, `the ${what} x ${x}, y ${y} lies outside the map`, `x below ${width}, y below ${height}`);
      if (blocked.has(String([y, x])))
        throw bad(number, `the ${what} x ${x}, y ${y} is blocked in the map`, "a free cell; x, the column, comes first");
    }
    agents.push({ start: [startY, startX], goal: [goalY, goalX] });
  });
  if (agents.length < count) {
    throw new InputError({
      message: `${source} has ${agents.length} agents`,
      value: count,
      expected: `at least the ${count} that are asked for`,
      remedy: `--agents ${Math.max(1, agents.length)}`,
    });
  }
  return agents.slice(0, count);
}

/** The pair as a board. @throws {InputError} also for starts or goals that two of the agents share */
export function movingAiBoard(map: MovingAiMap, agents: Agent[], source: string): Board {
  if (agents.length > MAX_AGENTS) {
    throw new InputError({
      message: `${agents.length} agents`,
      value: agents.length,
      expected: `at most ${MAX_AGENTS}`,
      remedy: `--agents ${MAX_AGENTS}`,
    });
  }
  const size = Math.max(map.width, map.height, 2);
  const beyond: Cell[] = [];
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++) if (row >= map.height || column >= map.width) beyond.push([row, column]);
  const holes = [...map.holes, ...beyond].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return parseWith(boardSchema, { size, holes, agents }, source, InputError);
}

/** The lines of a file, and the error for one of them, counted from 1. */
function linesOf(text: string, source: string) {
  const lines = text.replace(/(\r?\n)+$/, "").split(/\r?\n/);
  const bad = (number: number, problem: string, expected: string) =>
    new CorruptFileError({
      message: `${source}, line ${number}: ${problem}`,
      value: lines[number - 1],
      expected,
      remedy: "correct the line",
    });
  return { lines, bad };
}
