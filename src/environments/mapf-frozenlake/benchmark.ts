/**
 * The benchmark sets bench-3, bench-4 and bench-5: what is reported, never trained or validated on. Published are 3, 4 and 5 agents on
 * sizes 3–10, 4–10 and 5–10 with several wait ratios; this project's sets have 150 instances a size, in equal parts over WAIT_RATIOS ×
 * HOLE_RATIOS. They are frozen by content (benchmark-data.ts, generated) and can be drawn again from their seeds.
 */
import { ConfigError, type GenerateOptions, nearest, Seed } from "../../core/index.js";
import { BENCHMARK_DATA } from "./benchmark-data.js";
import { decodeBoard, encodeBoard } from "./board-code.js";
import { holeCount } from "./config.js";
import { refusal } from "./feasibility-probe.js";
import { fillSlots } from "./fill-slots.js";
import { fillOptions } from "./generate.js";
import { type GeneratedSet, StreamedSet } from "./generated-set.js";
import { hashBoard } from "./hash.js";
import type { Instance } from "./instance.js";
import { type Slot, waitQuota } from "./quota.js";

export const BENCHMARKS = ["bench-3", "bench-4", "bench-5"] as const;
export type BenchmarkName = (typeof BENCHMARKS)[number];

/** Shares of boards with a necessary wait; each is had by an equal part of every size. */
export const WAIT_RATIOS = [0, 0.3, 0.6] as const;
export const HOLE_RATIOS = [0.1, 0.2, 0.3, 0.4, 0.5] as const;
export const INSTANCES_PER_SIZE = 150;

/** Nodes a candidate may cost the solver: so many that none is dropped, and what is drawn does not depend on how the solver counts them. */
const BUDGET = 20_000_000;

/**
 * Hashes of the candidates that were dropped for their cost when the set was frozen, although today's solver certifies them: crowded boards
 * of 5 agents that took more than 100,000 nodes at the time. That set leans, very slightly, away from boards that are hard to certify.
 */
const DROPPED: Record<BenchmarkName, readonly string[]> = {
  "bench-3": [],
  "bench-4": [],
  "bench-5": [
    "5034959800103020a030d0d001012",
    "8003922b6bc00c0040e26152b2835342d3c13",
    "80041203e0d14414b00340c2f190a29053810",
    "a08900463a09361271001045d2000004b09513002462d6014",
  ],
};

const SHAPE: Record<BenchmarkName, { agents: number; smallest: number }> = {
  "bench-3": { agents: 3, smallest: 3 },
  "bench-4": { agents: 4, smallest: 4 },
  "bench-5": { agents: 5, smallest: 5 },
};
const LARGEST = 10;

/** The sets that have been drawn and stay as they are. */
export const FROZEN = BENCHMARKS.filter((name) => BENCHMARK_DATA[name] !== "");

export function isBenchmark(name: string): name is BenchmarkName {
  return (BENCHMARKS as readonly string[]).includes(name);
}

/** The instances of a benchmark set, always the same, in their order. @throws {ConfigError} for an unknown name */
export function loadBenchmark(name: string): Instance[] {
  if (!isBenchmark(name)) {
    const close = nearest(name, BENCHMARKS);
    throw new ConfigError({
      message: `unknown benchmark set "${name}"${close === undefined ? "" : `, did you mean "${close}"?`}`,
      value: name,
      expected: `one of ${BENCHMARKS.join(", ")}`,
      remedy: "name a set that is shipped, or give a file",
    });
  }
  if (!FROZEN.includes(name)) {
    throw new ConfigError({
      message: `the benchmark set "${name}" is not frozen yet`,
      value: name,
      expected: FROZEN.join(", "),
      remedy: "name a set that is shipped, or give a file",
    });
  }
  return BENCHMARK_DATA[name]
    .trim()
    .split("\n")
    .map((line, index) => readLine(name, line, index));
}

/** Canonical hashes of all benchmark instances. */
export function reservedHashes(): ReadonlySet<string> {
  reserved ??= new Set(FROZEN.flatMap((name) => loadBenchmark(name).map(({ hash }) => hash)));
  return reserved;
}
let reserved: ReadonlySet<string> | undefined;

/** One line of benchmark-data.ts: board code, sum of costs, makespan, sum of shortest distances, 1 for a necessary wait, stream. */
export function writeLine({ optimum, wait_required, seed, ...board }: Instance): string {
  const { sum_of_costs, makespan, sum_of_shortest } = optimum;
  return [encodeBoard(board), sum_of_costs, makespan, sum_of_shortest, Number(wait_required), seed].join(" ");
}

function readLine(name: BenchmarkName, line: string, index: number): Instance {
  const [code, sum, longest, shortest, wait, seed] = line.split(" ") as [string, string, string, string, string, string];
  const board = decodeBoard(code);
  const optimum = { sum_of_costs: Number(sum), makespan: Number(longest), sum_of_shortest: Number(shortest) };
  const conflict = optimum.sum_of_costs > optimum.sum_of_shortest;
  return { id: `${name}:${index}`, ...board, optimum, conflict, wait_required: wait === "1", seed, hash: hashBoard(board) };
}

/**
 * Draws a benchmark set from its seed. A cell that has no (more) boards, as on crowded small maps, takes one hole less, again and again
 * if it must; the manifest counts these steps as `benchmark_fewer_holes`.
 */
export async function drawBenchmark(
  name: BenchmarkName,
  options: Pick<GenerateOptions, "workers" | "signal" | "onProgress"> = {},
): Promise<GeneratedSet> {
  const slots = benchmarkSlots(name);
  const generation = { ...options, count: slots.length, seed: Seed.root(name) };
  let fewer = 0;
  const fallback = (slot: Slot): Slot | undefined => {
    if (slot.holes[0] === 0) return undefined;
    fewer++;
    return { ...slot, holes: [slot.holes[0] - 1, slot.holes[0] - 1] };
  };
  const { filled, tally } = await fillSlots(slots, { ...fillOptions(generation), fallback, refuse: refusal });
  const sizes = [...new Set(slots.map(({ size }) => String(size)))];
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  const requested = () => ({ data_ratio: 1 / sizes.length, hole_ratio: mean(HOLE_RATIOS), wait_ratio: mean(WAIT_RATIOS) });
  return (await StreamedSet.of(filled, { ...tally, benchmark_fewer_holes: fewer }, generation, sizes, requested)).whole();
}

function benchmarkSlots(name: BenchmarkName): Slot[] {
  const { agents, smallest } = SHAPE[name];
  const slots: Slot[] = [];
  const each = INSTANCES_PER_SIZE / (WAIT_RATIOS.length * HOLE_RATIOS.length);
  for (let size = smallest; size <= LARGEST; size++) {
    for (const holeRatio of HOLE_RATIOS) {
      for (const waitRatio of WAIT_RATIOS) {
        const holes = holeCount(size, holeRatio);
        const waits = waitQuota(each, waitRatio);
        for (let i = 0; i < each; i++)
          slots.push({
            index: slots.length,
            size,
            agents,
            holes: [holes, holes],
            want: i < waits ? "wait" : "no-wait",
            budget: BUDGET,
            dropped: DROPPED[name],
          });
      }
    }
  }
  return slots;
}
