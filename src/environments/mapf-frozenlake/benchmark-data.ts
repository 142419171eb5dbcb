export const BENCHMARK_DATA: Record<"bench-3" | "bench-4" | "bench-5", string> = { "bench-3": "", "bench-4": "", "bench-5": "" };
