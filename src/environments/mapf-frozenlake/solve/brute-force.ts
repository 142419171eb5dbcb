/**
 * Brute force for tests: uniform-cost search over the joint space of all agents, straight from the rules. It shares nothing with the
 * solver, not even the grid, so that a fault in one does not hide in the other. Only for tiny boards: the space grows as (2·cells)^agents.
 *
 * Sum of costs is searched over (cell, finished) per agent: an agent pays one a step until it declares itself finished at its goal, which
 * it may do at any time, and then stays for ever. Unlike the solver's states this one needs no argument about when an agent may finish.
 */
import type { Board } from "../instance.js";

export interface BruteForceResult {
  solvable: boolean;
  /** Undefined where the board is unsolvable. */
  sum_of_costs: number | undefined;
  makespan: number | undefined;
  /** Undefined where some agent cannot reach its goal even alone. */
  sum_of_shortest: number | undefined;
  wait_required: boolean | undefined;
}

interface Joint {
  cells: number[];
  finished: boolean[];
}

export function bruteForce(board: Board): BruteForceResult {
  const neighbours = neighbourLists(board);
  const starts = board.agents.map(({ start: [row, column] }) => row * board.size + column);
  const goals = board.agents.map(({ goal: [row, column] }) => row * board.size + column);
  const shortest = starts.map((start, i) => distanceBetween(neighbours, start, goals[i]!));
  const sumOfShortest = shortest.every((d) => d !== undefined) ? shortest.reduce<number>((sum, d) => sum + d!, 0) : undefined;
  const makespan = shortestMakespan(neighbours, starts, goals);
  if (makespan === undefined) {
    return { solvable: false, sum_of_costs: undefined, makespan, sum_of_shortest: sumOfShortest, wait_required: undefined };
  }
  const soc = cheapestSum(neighbours, starts, goals, true);
  const withoutWaits = cheapestSum(neighbours, starts, goals, false);
  return { solvable: true, sum_of_costs: soc, makespan, sum_of_shortest: sumOfShortest, wait_required: withoutWaits !== soc };
}

function neighbourLists({ size, holes }: Board): number[][] {
  const isHole = new Set(holes.map(([row, column]) => row * size + column));
  return Array.from({ length: size * size }, (_, cell) => {
    const row = Math.floor(cell / size);
    const column = cell % size;
    const around: number[] = [];
    if (row > 0) around.push(cell - size);
    if (row < size - 1) around.push(cell + size);
    if (column > 0) around.push(cell - 1);
    if (column < size - 1) around.push(cell + 1);
    return isHole.has(cell) ? [] : around.filter((next) => !isHole.has(next));
  });
}

function distanceBetween(neighbours: number[][], from: number, to: number): number | undefined {
  const distance = new Map([[from, 0]]);
  const queue = [from];
  for (const cell of queue) {
    if (cell === to) return distance.get(cell);
    for (const next of neighbours[cell]!) {
      if (distance.has(next)) continue;
      distance.set(next, distance.get(cell)! + 1);
      queue.push(next);
    }
  }
  return undefined;
}

/** Every combination of one choice per agent in which no two share a cell and no two exchange cells. The array is the same at each visit. */
function eachJointMove(from: number[], choices: number[][], visit: (moved: number[]) => void): void {
  const moved: number[] = [];
  const choose = (agent: number): void => {
    if (agent === from.length) {
      visit(moved);
      return;
    }
    for (const cell of choices[agent]!) {
      let isFree = true;
      for (let other = 0; other < agent && isFree; other++) {
        isFree = moved[other] !== cell && !(moved[other] === from[agent] && cell === from[other]);
      }
      if (!isFree) continue;
      moved[agent] = cell;
      choose(agent + 1);
    }
  };
  choose(0);
}

function shortestMakespan(neighbours: number[][], starts: number[], goals: number[]): number | undefined {
  const keyOf = (cells: number[]) => cells.reduce((key, cell) => key * neighbours.length + cell, 0);
  const seen = new Set([keyOf(starts)]);
  let frontier = [starts];
  for (let time = 0; frontier.length > 0; time++) {
    const next: number[][] = [];
    for (const cells of frontier) {
      if (cells.every((cell, i) => cell === goals[i])) return time;
      const choices = cells.map((cell) => [cell, ...neighbours[cell]!]);
      eachJointMove(cells, choices, (moved) => {
        const key = keyOf(moved);
        if (seen.has(key)) return;
        seen.add(key);
        next.push([...moved]);
      });
    }
    frontier = next;
  }
  return undefined;
}

function cheapestSum(neighbours: number[][], starts: number[], goals: number[], mayWait: boolean): number | undefined {
  const best = new Map<number, number>();
  const buckets: Joint[][] = [];
  const keyOf = (cells: number[], finished: boolean[]) =>
    cells.reduce((key, cell, i) => 2 * (key * neighbours.length + cell) + Number(finished[i]), 0);
  const reach = (cells: number[], finished: boolean[], cost: number) => {
    const key = keyOf(cells, finished);
    if ((best.get(key) ?? Number.POSITIVE_INFINITY) <= cost) return;
    best.set(key, cost);
    buckets[cost] ??= [];
    buckets[cost].push({ cells: [...cells], finished });
  };
  reach(starts, starts.map(() => false), 0); // biome-ignore format: one call
  for (let cost = 0; cost < buckets.length; cost++) {
    for (const bucket = buckets[cost] ?? []; bucket.length > 0; ) {
      const { cells, finished } = bucket.pop()!;
      if (best.get(keyOf(cells, finished))! < cost) continue;
      if (finished.every(Boolean)) return cost;
      cells.forEach((cell, i) => {
        if (finished[i] || cell !== goals[i]) return;
        reach(cells, finished.map((done, j) => done || j === i), cost); // biome-ignore format: one call
      });
      const choices = cells.map((cell, i) => {
        if (finished[i]) return [cell];
        return mayWait ? [cell, ...neighbours[cell]!] : neighbours[cell]!;
      });
      const step = finished.filter((done) => !done).length;
      if (step === 0) continue;
      eachJointMove(cells, choices, (moved) => reach(moved, finished, cost + step));
    }
  }
  return undefined;
}
