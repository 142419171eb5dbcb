/**
 * Draws the benchmark sets from their seeds and writes benchmark-data.ts. Run once, when a set is defined (`npx tsx`); a frozen set is
 * never drawn anew, or results stop being comparable. benchmark.slow.test.ts holds the file against a fresh draw.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { BENCHMARKS, drawBenchmark, writeLine } from "./benchmark.js";

async function freeze(): Promise<void> {
  const sets: string[] = [];
  const sums: string[] = [];
  for (const name of BENCHMARKS) {
    const { instances, manifest } = await drawBenchmark(name, { workers: 2 });
    const lines = instances.map(writeLine).join("\n");
    sets.push(`  "${name}": \`\n${lines}\n\`,`);
    sums.push(`  "${name}": "${createHash("sha256").update(lines).digest("hex")}",`);
    process.stderr.write(`${name}: ${instances.length} instances, ${JSON.stringify(manifest.sampling)}\n`);
  }
  const source = [
    "/** The frozen benchmark sets, written by freeze-benchmarks.ts; a line is read by benchmark.ts. Never edited. */",
    'import type { BenchmarkName } from "./benchmark.js";',
    "",
    "/** SHA-256 of each set's lines. */",
    "export const BENCHMARK_SHA256: Readonly<Record<BenchmarkName, string>> = {",
    ...sums,
    "};",
    "",
    "export const BENCHMARK_DATA: Readonly<Record<BenchmarkName, string>> = {",
    ...sets,
    "};",
    "",
  ].join("\n");
  writeFileSync(new URL("./benchmark-data.ts", import.meta.url), source);
}

await freeze();
