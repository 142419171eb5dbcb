export * from "./comparison.js";
export { renderPng } from "./figure.js";
export * from "./history.js";
export * from "./plot.js";
export * from "./report.js";
export * from "./set-report.js";
export * from "./table.js";
export * from "./text-table.js";
