/** A plan drawn step by step as small grids, a few beside each other. A drawing for people; the moves are the plan. */
import { ACTIONS, type Action, type Board, COLUMN_STEP, ROW_STEP } from "../environments/mapf-frozenlake/index.js";

const GAP = "   ";

/**
 * Grids from the start to the last arrival: agents as digits, their goals as letters, holes as #; X where two agents are on a cell, ! where
 * one is on a hole. A move off the grid leaves the agent where it is. `width` in characters; `steps` draws the first ones only.
 */
export function drawPlan(board: Board, plan: readonly (readonly Action[])[], width = 100, steps = Number.POSITIVE_INFINITY): string {
  const frames = positions(board, plan)
    .slice(0, steps + 1)
    .map((cells, step) => frame(board, cells, step));
  const frameWidth = Math.max(...frames.map((lines) => lines[0]!.length));
  const perRow = Math.max(1, Math.floor((width + GAP.length) / (frameWidth + GAP.length)));
  const rows: string[] = [];
  for (let first = 0; first < frames.length; first += perRow) {
    const row = frames.slice(first, first + perRow);
    rows.push(row[0]!.map((_, line) => row.map((lines) => lines[line]!.padEnd(frameWidth)).join(GAP).trimEnd()).join("\n")); // biome-ignore format: one line
  }
  return [
    "agents 0, 1, … on their way to the goals a, b, …; # hole; a goal under an agent is hidden",
    ...rows,
    plan.map((actions, agent) => `agent ${agent}: ${actions.length === 0 ? "stays" : actions.join(", ")}`).join("\n"),
  ].join("\n\n");
}

/** Where every agent is after 0, 1, … steps; an agent that is done stays. */
function positions(board: Board, plan: readonly (readonly Action[])[]): [number, number][][] {
  const longest = Math.max(0, ...plan.map((actions) => actions.length));
  let now = board.agents.map(({ start }) => [...start] as [number, number]);
  const all = [now];
  for (let step = 0; step < longest; step++) {
    now = now.map(([row, column], agent) => {
      const action = ACTIONS.indexOf(plan[agent]?.[step] ?? "WAIT");
      const to: [number, number] = [row + ROW_STEP[action]!, column + COLUMN_STEP[action]!];
      return to.every((at) => at >= 0 && at < board.size) ? to : [row, column];
    });
    all.push(now);
  }
  return all;
}

function frame({ size, holes, agents }: Board, cells: readonly [number, number][], step: number): string[] {
  const grid = Array.from({ length: size }, () => new Array<string>(size).fill("."));
  for (const [row, column] of holes) grid[row]![column] = "#";
  agents.forEach(({ goal: [row, column] }, agent) => {
    grid[row]![column] = String.fromCharCode("a".charCodeAt(0) + agent);
  });
  const isHole = new Set(holes.map(String));
  cells.forEach((cell, agent) => {
    const [row, column] = cell;
    const shared = cells.some((other, i) => i !== agent && other[0] === row && other[1] === column);
    grid[row]![column] = shared ? "X" : isHole.has(String(cell)) ? "!" : String(agent);
  });
  const title = step === 0 ? "start" : `step ${step}`;
  const lines = grid.map((row) => row.join(" "));
  const width = Math.max(title.length, lines[0]!.length);
  return [title, ...lines].map((line) => line.padEnd(width));
}
