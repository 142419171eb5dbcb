/**
 * Plans as the search makes them (one list of cells per agent) and as the outside reads them (one list of actions per agent). A plan
 * here ends with the agent's final arrival: the waits at the goal that follow are free and are never written out.
 */
import type { Action } from "../rules.js";

/** Cells row·size + column, from the start to the goal, both included; the agent's cost is length − 1. */
export type Path = number[];

export function actionsOf(path: Path, size: number): Action[] {
  const actions: Action[] = [];
  for (let t = 1; t < path.length; t++) actions.push(actionBetween(path[t - 1]!, path[t]!, size));
  return actions;
}

function actionBetween(from: number, to: number, size: number): Action {
  if (to === from) return "WAIT";
  if (to === from - size) return "UP";
  if (to === from + size) return "DOWN";
  return to === from - 1 ? "LEFT" : "RIGHT";
}

/** Drops the waits at the goal after the final arrival. */
export function withoutTrailingWaits(path: Path): Path {
  let end = path.length;
  while (end > 1 && path[end - 1] === path[end - 2]) end--;
  return end === path.length ? path : path.slice(0, end);
}
