/**
 * A naive judge of plans for the solver's tests, one rule after another on plain arrays; independent of the solver and of the verifier.
 * Returns the final arrival of every agent, or the sentence that says which rule broke.
 */
import type { Board } from "../../instance.js";
import type { Action } from "../../rules.js";

const STEPS: Record<Action, [number, number]> = { UP: [-1, 0], DOWN: [1, 0], LEFT: [0, -1], RIGHT: [0, 1], WAIT: [0, 0] };

export function arrivals(board: Board, plan: Action[][]): number[] | string {
  if (plan.length !== board.agents.length) return "not one list per agent";
  const length = Math.max(...plan.map((actions) => actions.length));
  const tracks = board.agents.map(({ start }, i) => {
    const track = [start];
    for (let t = 0; t < length; t++) {
      const [row, column] = track[t]!;
      const [down, right] = STEPS[plan[i]![t] ?? "WAIT"];
      track.push([row + down, column + right]);
    }
    return track.map((cell) => cell.join());
  });
  const inside = new Set<string>();
  for (let row = 0; row < board.size; row++) for (let column = 0; column < board.size; column++) inside.add(`${row},${column}`);
  for (const hole of board.holes) inside.delete(hole.join());
  for (let i = 0; i < tracks.length; i++) {
    const mine = tracks[i]!;
    if (mine.some((cell) => !inside.has(cell))) return `agent ${i} leaves the board`;
    if (mine.at(-1) !== board.agents[i]!.goal.join()) return `agent ${i} misses its goal`;
    for (let j = 0; j < i; j++) {
      const other = tracks[j]!;
      for (let t = 0; t <= length; t++) {
        if (mine[t] === other[t]) return `agents ${j} and ${i} meet at ${t}`;
        if (t > 0 && mine[t] === other[t - 1] && mine[t - 1] === other[t]) return `agents ${j} and ${i} swap at ${t}`;
      }
    }
  }
  return tracks.map((track, i) => track.findLastIndex((cell) => cell !== board.agents[i]!.goal.join()) + 1);
}
