/**
 * All boards of a small cell (size, agents, holes), one after the other: to prove that a class is empty, and to count a class that seems to
 * be used up. Hole patterns come once for each of their images under symmetry, agents in one order; nobody starts on its goal, as in the
 * generator. Symmetric patterns still give some boards twice: `hashCells` tells them apart.
 */
import { hashCells } from "./hash.js";

export interface EnumeratedBoard {
  /** 1 where there is a hole. */
  isHole: Uint8Array;
  /** The holes, ascending, in cell numbers row·size + column, as are the starts and goals. */
  holes: readonly number[];
  starts: readonly number[];
  goals: readonly number[];
}

/** About how many boards `everyBoard` gives: all placements over the 8 symmetries. Infinite sizes are the caller's to refuse by it. */
export function roughCount(size: number, agents: number, holes: number): number {
  const free = size * size - holes;
  let placements = choose(size * size, holes) * choose(free, agents);
  for (let i = 0; i < agents; i++) placements *= free - i;
  return placements / 8;
}

export function* everyBoard(size: number, agents: number, holes: number): Generator<EnumeratedBoard> {
  const cells = Array.from({ length: size * size }, (_, cell) => cell);
  const patterns = new Set<string>();
  for (const pattern of subsets(cells, holes)) {
    const hash = hashCells(size, pattern, holes, [], [], 0);
    if (patterns.has(hash)) continue;
    patterns.add(hash);
    const isHole = Uint8Array.from(cells, (cell) => Number(pattern.includes(cell)));
    const free = cells.filter((cell) => isHole[cell] === 0);
    for (const starts of subsets(free, agents)) {
      for (const goals of goalsFor(starts, free)) yield { isHole, holes: pattern, starts, goals };
    }
  }
}

function* subsets(items: readonly number[], count: number): Generator<number[]> {
  if (count === 0) yield [];
  for (let i = 0; count > 0 && i <= items.length - count; i++)
    for (const rest of subsets(items.slice(i + 1), count - 1)) yield [items[i]!, ...rest];
}

function* goalsFor([start, ...others]: readonly number[], free: readonly number[]): Generator<number[]> {
  if (start === undefined) {
    yield [];
    return;
  }
  for (const goal of free) {
    if (goal === start) continue;
    const left = free.filter((cell) => cell !== goal);
    for (const rest of goalsFor(others, left)) yield [goal, ...rest];
  }
}

function choose(n: number, k: number): number {
  let ways = 1;
  for (let i = 0; i < k; i++) ways = (ways * (n - i)) / (i + 1);
  return ways;
}
