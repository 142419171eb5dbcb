/**
 * A board from MovingAI's pair of files (Sturtevant, "Benchmarks for grid-based pathfinding", 2012; MAPF scenarios: Stern et al., SoCS 2019):
 * `.map` holds type, height, width and the grid, `.scen` a version and a line for each agent. **Scenarios store x, the column, first.**
 * A rectangular map becomes a square board with holes beyond its edge, which changes no plan. All malformed lines are told, the first ones
 * each with what is wrong in it; nothing is skipped in silence.
 */
import { CorruptFileError, counted, InputError, parseWith } from "../../core/index.js";
import { type Agent, type Board, boardSchema, type Cell, MAX_AGENTS, MAX_SIZE } from "./instance.js";

/** G, S and . can be walked on; S (swamp) costs nothing more here. */
const FREE = [".", "G", "S"];
const BLOCKED = ["@", "O", "T", "W"];

/** Malformed lines that are named one by one; of the others it is said how many they are. */
const NAMED = 10;

export interface MovingAiMap {
  width: number;
  height: number;
  holes: Cell[];
}

/** @param source named in errors. @throws {CorruptFileError} naming the lines. @throws {InputError} for a map larger than the solver's */
export function parseMap(text: string, source: string): MovingAiMap {
  const lines = text.replace(/\r?\n$/, "").split(/\r?\n/);
  const faults: Fault[] = [];
  if (!/^type\s+\S+$/.test(lines[0] ?? "")) faults.push({ line: 1, problem: "not the type of a map", expected: "type octile" });
  const header = new Map<string, number>();
  for (const line of [2, 3]) {
    const found = /^(height|width)\s+([1-9]\d*)$/.exec(lines[line - 1] ?? "");
    if (found !== null && !header.has(found[1]!)) header.set(found[1]!, Number(found[2]));
    else faults.push({ line, problem: "not the height or the width", expected: "height N and width N, one of each" });
  }
  if ((lines[3] ?? "").trim() !== "map") faults.push({ line: 4, problem: 'not the word "map"', expected: "map" });
  if (faults.length > 0) throw malformed(source, lines, faults);
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
  const rows = rowsOf(lines.slice(4), height);
  const holes: Cell[] = [];
  rows.slice(0, height).forEach((text, row) => {
    const line = row + 5;
    if (text.length !== width) {
      faults.push({ line, problem: `the row has ${counted(text.length, "cell")}`, expected: `${width} cells, as the header says` });
      return;
    }
    const strange = [...text].findIndex((letter) => !BLOCKED.includes(letter) && !FREE.includes(letter));
    if (strange >= 0) {
      const problem = `unknown terrain "${text[strange]}" at column ${strange}`;
      faults.push({ line, problem, expected: `${FREE.join(" ")} (free) or ${BLOCKED.join(" ")} (blocked)` });
    }
    [...text].forEach((letter, column) => {
      if (BLOCKED.includes(letter)) holes.push([row, column]);
    });
  });
  if (rows.length !== height) {
    const line = Math.min(4 + rows.length, 4 + height + 1);
    faults.push({ line, problem: `the map has ${counted(rows.length, "row")}`, expected: `${height} rows, as its header says` });
  }
  if (faults.length > 0) throw malformed(source, lines, faults);
  return { width, height, holes };
}

/** Blank lines at the end are rows only where the header counts them. */
function rowsOf(lines: string[], height: number): string[] {
  let written = lines.length;
  while (written > 0 && lines[written - 1] === "") written--;
  return lines.slice(0, lines.length < height ? written : Math.max(written, height));
}

/**
 * The agents of the first `count` lines; the lines after them are checked as well.
 * @throws {CorruptFileError} naming the lines. @throws {InputError} when there are fewer
 */
export function parseScenario(text: string, source: string, map: MovingAiMap, count: number): Agent[] {
  const lines = text.replace(/(\r?\n)+$/, "").split(/\r?\n/);
  const faults: Fault[] = [];
  const version = /^version\s+(\S+)$/.exec((lines[0] ?? "").trim())?.[1];
  if (version === undefined || !/^1(\.0*)?$/.test(version)) {
    const other = version !== undefined && /^[\d.]+$/.test(version);
    const problem = other ? `a scenario of version ${version}` : "not the version of a scenario";
    faults.push({ line: 1, problem, expected: "version 1 (or 1.0), the only one that is known" });
    // Of another version's lines nothing is known.
    if (other) throw malformed(source, lines, faults);
  }
  const blocked = new Set(map.holes.map(String));
  const agents: Agent[] = [];
  lines.slice(1).forEach((text, i) => {
    const read = readAgent(text.trim(), map, blocked);
    if ("problem" in read) faults.push({ line: i + 2, ...read });
    else agents.push(read);
  });
  if (faults.length > 0) throw malformed(source, lines, faults);
  if (agents.length < count) {
    throw new InputError({
      message: `${source} has ${counted(agents.length, "agent")}`,
      value: count,
      expected: `at least the ${count} that ${count === 1 ? "is" : "are"} asked for`,
      remedy: agents.length === 0 ? "name a scenario with a line for each agent" : `--agents ${agents.length}`,
    });
  }
  return agents.slice(0, count);
}

function readAgent(text: string, map: MovingAiMap, blocked: ReadonlySet<string>): Agent | Omit<Fault, "line"> {
  const whole = "bucket, map, map width, map height, start x, start y, goal x, goal y, length, with tabs between";
  const fields = text.split(/\s+/);
  const numbers = fields.slice(2, 8).map(Number);
  if (fields.length !== 9) return { problem: counted(text === "" ? 0 : fields.length, "field"), expected: whole };
  if (!/^\d+$/.test(fields[0]!)) return { problem: `"${fields[0]}" is no bucket`, expected: whole };
  if (numbers.some((n) => !Number.isInteger(n) || n < 0))
    return { problem: "a size or a coordinate is no whole number from 0", expected: whole };
  if (!Number.isFinite(Number(fields[8]))) return { problem: `"${fields[8]}" is no length`, expected: whole };
  const [width, height, startX, startY, goalX, goalY] = numbers as [number, number, number, number, number, number];
  if (width !== map.width || height !== map.height) {
    const expected = `a map ${map.width} wide and ${map.height} high, as the map file is`;
    return { problem: `made for a map of ${width} by ${height}`, expected };
  }
  for (const [what, x, y] of [
    ["start", startX, startY],
    ["goal", goalX, goalY],
  ] as const) {
    if (x >= width || y >= height)
      return { problem: `the ${what} x ${x}, y ${y} lies outside the map`, expected: `x below ${width}, y below ${height}` };
    if (blocked.has(String([y, x])))
      return { problem: `the ${what} x ${x}, y ${y} is blocked in the map`, expected: "a free cell; x, the column, comes first" };
  }
  return { start: [startY, startX], goal: [goalY, goalX] };
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

/** What is wrong in a line, counted from 1. */
interface Fault {
  line: number;
  problem: string;
  expected: string;
}

function malformed(source: string, lines: readonly string[], faults: readonly Fault[]): CorruptFileError {
  const named = [...faults].sort((a, b) => a.line - b.line).slice(0, NAMED);
  const more = faults.length - named.length;
  const told = named.map(({ line, problem }) => `line ${line}: ${problem}`);
  return new CorruptFileError({
    message: `${source}, ${told.join("; ")}${more === 0 ? "" : `; and ${counted(more, "line")} more`}`,
    value: lines[named[0]!.line - 1],
    expected: [...new Set(named.map(({ expected }) => expected))].join("; "),
    remedy: faults.length === 1 ? "correct the line" : "correct the lines",
  });
}
