export { type BruteForceResult, bruteForce } from "./brute-force.js";
export { type CertifyResult, certify, type SolveOptions, type SolveResult, solve } from "./solve.js";
export { type Certificate, DEFAULT_BUDGET, type PackedOptions, Solver, type SolveStatus } from "./solver.js";
