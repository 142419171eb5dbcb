export * from "./gguf-policy.js";
export * from "./node-llama-cpp.js";
