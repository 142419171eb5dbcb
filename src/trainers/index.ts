export * from "./embedded/grpo.js";
export * from "./embedded/sft.js";
export * from "./embedded/trainer-state.js";
export * from "./trainer.js";
