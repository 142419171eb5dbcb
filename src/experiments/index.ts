export * from "./matrix.js";
export * from "./run-matrix.js";
export * from "./summary.js";
