/**
 * `envwright solve`: one board → certified optima and a plan for each objective, drawn step by step. Unsolvable is an answer, not an error.
 * What the file records of the board and is not so is told beside it. Where the board comes from is in board-source.ts.
 */
import {
  type Board,
  DEFAULT_BUDGET,
  OBJECTIVES,
  type Objective,
  type SolveResult,
  solve,
} from "../../environments/mapf-frozenlake/index.js";
import { askedBoard } from "../board-source.js";
import { defineVerb } from "../define-verb.js";
import { drawPlan } from "../draw-plan.js";
import { recordedClaims } from "../recorded-claims.js";
import { MAP_OPTION } from "../row-mapping.js";

export default defineVerb({
  name: "solve",
  description: "Solve one board to certified optimality",
  options: {
    file: {
      type: "positional",
      hint: "FILE",
      required: true,
      description:
        "Board as JSON {size, holes, agents}, - for stdin; a set (.jsonl, .json, .parquet, or a benchmark set); or a MovingAI .map",
    },
    scenario: { type: "positional", hint: "SCEN", description: "MovingAI .scen of the .map" },
    agents: { type: "integer", hint: "K", least: 1, description: "Lines of the .scen, from its first; one unless given" },
    row: { type: "integer", hint: "N", least: 1, description: "Row of a set; the first unless given" },
    map: MAP_OPTION,
    objective: { type: "choice", of: ["makespan", "sum-of-costs"], description: "Only this objective; both unless given" },
    steps: { type: "integer", hint: "N", least: 0, description: "Draw the first N steps only; 0 draws none" },
    budget: {
      type: "integer",
      hint: "NODES",
      least: 1,
      default: DEFAULT_BUDGET,
      description: "Search nodes after which it gives up, never a time; some are counted together, so a few more may be spent",
    },
    json: { type: "flag", description: "Status, costs, plans and nodes as one JSON document on stdout" },
  },
  examples: [
    ["envwright solve board.json", "both optima, with the plans drawn"],
    ["envwright solve room.map room.scen --agents 3", "a MovingAI map with the first three agents of its scenario"],
    ["envwright solve boards.parquet --row 7", "the seventh board of a set"],
    ["envwright solve bench-3 --row 7", "the seventh board of a benchmark set"],
    [`echo '{"size": 2, "holes": [], "agents": [{"start": [0, 0], "goal": [1, 1]}]}' | envwright solve - --json`, "from a pipe, as JSON"],
  ],
  async run(values, { print, printJson, note }) {
    const { at, board, recorded } = await askedBoard(values, note);
    const { budget } = values;
    const objectives: readonly Objective[] =
      values.objective === undefined ? OBJECTIVES : [values.objective.replaceAll("-", "_") as Objective];
    const result = solve(board, { objectives, budget });
    if (values.json) {
      const { status, sum_of_costs, makespan, plans, nodes } = result;
      printJson({
        status,
        ...(sum_of_costs === undefined ? {} : { sum_of_costs }),
        ...(makespan === undefined ? {} : { makespan }),
        plans,
        nodes,
        budget,
      });
    } else print(explain(board, objectives, result, budget, values.steps));
    for (const claim of recordedClaims(board, recorded, result, budget)) note(`${at}: ${claim}`);
  },
});

function explain(board: Board, objectives: readonly Objective[], result: SolveResult, budget: number, steps: number | undefined): string {
  if (result.status === "unsolvable") return "unsolvable: no plan brings every agent to its goal under the rules (proven)";
  if (result.status !== "solved")
    return `${result.status}: ${result.nodes} nodes searched with a budget of ${budget}; --budget allows more`;
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
