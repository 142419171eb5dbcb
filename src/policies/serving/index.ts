export * from "./free-port.js";
export * from "./model-server.js";
export * from "./served-model.js";
export * from "./server-command.js";
export * from "./serving-traps.js";
export * from "./weight-update.js";
