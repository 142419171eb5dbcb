export * from "./routes.js";
