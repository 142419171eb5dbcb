export * from "./failures.js";
export * from "./training.js";
export * from "./validation.js";
