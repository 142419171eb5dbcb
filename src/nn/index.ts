export * from "./adamw.js";
export * from "./engine.js";
export type { LossSpec, TrainingSequence } from "./micro-batch.js";
export * from "./muon.js";
export * from "./optimiser.js";
export * from "./qwen3-config.js";
