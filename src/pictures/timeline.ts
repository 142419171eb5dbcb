/** When what is seen in an animation: the start stands a while, each step moves and rests, a step with a broken rule rests longer. */
import type { Replay } from "./replay.js";

/** Milliseconds, whole tens: the clock of a GIF counts hundredths of a second. */
export const START_HOLD = 800;
export const MOVE = 400;
export const REST = 160;
export const BROKEN_REST = 1800;
export const END_HOLD = 1600;

/** One step: agents move from `begin` to `moved` and stand until `end`; step 0 is the start and does not move. */
export interface Moment {
  readonly step: number;
  readonly begin: number;
  readonly moved: number;
  readonly end: number;
}

export interface Timeline {
  readonly moments: readonly Moment[];
  /** Of one round; then it begins again. */
  readonly duration: number;
}

/** The clock of one animation, or of several that are seen beside each other. */
export function timelineOf(...played: readonly Replay[]): Timeline {
  const steps = Math.max(...played.map(({ positions }) => positions.length - 1));
  const isBroken = new Set(played.flatMap(({ broken }) => broken.map(({ step }) => step)));
  const moments: Moment[] = [];
  let now = 0;
  for (let step = 0; step <= steps; step++) {
    const moved = now + (step === 0 ? 0 : MOVE);
    const rest = isBroken.has(step) ? BROKEN_REST : step === 0 ? START_HOLD : REST;
    const end = moved + rest + (step === steps ? END_HOLD : 0);
    moments.push({ step, begin: now, moved, end });
    now = end;
  }
  return { moments, duration: now };
}
