export * from "./process-group.js";
