/**
 * Fuzzed answers for differential tests: boards with many valid and nearly valid plans (greedy walks to the goal with random waits,
 * detours, jumps and padding), written in either rendering and sometimes damaged. Item i of a name is always the same.
 */
import { type Random, Seed } from "../../../core/index.js";
import { type Board, type Cell, type Instance, MAX_AGENTS, MAX_SIZE } from "../instance.js";
import { renderPlan } from "../prompt.js";
import { ACTIONS, type Action } from "../rules.js";
import { instanceOf } from "./boards.js";

export interface FuzzedAnswer {
  instance: Instance;
  completion: string;
  finish: "stop" | "length";
  rendering: "chat" | "compact";
}

const seeds = new Map<string, Seed>();

export function fuzzedAnswer(name: string, index: number): FuzzedAnswer {
  const seed = seeds.get(name) ?? Seed.root(name);
  seeds.set(name, seed);
  const random = seed.at(index);
  const board = randomBoard(random);
  const carelessness = random.pick([0, 0, 0.05, 0.3]);
  const plan = board.agents.map((agent) => walk(board, agent.start, agent.goal, carelessness, random));
  const rendering = random.pick(["chat", "compact"] as const);
  let completion = renderSafely(board, plan, rendering);
  if (rendering === "chat" && random.below(8) === 0)
    completion = random.pick([`<think>${completion}</think>`, "</think>", "<think>", `${completion}\n`]) + completion;
  if (random.below(6) === 0) completion = damage(completion, random);
  return { instance: instanceOf(board), completion, finish: random.below(50) === 0 ? "length" : "stop", rendering };
}

function randomBoard(random: Random): Board {
  // Mostly small and few, where answers are often nearly right; up to the limits now and then.
  const size = random.below(8) === 0 ? random.between(7, MAX_SIZE) : random.between(2, 6);
  const cells = random.shuffle(Array.from({ length: size * size }, (_, i): Cell => [Math.floor(i / size), i % size]));
  const agents = Math.min(random.below(8) === 0 ? random.between(5, MAX_AGENTS) : random.between(1, 4), cells.length - 1);
  const holes = random.below(Math.max(1, Math.floor(0.3 * (cells.length - agents)) + 1));
  const free = cells.slice(holes);
  const goals = random.shuffle([...free]).slice(0, agents);
  return { size, holes: cells.slice(0, holes), agents: goals.map((goal, i) => ({ start: free[i]!, goal })) };
}

/** Mostly towards the goal, now and then anywhere. */
function walk(board: Board, start: Cell, goal: Cell, carelessness: number, random: Random): Action[] {
  let [row, column] = start;
  const plan: Action[] = [];
  const holes = new Set(board.holes.map(([r, c]) => r * 10 + c));
  for (let step = 0; step < 3 * board.size; step++) {
    if (row === goal[0] && column === goal[1] && random.below(6) > 0) break;
    const towards: Action[] = [];
    if (row > goal[0]) towards.push("UP");
    if (row < goal[0]) towards.push("DOWN");
    if (column > goal[1]) towards.push("LEFT");
    if (column < goal[1]) towards.push("RIGHT");
    const free = towards.filter((action) => !holes.has((row + down(action)) * 10 + column + right(action)));
    const action =
      free.length === 0 || random.float() < carelessness ? random.pick(ACTIONS) : random.below(8) === 0 ? "WAIT" : random.pick(free);
    plan.push(action);
    const [nextRow, nextColumn] = [row + down(action), column + right(action)];
    if (nextRow >= 0 && nextRow < board.size && nextColumn >= 0 && nextColumn < board.size) [row, column] = [nextRow, nextColumn];
  }
  return plan;
}

const down = (action: Action) => (action === "UP" ? -1 : action === "DOWN" ? 1 : 0);
const right = (action: Action) => (action === "LEFT" ? -1 : action === "RIGHT" ? 1 : 0);

/** Off the grid there is no cell word; such plans are written with the words that come out, which is one more kind of damage. */
function renderSafely(board: Board, plan: Action[][], rendering: "chat" | "compact"): string {
  return renderPlan(board, plan, rendering).replaceAll("undefined", "");
}

const PIECES = [
  "<answer>",
  "</answer>",
  "<think>",
  "</think>",
  "Agent 0:",
  "agent 1 :",
  "UP",
  "WAIT, ",
  ",",
  "\n",
  " ",
  "<next>",
  "<cell:0,1>",
  "<cell:9,9>",
  "<cell:",
  "x",
  "\r\n",
];

function damage(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const stop = Math.min(text.length, at + random.below(12));
  switch (random.below(3)) {
    case 0:
      return text.slice(0, at) + text.slice(stop);
    case 1:
      return text.slice(0, at) + random.pick(PIECES) + text.slice(at);
    default:
      return text.slice(0, at) + text.slice(at, stop) + text.slice(at);
  }
}
