export * from "./answer.js";
export * from "./budget.js";
export * from "./call-record.js";
export * from "./endpoint-policy.js";
export * from "./options.js";
export * from "./presets.js";
export * from "./retry.js";
export * from "./transport.js";
