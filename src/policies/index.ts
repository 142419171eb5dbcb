export * from "./embedded.js";
export * from "./scripted.js";
