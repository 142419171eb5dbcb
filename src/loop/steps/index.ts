/**
 * The steps of the closed loop, one file an arrow or a few. Each reads its record back when the run folder has it, and else does the work,
 * tells the event stream when it starts and ends, and writes the record last: a step that was killed is done again from its beginning.
 */
export * from "./config.js";
export * from "./evaluation.js";
export * from "./evaluation-sets.js";
export * from "./failures.js";
export * from "./instances.js";
export * from "./proposal.js";
export * from "./training.js";
