/**
 * Draws benchmark sets from their seeds and writes benchmark-data.ts: `npx tsx src/environments/mapf-frozenlake/freeze-benchmarks.ts bench-5`.
 * Only sets that are named and not frozen yet are drawn; the others are written back as they stand. A frozen set is never drawn anew, or
 * results stop being comparable. benchmark.slow.test.ts holds the file against a fresh draw.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { ConfigError } from "../../core/index.js";
import { BENCHMARKS, drawBenchmark, FROZEN, isBenchmark, writeLine } from "./benchmark.js";
import { BENCHMARK_DATA } from "./benchmark-data.js";

async function freeze(wanted: readonly string[]): Promise<void> {
  const wrong = wanted.find((name) => !isBenchmark(name) || FROZEN.includes(name));
  if (wrong !== undefined || wanted.length === 0) {
    throw new ConfigError({
      message: wrong === undefined ? "no set was named" : `the set "${wrong}" does not exist or is frozen already`,
      value: wrong,
      expected: `one of ${BENCHMARKS.filter((name) => !FROZEN.includes(name)).join(", ")}`,
      remedy: "name a set that is not frozen yet",
    });
  }
  const sets: string[] = [];
  const sums: string[] = [];
  for (const name of BENCHMARKS) {
    let lines = BENCHMARK_DATA[name].trim();
    if (wanted.includes(name)) {
      const onProgress = (done: number, total: number) => process.stderr.write(`\r${name}: ${done} of ${total}`);
      const { instances, manifest } = await drawBenchmark(name, { workers: 2, onProgress });
      lines = instances.map(writeLine).join("\n");
      process.stderr.write(`\r${name}: ${instances.length} instances, ${JSON.stringify(manifest.sampling)}\n`);
    }
    sets.push(lines === "" ? `  "${name}": "",` : `  "${name}": \`\n${lines}\n\`,`);
    sums.push(`  "${name}": "${lines === "" ? "" : createHash("sha256").update(lines).digest("hex")}",`);
  }
  const source = [
    "/** The frozen benchmark sets, written by freeze-benchmarks.ts; a line is read by benchmark.ts. Never edited. */",
    'import type { BenchmarkName } from "./benchmark.js";',
    "",
    "/** SHA-256 of each set's lines; empty for a set that is not frozen yet. */",
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

await freeze(process.argv.slice(2));
