/**
 * An instance as a prompt, in either rendering. Both are lossless: `parsePrompt` in parse-prompt.ts gives the board back.
 *
 * compact: `<size:n><agents:k><hole:r,c>…<start:r,c><goal:r,c>…<plan>`, words of a closed vocabulary, without blanks. The answer is one
 * path per agent as the cells after each step, separated by `<next>` (see parse-compact.ts).
 */
import type { CompactWord, Rendering } from "../../core/index.js";
import { type Board, type Cell, MAX_AGENTS, MAX_SIZE, MIN_SIZE } from "./instance.js";
import { ACTIONS, type Action, AIM, COLUMN_STEP, ROW_STEP, ruleSentences, stepLimit } from "./rules.js";

export const PROMPT_END = "<plan>";
export const NEXT_AGENT = "<next>";

/** Words with a position, in the order of their `kind` number. */
export const POSITION_KINDS = ["hole", "start", "goal", "cell"] as const;

/** words[kind][row·10 + column], so that rendering only joins. */
const positionWords = POSITION_KINDS.map((kind) =>
  Array.from({ length: MAX_SIZE * MAX_SIZE }, (_, i) => `<${kind}:${Math.floor(i / MAX_SIZE)},${i % MAX_SIZE}>`),
);
const [HOLE_WORDS, START_WORDS, GOAL_WORDS, CELL_WORDS] = positionWords as [string[], string[], string[], string[]];

export const compactWords: readonly CompactWord[] = [
  ...Array.from({ length: MAX_SIZE - MIN_SIZE + 1 }, (_, i) => ({ word: `<size:${MIN_SIZE + i}>` })),
  ...Array.from({ length: MAX_AGENTS }, (_, i) => ({ word: `<agents:${i + 1}>` })),
  ...positionWords.flatMap((words, kind) =>
    words.map((word, i) => ({ word, position: { row: Math.floor(i / MAX_SIZE), column: i % MAX_SIZE, kind } })),
  ),
  { word: NEXT_AGENT },
  { word: PROMPT_END },
];

export function renderPrompt(board: Board, rendering: Rendering): string {
  return rendering === "chat" ? chatPrompt(board) : compactPrompt(board);
}

function compactPrompt({ size, holes, agents }: Board): string {
  let text = `<size:${size}><agents:${agents.length}>`;
  for (const [row, column] of holes) text += HOLE_WORDS[row * MAX_SIZE + column]!;
  for (const { start, goal } of agents) text += START_WORDS[start[0] * MAX_SIZE + start[1]]! + GOAL_WORDS[goal[0] * MAX_SIZE + goal[1]]!;
  return text + PROMPT_END;
}

/** Moves of the example; they show the format and solve nothing. */
const EXAMPLE = ["LEFT, DOWN, WAIT", "UP, LEFT, LEFT"];

function chatPrompt(board: Board): string {
  const { size, holes, agents } = board;
  const position = ([row, column]: Cell) => `(${row}, ${column})`;
  const k = agents.length;
  return [
    `Plan the moves of ${k} ${k === 1 ? "agent" : "agents"} on a frozen lake, a ${size}x${size} grid with holes.`,
    "",
    "Rules:",
    ...ruleSentences(stepLimit(size)).map((sentence) => `- ${sentence}`),
    `- ${AIM}`,
    "",
    "Board (S start, G goal, B start of one agent and goal of another, H hole, F frozen; rows and columns count from 0):",
    ...drawBoard(board),
    "",
    "Positions are (row, column).",
    `Holes: ${holes.length === 0 ? "none" : holes.map(position).join(", ")}`,
    ...agents.map(({ start, goal }, i) => `Agent ${i}: start ${position(start)}, goal ${position(goal)}`),
    "",
    "Answer with one line of moves per agent between <answer> and </answer>. The form, with made-up moves:",
    "<answer>",
    ...agents.map((_, i) => `Agent ${i}: ${EXAMPLE[i % EXAMPLE.length]}`),
    "</answer>",
  ].join("\n");
}

/** One line per row, FrozenLake letters under column numbers. */
function drawBoard({ size, holes, agents }: Board): string[] {
  const letters = Array.from({ length: size }, () => new Array<string>(size).fill("F"));
  for (const [row, column] of holes) letters[row]![column] = "H";
  for (const { start } of agents) letters[start[0]]![start[1]] = "S";
  for (const { goal } of agents) letters[goal[0]]![goal[1]] = letters[goal[0]]![goal[1]] === "S" ? "B" : "G";
  return [`  ${letters.map((_, column) => column).join(" ")}`, ...letters.map((line, row) => `${row} ${line.join(" ")}`)];
}

/** A plan (one list of actions per agent) as the policy should write it. */
export function renderPlan(board: Board, plan: readonly (readonly Action[])[], rendering: Rendering): string {
  if (rendering === "chat") {
    const lines = plan.map((actions, i) => `Agent ${i}:${actions.length === 0 ? "" : ` ${actions.join(", ")}`}`);
    return ["<answer>", ...lines, "</answer>"].join("\n");
  }
  const paths = plan.map((actions, i) => {
    let [row, column] = board.agents[i]!.start;
    let text = "";
    for (const action of actions) {
      const a = ACTIONS.indexOf(action);
      row += ROW_STEP[a]!;
      column += COLUMN_STEP[a]!;
      text += CELL_WORDS[row * MAX_SIZE + column]!;
    }
    return text;
  });
  return paths.join(NEXT_AGENT);
}
