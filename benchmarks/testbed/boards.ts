/**
 * The boards of the comparison: every hole pattern, start and goal equally likely, drawn from a seed before anybody solves them, so that
 * none is there because some solver could do it. Unsolvable boards are part of the sample.
 */
import { type Random, Seed } from "../../src/core/index.js";

export interface PackedBoard {
  size: number;
  /** 1 where there is a hole, by cell row·size + column. */
  isHole: Uint8Array;
  starts: Uint8Array;
  goals: Uint8Array;
}

export interface CellOfComparison {
  size: number;
  agents: number;
  holeRatio: number;
}

export const SIZES = [3, 4, 6, 8, 10];
export const AGENTS = [2, 3, 4, 5];
export const HOLE_RATIOS = [0.1, 0.2, 0.3, 0.4];

/** @returns no boards where the free cells cannot hold the agents */
export function drawBoards({ size, agents, holeRatio }: CellOfComparison, count: number, seed: string): PackedBoard[] {
  const holes = Math.round(holeRatio * size * size);
  if (size * size - holes < Math.max(2, agents)) return [];
  const random = Seed.root(seed).child("boards", size, agents, holes).at(0);
  return Array.from({ length: count }, () => drawBoard(random, size, agents, holes));
}

function drawBoard(random: Random, size: number, agents: number, holes: number): PackedBoard {
  const cells = Uint8Array.from({ length: size * size }, (_, cell) => cell);
  choose(random, cells, 0, holes);
  const isHole = new Uint8Array(size * size);
  for (let i = 0; i < holes; i++) isHole[cells[i]!] = 1;
  for (;;) {
    choose(random, cells, holes, agents);
    const starts = cells.slice(holes, holes + agents);
    choose(random, cells, holes, agents);
    const goals = cells.slice(holes, holes + agents);
    // An agent that is there already is nobody's problem.
    if (starts.every((start, i) => start !== goals[i])) return { size, isHole, starts, goals };
  }
}

/** Puts `wanted` of the entries from `from` on, evenly drawn, first. */
function choose(random: Random, cells: Uint8Array, from: number, wanted: number): void {
  for (let i = from; i < from + wanted; i++) {
    const j = i + random.below(cells.length - i);
    [cells[i], cells[j]] = [cells[j]!, cells[i]!];
  }
}

/** As the drivers of the peers read it. */
export function boardLine({ size, isHole, starts, goals }: PackedBoard): string {
  const holes = [...isHole.keys()].filter((cell) => isHole[cell] === 1);
  return [size, holes.length, ...holes, starts.length, ...[...starts].flatMap((start, i) => [start, goals[i]!])].join(" ");
}
