/** What has no peer: solved boards a second by number of agents, accepted instances a second and their memory, verdicts a second. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { Seed } from "../../src/core/index.js";
import { type Board, type Cell, completeInstance, renderPlan, solve, verify } from "../../src/environments/mapf-frozenlake/index.js";
import { ACTIONS, type Action } from "../../src/environments/mapf-frozenlake/rules.js";
import { drawBoards, type PackedBoard } from "./boards.js";

const HERE = import.meta.dirname;
const tsx = (script: string, args: readonly string[]) =>
  execFileSync(process.execPath, ["--import", "tsx", join(HERE, script), ...args], { encoding: "utf8", cwd: join(HERE, "../..") });

export interface SolverRate {
  agents: number;
  holeRatio: number;
  /** Solved boards a CPU-second, sampling included, sizes with equal weight: sum of costs alone, and with makespan and wait-required. */
  perSecond: number;
  allPerSecond: number;
  /** Milliseconds a board for the whole certificate, the largest over the sizes. */
  p99: number;
  p999: number;
}

/** The rows of benchmarks/solver.ts, which says how they are measured. */
export function solverRates(seconds: number): SolverRate[] {
  const rows = tsx("../solver.ts", ["--seconds", String(seconds)])
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  return rows
    .filter((row) => row[2] === "mix")
    .map(([agents, holeRatio, , , perSecond, allPerSecond]) => {
      const own = rows.filter((row) => row[0] === agents && row[1] === holeRatio && /^\d+$/.test(row[2]!));
      const largest = (column: number) => Math.max(...own.map((row) => Number(row[column]))) / 1000;
      return {
        agents: Number(agents),
        holeRatio: Number(holeRatio),
        perSecond: Number(perSecond),
        allPerSecond: Number(allPerSecond),
        p99: largest(8),
        p999: largest(9),
      };
    });
}

export interface GeneratorRun {
  count: number;
  seconds: number;
  /** CPU-seconds. */
  cpu: number;
  /** Bytes at the peak. */
  rss: number;
}

export function generatorRun(count: number): GeneratorRun {
  return JSON.parse(tsx("generator.ts", [String(count)])) as GeneratorRun;
}

/** Verdicts a second on 10×10 boards with five agents, parse included; half of the answers are optimal plans, half have one move changed. */
export function verdictsPerSecond(rendering: "chat" | "compact", seconds: number): number {
  const random = Seed.root("bench-testbed").child("answers").at(0);
  const answers = drawBoards({ size: 10, agents: 5, holeRatio: 0.1 }, 400, "bench-verifier").flatMap((packed, i) => {
    const board = boardOf(packed);
    const plan = solve(board, { objectives: ["sum_of_costs"] }).plans.sum_of_costs;
    if (plan === undefined) return [];
    const written = i % 2 === 0 ? plan : oneMoveChanged(plan, (n) => random.below(n));
    const isDrawable = rendering === "chat" || written === plan;
    return [{ instance: completeInstance(board), answer: renderPlan(board, isDrawable ? written : plan, rendering) }];
  });
  let judged = 0;
  const run = (until: number) => {
    while (performance.now() < until) {
      for (const { instance, answer } of answers) verify(instance, answer, "stop", rendering);
      judged += answers.length;
    }
  };
  run(performance.now() + 500);
  judged = 0;
  const before = process.cpuUsage();
  run(performance.now() + seconds * 1000);
  const { user, system } = process.cpuUsage(before);
  return judged / ((user + system) / 1e6);
}

export function boardOf({ size, isHole, starts, goals }: PackedBoard): Board {
  const at = (cell: number): Cell => [Math.floor(cell / size), cell % size];
  return {
    size,
    holes: [...isHole.keys()].filter((cell) => isHole[cell] === 1).map(at),
    agents: [...starts].map((start, i) => ({ start: at(start), goal: at(goals[i]!) })),
  };
}

function oneMoveChanged(plan: readonly Action[][], below: (n: number) => number): Action[][] {
  const agent = below(plan.length);
  return plan.map((actions, i) =>
    i === agent && actions.length > 0 ? actions.with(below(actions.length), ACTIONS[below(ACTIONS.length)]!) : [...actions],
  );
}
