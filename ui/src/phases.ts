/** The steps of a stage, in order: the page's copy of the word list, so that it carries no schema library. Held equal by a type. */
import type { Phase, RunEvent } from "../../src/core/events.js";

export type { Phase, RunEvent };
export const PHASES = ["generate", "train", "evaluate", "diagnose", "propose"] as const satisfies readonly Phase[];
/** Fails to compile when a phase is missing above. */
export type EveryPhase = Exclude<Phase, (typeof PHASES)[number]> extends never ? true : never;
