/**
 * The verifier: one answer → one verdict. It is the independent check on generator and solver and imports neither. It never throws,
 * whatever the text, and is linear in its length.
 *
 * Time runs from step 1; the plan ends with the longest agent's; a shorter one is padded with WAIT. What is counted: per step, every
 * illegal move and every entering of a hole per agent, every pair of agents on one cell, every pair that exchanges its cells; at the
 * end, every agent off its goal. After a move off the grid the agent stays where it was; a named cell inside the grid that is no
 * neighbour is illegal and is taken as the agent's new place. The primary code is the earliest broken rule; within a step, the first
 * in the order of BROKEN_RULES, then of the lowest agents.
 */
import type { FinishReason, Rendering, Verdict } from "../../core/index.js";
import { type Instance, MAX_AGENTS } from "./instance.js";
import { parseChat } from "./parse-chat.js";
import { parseCompact } from "./parse-compact.js";
import { PLAN_STRIDE, PlanBuffer } from "./plan.js";
import { BROKEN_RULES, COLUMN_STEP, ROW_STEP, stepLimit } from "./rules.js";

const [ILLEGAL, HOLE, VERTEX, SWAP, MISSED] = [0, 1, 2, 3, 4] as const;

// Reused by every call; a call runs to its end before the next begins.
const plan = new PlanBuffer();
const isHole = new Uint8Array(256);
const place = new Int32Array(MAX_AGENTS);
const before = new Int32Array(MAX_AGENTS);
const goal = new Int32Array(MAX_AGENTS);
const awayUntil = new Int32Array(MAX_AGENTS);
const counts = new Int32Array(BROKEN_RULES.length);
const first = { step: 0, rule: 0, a: 0, b: -1, cell: 0 };

/** Judges one completion: parse, then every rule. */
export function verify(instance: Instance, completion: string, finish: FinishReason, rendering: Rendering): Verdict {
  const { size, agents, optimum } = instance;
  const k = agents.length;
  const parse = rendering === "chat" ? parseChat : parseCompact;
  const optima = { sum_of_costs: optimum.sum_of_costs, makespan: optimum.makespan };
  const optimal = { sum_of_costs: false, makespan: false };
  const noPlan = parse(completion, finish, k, stepLimit(size), plan);
  if (noPlan !== undefined) {
    return {
      instance: instance.id,
      ok: false,
      code: noPlan.code,
      reason: noPlan.reason,
      counts: { [noPlan.code]: 1 },
      optima,
      optimal,
    };
  }

  if (walk(instance)) {
    let sumOfCosts = 0;
    let makespan = 0;
    for (let a = 0; a < k; a++) {
      const cost = awayUntil[a]! + 1;
      sumOfCosts += cost;
      if (cost > makespan) makespan = cost;
    }
    optimal.sum_of_costs = sumOfCosts === optimum.sum_of_costs;
    optimal.makespan = makespan === optimum.makespan;
    return {
      instance: instance.id,
      ok: true,
      code: "valid",
      reason: "every rule holds",
      counts: {},
      costs: { sum_of_costs: sumOfCosts, makespan },
      optima,
      optimal,
    };
  }

  const { step, rule, a, b, cell } = first;
  const broken: Record<string, number> = {};
  for (let r = 0; r < counts.length; r++) if (counts[r]! > 0) broken[BROKEN_RULES[r]!] = counts[r]!;
  return {
    instance: instance.id,
    ok: false,
    code: BROKEN_RULES[rule]!,
    at: { step, agents: b < 0 ? [a] : [a, b], cell: [cell >> 4, cell & 15] },
    reason: describe(instance, rule, step, a, b, cell),
    counts: broken,
    optima,
    optimal,
  };
}

/** Walks the plan, filling `counts`, `first` and `awayUntil` (the last step at which an agent is off its goal, −1: never). True when every rule holds. */
function walk(instance: Instance): boolean {
  const { size, holes, agents } = instance;
  const k = agents.length;
  const cells = plan.layout === "cells";
  let steps = 0;
  let broken = false;
  for (let i = 0; i < holes.length; i++) isHole[(holes[i]![0] << 4) | holes[i]![1]] = 1;
  counts.fill(0);
  for (let a = 0; a < k; a++) {
    const agent = agents[a]!;
    place[a] = (agent.start[0] << 4) | agent.start[1];
    goal[a] = (agent.goal[0] << 4) | agent.goal[1];
    awayUntil[a] = place[a] === goal[a] ? -1 : 0;
    if (plan.lengths[a]! > steps) steps = plan.lengths[a]!;
  }

  for (let step = 1; step <= steps; step++) {
    for (let a = 0; a < k; a++) {
      const from = place[a]!;
      before[a] = from;
      if (step <= plan.lengths[a]!) {
        const written = plan.steps[a * PLAN_STRIDE + step - 1]!;
        const row = cells ? written >> 4 : (from >> 4) + ROW_STEP[written]!;
        const column = cells ? written & 15 : (from & 15) + COLUMN_STEP[written]!;
        const inside = row >= 0 && row < size && column >= 0 && column < size;
        if (!inside || (cells && Math.abs(row - (from >> 4)) + Math.abs(column - (from & 15)) > 1)) {
          // The cell reported is the one asked for where it has a name, else the one the agent stayed on.
          breakRule(ILLEGAL, step, a, -1, inside || cells ? (row << 4) | column : from, broken);
          broken = true;
        }
        if (inside) {
          const to = (row << 4) | column;
          place[a] = to;
          if (to !== from && isHole[to] === 1) {
            breakRule(HOLE, step, a, -1, to, broken);
            broken = true;
          }
        }
      }
      if (place[a] !== goal[a]) awayUntil[a] = step;
    }
    for (let a = 1; a < k; a++) {
      const here = place[a]!;
      const was = before[a]!;
      for (let b = 0; b < a; b++) {
        if (place[b] === here) {
          breakRule(VERTEX, step, b, a, here, broken);
          broken = true;
        } else if (place[b] === was && before[b] === here) {
          breakRule(SWAP, step, b, a, was, broken);
          broken = true;
        }
      }
    }
  }

  for (let a = 0; a < k; a++) {
    if (place[a] !== goal[a]) {
      breakRule(MISSED, steps, a, -1, place[a]!, broken);
      broken = true;
    }
  }
  for (let i = 0; i < holes.length; i++) isHole[(holes[i]![0] << 4) | holes[i]![1]] = 0;
  return !broken;
}

/** Counts a broken rule and keeps it as the first one if it comes before what was kept: by step, rule, agents. */
function breakRule(rule: number, step: number, a: number, b: number, cell: number, broken: boolean): void {
  counts[rule] = counts[rule]! + 1;
  if (broken) {
    if (step > first.step || rule > first.rule) return;
    if (rule === first.rule && (a > first.a || (a === first.a && b > first.b))) return;
  }
  first.step = step;
  first.rule = rule;
  first.a = a;
  first.b = b;
  first.cell = cell;
}

function describe(instance: Instance, rule: number, step: number, a: number, b: number, cell: number): string {
  const at = `(${cell >> 4}, ${cell & 15})`;
  switch (rule) {
    case ILLEGAL:
      return plan.layout === "cells"
        ? `step ${step}: agent ${a} cannot go to ${at}, which is not a neighbour inside the ${instance.size}x${instance.size} grid`
        : `step ${step}: agent ${a} leaves the grid from ${at}`;
    case HOLE:
      return `step ${step}: agent ${a} enters the hole ${at}`;
    case VERTEX:
      return `step ${step}: agents ${a} and ${b} are both on ${at}`;
    case SWAP:
      return `step ${step}: agents ${a} and ${b} exchange cells, ${a} entering ${at}`;
    default: {
      const [row, column] = instance.agents[a]!.goal;
      const missing = counts[MISSED]!;
      return `agent ${a} ends on ${at}, its goal is (${row}, ${column})${missing > 1 ? `; ${missing} agents miss their goals` : ""}`;
    }
  }
}
