/**
 * `envwright solve`: one board → certified optima and a plan for each objective, drawn step by step. Unsolvable is an answer, not an error.
 * The board comes from our JSON, from a row of a set (ours or foreign), or from MovingAI's pair of files.
 */
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { CorruptFileError, InputError, parseJsonWith, parseWith, withoutMark } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { type Board, boardSchema, OBJECTIVES, type Objective, type SolveResult, solve } from "../../environments/mapf-frozenlake/index.js";
import { movingAiBoard, parseMap, parseScenario } from "../../environments/mapf-frozenlake/movingai.js";
import { readRows } from "../../store/index.js";
import { defineVerb } from "../define-verb.js";
import { drawPlan } from "../draw-plan.js";
import { emptyFile, within } from "../instance-sets.js";
import { MAP_OPTION, openMapping } from "../row-mapping.js";
import { refuseWithoutEffect } from "../without-effect.js";

export default defineVerb({
  name: "solve",
  description: "Solve one board to certified optimality",
  options: {
    file: {
      type: "positional",
      hint: "FILE",
      required: true,
      description: "Board as JSON {size, holes, agents}, - for stdin; a set (.jsonl, .parquet); or a MovingAI .map",
    },
    scenario: { type: "positional", hint: "SCEN", description: "MovingAI .scen of the .map" },
    agents: { type: "integer", hint: "K", least: 1, description: "Lines of the .scen, from its first; one unless given" },
    row: { type: "integer", hint: "N", least: 1, description: "Row of a set; the first unless given" },
    map: MAP_OPTION,
    objective: { type: "choice", of: ["makespan", "sum-of-costs"], description: "Only this objective; both unless given" },
    steps: { type: "integer", hint: "N", least: 0, description: "Draw the first N steps only; 0 draws none" },
    budget: { type: "integer", hint: "NODES", least: 1, description: "Search nodes at most; never a time" },
    json: { type: "flag", description: "Status, costs and plans as one JSON document on stdout" },
  },
  examples: [
    ["envwright solve board.json", "both optima, with the plans drawn"],
    ["envwright solve room.map room.scen --agents 3", "a MovingAI map with the first three agents of its scenario"],
    ["envwright solve boards.parquet --row 7", "the seventh board of a set"],
    [`echo '{"size": 2, "holes": [], "agents": [{"start": [0, 0], "goal": [1, 1]}]}' | envwright solve - --json`, "from a pipe, as JSON"],
  ],
  async run(values, { print, printJson }) {
    const board = await readBoard(values);
    const objectives: readonly Objective[] =
      values.objective === undefined ? OBJECTIVES : [values.objective.replaceAll("-", "_") as Objective];
    const result = solve(board, { objectives, ...(values.budget === undefined ? {} : { budget: values.budget }) });
    if (values.json) {
      const { status, sum_of_costs, makespan, plans } = result;
      printJson({
        status,
        ...(sum_of_costs === undefined ? {} : { sum_of_costs }),
        ...(makespan === undefined ? {} : { makespan }),
        plans,
      });
    } else print(explain(board, objectives, result, values.steps));
  },
});

const BOARD = "a board {size, holes, agents: [{start, goal}, …]}, cells as [row, column] from 0; see docs/mapf-frozenlake.md";

interface Asked {
  file: string;
  scenario: string | undefined;
  agents: number | undefined;
  row: number | undefined;
  map: string | undefined;
}

async function readBoard({ file, scenario, agents, row, map }: Asked): Promise<Board> {
  const kind = extname(file).toLowerCase();
  const isPair = kind === ".map" || scenario !== undefined;
  const isSet = [".jsonl", ".ndjson", ".parquet"].includes(kind) || (kind === ".json" && (row !== undefined || map !== undefined));
  refuseWithoutEffect("--agents", agents, isPair, "a MovingAI pair: envwright solve room.map room.scen --agents 3");
  refuseWithoutEffect("--row", row, isSet && !isPair, "a set of boards (.jsonl, .json, .parquet)");
  if (kind === ".map" || scenario !== undefined) {
    if (kind !== ".map" || scenario === undefined || map !== undefined) {
      throw new InputError({
        message: scenario === undefined ? `${file}: a map has no agents of its own` : `${scenario}: a scenario belongs to a .map`,
        value: [file, scenario],
        expected: "both files of the pair and no field mapping: envwright solve room.map room.scen --agents 3",
        remedy: scenario === undefined ? "name the .scen as well" : "name the .map first",
      });
    }
    const grid = parseMap(await readText(file), file);
    return movingAiBoard(grid, parseScenario(await readText(scenario), scenario, grid, agents ?? 1), `${file} with ${scenario}`);
  }
  const mapping = openMapping(map, familyByName("mapf-frozenlake"));
  const asBoard = (value: unknown, at: string) => {
    const record = mapping === undefined ? value : within(at, () => mapping(value));
    return parseWith(boardSchema, record, at, InputError, BOARD);
  };
  if (isSet) {
    const wanted = row ?? 1;
    let read = 0;
    for await (const rows of readRows(file)) {
      if (wanted <= read + rows.length) return asBoard(rows[wanted - 1 - read], `${file}, row ${wanted}`);
      read += rows.length;
    }
    if (read === 0) throw emptyFile(file, "instance");
    throw new InputError({
      message: `${file} has ${read} rows`,
      value: wanted,
      expected: `a row from 1 to ${read}`,
      remedy: "name another --row",
    });
  }
  const source = file === "-" ? "stdin" : file;
  const content = file === "-" ? await text(process.stdin) : await readText(file);
  if (mapping === undefined) return parseJsonWith(boardSchema, content, source, InputError, BOARD);
  return asBoard(parseJsonWith(z.unknown(), content, source, CorruptFileError), source);
}

async function readText(file: string): Promise<string> {
  const content = await readFile(file, "utf8").catch((cause) => {
    throw new InputError({ message: `${file}: no such file`, value: file, expected: "an existing file", remedy: "check the path", cause });
  });
  return withoutMark(content);
}

function explain(board: Board, objectives: readonly Objective[], result: SolveResult, steps: number | undefined): string {
  if (result.status === "unsolvable") return "unsolvable: no plan brings every agent to its goal under the rules (proven)";
  if (result.status !== "solved") return `${result.status}: ${result.nodes} nodes searched; --budget allows more`;
  const width = process.stdout.columns ?? 100;
  const headline = (objective: Objective) => `${objective.replaceAll("_", " ")} ${result[objective]} (certified optimum)`;
  const drawn = new Map<string, string[]>();
  for (const objective of objectives) {
    const plan = result.plans[objective];
    if (plan === undefined) continue;
    const picture = steps === 0 ? "" : drawPlan(board, plan, width, steps);
    drawn.set(picture, [...(drawn.get(picture) ?? []), headline(objective)]);
  }
  // Often one plan is optimal in both: it is drawn once, under both headlines.
  return [...drawn].map(([picture, headlines]) => [headlines.join("\n"), picture].filter((part) => part !== "").join("\n\n")).join("\n\n"); // biome-ignore format: one line
}
