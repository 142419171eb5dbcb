export { DEFAULT_CONFIG } from "./boards.js";
export { LakeEnvironment } from "./environment.js";
export * from "./part.js";
export { DEFAULT_LIMITS, type SessionLimits } from "./sessions.js";
