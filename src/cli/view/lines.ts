/** A run as plain lines, for a log or a pipe: one line where something was reached, and now and then one on the way. */
import { points, type RunEvent } from "../../core/index.js";
import { duration, percent, waitingText } from "./live.js";
import { type RunState, secondsLeft } from "./run-state.js";

/** The line that an event is worth, after it was folded into `state`; undefined for none. */
export function lineOf(event: RunEvent, state: RunState): string | undefined {
  switch (event.type) {
    case "run-started":
      return `${event.resumed ? "resumed" : "started"} ${event.name}: engineer ${event.engineer} ${event.variant}, ${event.stages} stages of ${event.steps_per_stage} steps`;
    case "phase-finished":
      return event.phase === "train" || event.seconds >= 5
        ? `stage ${event.stage}: ${event.phase} took ${duration(event.seconds)}`
        : undefined;
    case "validation": {
      const base = state.validations.get(0)?.total.valid.rate;
      const change =
        event.checkpoint === 0 || base === undefined ? "" : `, ${points(event.total.valid.rate - base)} points against the base`;
      const name = event.checkpoint === 0 ? "base" : `stage ${event.checkpoint - 1}`;
      return `${name}: valid ${percent(event.total.valid.rate)}, optimal ${percent(event.total.optimal.rate)} on ${event.total.n} boards${change}`;
    }
    case "stage-reused":
      return `stage ${event.stage}: taken from ${event.from}, which had made the same one`;
    case "proposal":
      return `stage ${event.stage}: proposal of ${event.engineer} ${event.outcome}${event.reasons.length > 0 ? ` (${event.reasons.join("; ")})` : ""}`;
    case "serving":
      return event.state === "ready"
        ? `stage ${event.stage}: server of ${event.checkpoint === event.stage + 1 ? "its checkpoint" : "the base"} is ready after ${duration(event.seconds ?? 0)}`
        : undefined;
    case "human-waiting":
      return `stage ${event.stage}: ${waitingText(event.path, event.refusal)}`;
    case "human-answered":
      return `stage ${event.stage}: answered after ${duration(event.seconds)}`;
    case "warning":
      return `warning: ${event.message}`;
    case "run-finished":
      return `finished in ${duration(event.seconds)}`;
    default:
      return undefined;
  }
}

/** The line on the way: where training is. */
export function progressLine(state: RunState, now: number): string | undefined {
  if (state.phase !== "train" || state.step === undefined || state.progress === undefined) return undefined;
  const { reward, valid } = state.step.metrics;
  const left = secondsLeft(state, now);
  return [
    `stage ${state.stage}: step ${state.progress.done}/${state.progress.total}`,
    ...(reward === undefined ? [] : [`reward ${reward.toFixed(3)}`]),
    ...(valid === undefined ? [] : [`valid ${percent(valid)}`]),
    ...(left === undefined ? [] : [`about ${duration(left)} left`]),
  ].join(", ");
}
