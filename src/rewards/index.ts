export * from "./advantage.js";
export * from "./reward.js";
export * from "./scorer.js";
