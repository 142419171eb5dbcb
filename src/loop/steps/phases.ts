/** One phase of a stage between its two events, and how a run is interrupted. */
import type { Phase } from "../../core/index.js";
import type { Workbench } from "../workbench.js";

/** Runs one phase between its two events; progress is told at most ten times a second. */
export async function inPhase<T>(
  bench: Pick<Workbench, "events">,
  stage: number,
  phase: Phase,
  work: (progress: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  const started = performance.now();
  let told = 0;
  bench.events.emit({ type: "phase-started", stage, phase });
  const result = await work((done, total) => {
    const now = performance.now();
    if (now - told < 100 && done < total) return;
    told = now;
    bench.events.emit({ type: "progress", stage, phase, done, total });
  });
  bench.events.emit({ type: "phase-finished", stage, phase, seconds: (performance.now() - started) / 1000 });
  return result;
}

export function signalOf(bench: Pick<Workbench, "signal">): { signal?: AbortSignal } {
  return bench.signal === undefined ? {} : { signal: bench.signal };
}
