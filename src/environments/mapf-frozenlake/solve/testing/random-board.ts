/** Uniformly random boards for tests and benchmarks: every hole pattern, start and goal equally likely, solvable or not. */
import type { Random } from "../../../../core/index.js";
import type { Board, Cell } from "../../instance.js";

/** Undefined when the holes leave fewer free cells than agents. @param mayStartOnGoal lets a start equal its agent's goal */
export function randomBoard(random: Random, size: number, holes: number, agents: number, mayStartOnGoal = true): Board | undefined {
  const cells = random.shuffle(Array.from({ length: size * size }, (_, cell): Cell => [Math.floor(cell / size), cell % size]));
  const free = cells.slice(holes);
  if (free.length < agents) return undefined;
  const starts = random.shuffle([...free]).slice(0, agents);
  const goals = random.shuffle([...free]).slice(0, agents);
  if (!mayStartOnGoal && starts.some((start, i) => start.join() === goals[i]!.join())) return undefined;
  return { size, holes: cells.slice(0, holes), agents: starts.map((start, i) => ({ start, goal: goals[i]! })) };
}
