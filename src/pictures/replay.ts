/**
 * A plan carried out on a board: where every agent is after each step, and every rule that is broken, with its step, agents and cells.
 * The verifier keeps the first broken rule and counts the rest; a drawing needs them all. Judges nothing: whether an answer is valid is
 * the verifier's to say, and a test holds the two together.
 */
import type { Board, Cell } from "../environments/mapf-frozenlake/instance.js";
import { ACTIONS, type Action, type BrokenRule, COLUMN_STEP, ROW_STEP } from "../environments/mapf-frozenlake/rules.js";

/** One list a board's agent: its actions (as in a chat answer), or the cells it is on after each step (as in a compact answer). */
export type DrawnPlan =
  | { readonly layout: "actions"; readonly agents: readonly (readonly Action[])[] }
  | { readonly layout: "cells"; readonly agents: readonly (readonly Cell[])[] };

/** One broken rule. `cell` is the verifier's; `other` is the second cell: of a swap, or the goal that was missed. */
export interface Broken {
  readonly rule: BrokenRule;
  readonly step: number;
  readonly agents: readonly number[];
  readonly cell: Cell;
  readonly other?: Cell;
  /** Direction of a move off the grid, for the arrow that leaves the board. */
  readonly towards?: Cell;
}

export interface Replay {
  /** positions[t][agent] after t steps; positions[0] are the starts. */
  readonly positions: readonly (readonly Cell[])[];
  /** In the order of time, then of the rules, then of the agents. */
  readonly broken: readonly Broken[];
}

/** After a move off the grid an agent stays; a cell inside the grid is gone to even if it is a hole or no neighbour. */
export function replay(board: Board, plan: DrawnPlan): Replay {
  const { size, agents } = board;
  const holes = new Set(board.holes.map(([row, column]) => row * size + column));
  const isHole = ([row, column]: Cell) => holes.has(row * size + column);
  const steps = Math.max(0, ...plan.agents.map((list) => list.length));
  const positions: Cell[][] = [agents.map(({ start }) => start)];
  const broken: Broken[] = [];

  for (let step = 1; step <= steps; step++) {
    const before = positions[step - 1]!;
    const illegal: Broken[] = [];
    const drowned: Broken[] = [];
    const after = before.map((from, agent): Cell => {
      const to = target(plan, agent, step, from);
      const inside = to[0] >= 0 && to[0] < size && to[1] >= 0 && to[1] < size;
      const far = Math.abs(to[0] - from[0]) + Math.abs(to[1] - from[1]) > 1;
      if (!inside || far) {
        const cell = inside || plan.layout === "cells" ? to : from;
        illegal.push({ rule: "illegal-move", step, agents: [agent], cell, other: from, ...(inside ? {} : { towards: to }) });
      }
      if (!inside) return from;
      if (!same(from, to) && isHole(to)) drowned.push({ rule: "hole", step, agents: [agent], cell: to });
      return to;
    });
    positions.push(after);
    broken.push(...illegal, ...drowned, ...meetings(before, after, step));
  }

  const last = positions[steps]!;
  agents.forEach(({ goal }, agent) => {
    const cell = last[agent]!;
    if (!same(cell, goal)) broken.push({ rule: "goal-missed", step: steps, agents: [agent], cell, other: goal });
  });
  return { positions, broken };
}

function target(plan: DrawnPlan, agent: number, step: number, from: Cell): Cell {
  if (plan.layout === "cells") return plan.agents[agent]?.[step - 1] ?? from;
  const action = ACTIONS.indexOf(plan.agents[agent]?.[step - 1] ?? "WAIT");
  return [from[0] + ROW_STEP[action]!, from[1] + COLUMN_STEP[action]!];
}

/** Vertex conflicts, then swap conflicts, each by its agents. */
function meetings(before: readonly Cell[], after: readonly Cell[], step: number): Broken[] {
  const vertex: Broken[] = [];
  const swap: Broken[] = [];
  for (let a = 0; a < after.length; a++) {
    for (let b = a + 1; b < after.length; b++) {
      const [here, there] = [after[a]!, after[b]!];
      if (same(here, there)) vertex.push({ rule: "vertex-conflict", step, agents: [a, b], cell: here });
      else if (same(here, before[b]!) && same(there, before[a]!)) {
        swap.push({ rule: "swap-conflict", step, agents: [a, b], cell: here, other: there });
      }
    }
  }
  return [...vertex, ...swap];
}

export function same(a: Cell, b: Cell): boolean {
  return a[0] === b[0] && a[1] === b[1];
}

/** What happened, for a caption: short, without markup. */
export function brokenSentence({ rule, agents, cell, other, towards }: Broken): string {
  const at = (c: Cell) => `(${c[0]}, ${c[1]})`;
  const [a, b] = agents;
  switch (rule) {
    case "illegal-move":
      return towards === undefined ? `agent ${a} jumps to ${at(cell)}` : `agent ${a} leaves the grid from ${at(other ?? cell)}`;
    case "hole":
      return `agent ${a} enters the hole ${at(cell)}`;
    case "vertex-conflict":
      return `agents ${a} and ${b} are both on ${at(cell)}`;
    case "swap-conflict":
      return `agents ${a} and ${b} exchange ${at(cell)} and ${at(other ?? cell)}`;
    default:
      return `agent ${a} ends on ${at(cell)}, not ${at(other ?? cell)}`;
  }
}
