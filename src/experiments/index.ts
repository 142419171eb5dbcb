export * from "./arm-measures.js";
export * from "./branches.js";
export * from "./cell-key.js";
export * from "./engineer-measures.js";
export * from "./matrix.js";
export * from "./plot.js";
export * from "./run-matrix.js";
export * from "./summary.js";
