/** `envwright solve`: one board → certified optima and a plan for each objective, drawn step by step. Unsolvable is an answer, not an error. */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { InputError, parseJsonWith } from "../../core/index.js";
import { type Board, boardSchema, OBJECTIVES, type Objective, type SolveResult, solve } from "../../environments/mapf-frozenlake/index.js";
import { defineVerb } from "../define-verb.js";
import { drawPlan } from "../draw-plan.js";

export default defineVerb({
  name: "solve",
  description: "Solve one board to certified optimality",
  options: {
    file: { type: "positional", hint: "FILE", required: true, description: "Board as JSON: {size, holes, agents}; - reads stdin" },
    objective: { type: "choice", of: ["makespan", "sum-of-costs"], description: "Only this objective; both unless given" },
    budget: { type: "integer", hint: "NODES", least: 1, description: "Search nodes at most; never a time" },
    json: { type: "flag", description: "Status, costs and plans as one JSON document on stdout" },
  },
  examples: [
    ["envwright solve board.json", "both optima, with the plans drawn"],
    [`echo '{"size": 2, "holes": [], "agents": [{"start": [0, 0], "goal": [1, 1]}]}' | envwright solve - --json`, "from a pipe, as JSON"],
  ],
  async run(values, { print, printJson }) {
    const board = await readBoard(values.file);
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
    } else print(explain(board, objectives, result));
  },
});

async function readBoard(file: string): Promise<Board> {
  const source =
    file === "-"
      ? text(process.stdin)
      : readFile(file, "utf8").catch((cause) => {
          throw new InputError({ message: `${file}: no such file`, value: file, expected: "a JSON file", remedy: "check the path", cause });
        });
  return parseJsonWith(boardSchema, await source, file === "-" ? "stdin" : file);
}

function explain(board: Board, objectives: readonly Objective[], result: SolveResult): string {
  if (result.status === "unsolvable") return "unsolvable: no plan brings every agent to its goal under the rules (proven)";
  if (result.status !== "solved") return `${result.status}: ${result.nodes} nodes searched; --budget allows more`;
  const parts = objectives.flatMap((objective) => {
    const plan = result.plans[objective];
    return plan === undefined
      ? []
      : [
          `${objective.replaceAll("_", " ")} ${result[objective]} (certified optimum)\n\n${drawPlan(board, plan, process.stdout.columns ?? 100)}`,
        ];
  });
  return parts.join("\n\n");
}
