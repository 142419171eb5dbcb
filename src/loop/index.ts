export * from "./closed-loop.js";
export * from "./engineering.js";
export * from "./evaluate.js";
export * from "./evaluation-sets.js";
export * from "./pretrain.js";
export * from "./run.js";
export * from "./workbench.js";
export * from "./workers.js";
