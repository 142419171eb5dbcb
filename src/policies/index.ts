export * from "./embedded.js";
export * from "./endpoint/index.js";
export * from "./gguf/index.js";
export * from "./policy-path.js";
export * from "./replay.js";
export * from "./scripted.js";
export * from "./serving/index.js";
