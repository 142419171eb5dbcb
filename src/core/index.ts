export * from "./errors.js";
export * from "./random.js";
