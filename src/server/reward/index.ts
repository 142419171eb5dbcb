export * from "./judge.js";
export * from "./part.js";
export * from "./schema.js";
export * from "./serve-reward.js";
