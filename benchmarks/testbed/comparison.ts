/**
 * One cell of the comparison: the same boards through our solver and the peers', each in its own process's time. Compared is the sum of
 * costs with a plan, which is what the peers compute. Our solver also proves what is unsolvable; the peers do not end there, so they are
 * asked about one such board a cell, and times are compared over the solvable ones.
 */
import { type PackedOptions, Solver } from "../../src/environments/mapf-frozenlake/solve/index.js";
import type { CellOfComparison, PackedBoard } from "./boards.js";
import type { Peer } from "./peer.js";

export interface Times {
  /** Milliseconds over the solvable boards; a board out of time counts with the limit, so the truth is not below. */
  mean: number;
  p50: number;
  p99: number;
  max: number;
  /** Share of the solvable boards. */
  unsolved: number;
}

export interface PeerResult extends Times {
  /** Boards on which its cost is not ours. */
  differing: number;
  crashed: number;
  /** Of the unsolvable boards it was asked about: how many, and on how many it ended within the limit. */
  unsolvableAsked: number;
  unsolvableEnded: number;
  /** Mean and p99 in multiples of ours; null where no board has a plan. */
  meanRatio: number | null;
  p99Ratio: number | null;
}

export interface CellResult extends CellOfComparison {
  boards: number;
  solvable: number;
  ours: Times & { unsolvableMean: number; exhausted: number };
  peers: Record<string, PeerResult>;
}

const ASKED_UNSOLVABLE = 1;
const BUDGET = 50_000_000;
const OPTIONS: PackedOptions = { budget: BUDGET, needMakespan: false, needWait: false };

/** Milliseconds of other boards of the cell that the compiler sees before the clock starts. */
const WARM_UP = 700;

/** One for all cells, as each peer is one process. */
const solver = new Solver();

/** Runs boards of another seed until the time is up: C++ has no compiler to wait for, a running service has neither. */
export function warmUp(boards: readonly PackedBoard[]): void {
  const end = performance.now() + WARM_UP;
  for (let i = 0; boards.length > 0 && performance.now() < end; i++) solve(boards[i % boards.length]!);
}

interface Own {
  status: string;
  cost: number;
  milliseconds: number;
}

/** Milliseconds of processor time of this process, compiler and garbage collector included. */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** As the peers' drivers do it: a board that took less than 50 ms is solved twice again, and the shortest time counts. */
function ownTime(board: PackedBoard): Own {
  let best = solve(board);
  for (let again = 0; again < 2 && best.milliseconds < 50; again++) {
    const other = solve(board);
    if (other.milliseconds < best.milliseconds) best = other;
  }
  return best;
}

function solve({ size, isHole, starts, goals }: PackedBoard): Own {
  const before = processorTime();
  const begin = performance.now();
  const { status, optimum } = solver.certifyPacked(size, isHole, starts, goals, starts.length, OPTIONS);
  if (status === "solved") for (let agent = 0; agent < starts.length; agent++) solver.sumOfCostsPath(agent);
  const elapsed = performance.now() - begin;
  // Other work on the machine does not count; the clock is finer where there was none.
  return { status, cost: optimum.sum_of_costs, milliseconds: Math.min(elapsed, processorTime() - before) };
}

export async function compareCell(cell: CellOfComparison, boards: readonly PackedBoard[], peers: readonly Peer[]): Promise<CellResult> {
  const own = boards.map(ownTime);
  const solvable = boards.flatMap((_, i) => (own[i]!.status === "solved" ? [i] : []));
  const unsolvable = boards.flatMap((_, i) => (own[i]!.status === "unsolvable" ? [i] : []));
  const exhausted = boards.length - solvable.length - unsolvable.length;
  const mine = timesOf(solvable.map((i) => own[i]!.milliseconds));
  const ours = {
    ...mine,
    unsolved: exhausted / Math.max(1, solvable.length + exhausted),
    unsolvableMean: mean(unsolvable.map((i) => own[i]!.milliseconds)),
    exhausted,
  };
  const results: Record<string, PeerResult> = {};
  for (const peer of peers) {
    const limit = peer.limit * 1000;
    const taken: number[] = [];
    let [unsolved, differing, crashed] = [0, 0, 0];
    for (const i of solvable) {
      const answer = await peer.solve(boards[i]!);
      const isSolved = answer.status === "solved" && answer.seconds <= peer.limit;
      taken.push(isSolved ? answer.seconds * 1000 : limit);
      if (!isSolved) unsolved++;
      if (answer.status === "crashed") crashed++;
      if (answer.status === "solved" && answer.cost !== own[i]!.cost) differing++;
    }
    let ended = 0;
    const asked = unsolvable.slice(0, ASKED_UNSOLVABLE);
    for (const i of asked) if ((await peer.solve(boards[i]!)).status === "failed") ended++;
    const times = timesOf(taken);
    results[peer.name] = {
      ...times,
      unsolved: unsolved / Math.max(1, solvable.length),
      differing,
      crashed,
      unsolvableAsked: asked.length,
      unsolvableEnded: ended,
      meanRatio: mine.mean > 0 ? times.mean / mine.mean : null,
      p99Ratio: mine.p99 > 0 ? times.p99 / mine.p99 : null,
    };
  }
  return { ...cell, boards: boards.length, solvable: solvable.length, ours, peers: results };
}

function timesOf(milliseconds: readonly number[]): Times {
  const sorted = Float64Array.from(milliseconds).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { mean: mean(milliseconds), p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0, unsolved: 0 };
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
