/**
 * The testbed's speed: our solver against its peers on the same boards, and what has no peer.
 *
 *   npm run bench:testbed -- --peer cbsh2=PATH --peer lmrp=PATH [--boards N] [--sizes 3,4] [--agents 2,3] [--holes 0.1] [--record]
 *   npm run bench:testbed -- --only solver|generator|verifier|comparison   [--million]
 *
 * PATH is a peer's driver (benchmarks/peers/README.md). Cells that are done are kept in --work and not measured again, so an interrupted
 * run goes on; another number of boards, seed, limit or set of peers begins anew. --record writes the parts that were run into
 * docs/results/testbed.md and .json and leaves the others as they are.
 * The whole run takes some 15 minutes with 200 boards a cell, nearly all of it the peers' waiting for their limit.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type GeneratorRun, generatorRun, solverRates, verdictsPerSecond } from "./testbed/absolute.js";
import { AGENTS, drawBoards, HOLE_RATIOS, SIZES } from "./testbed/boards.js";
import { type CellResult, compareCell, warmUp } from "./testbed/comparison.js";
import { peerOf } from "./testbed/peer.js";
import { type Comparison, type Measured, resultsPage, type TestbedResults } from "./testbed/report.js";

const { values } = parseArgs({
  options: {
    peer: { type: "string", multiple: true, default: [] },
    boards: { type: "string", default: "200" },
    sizes: { type: "string", default: SIZES.join() },
    agents: { type: "string", default: AGENTS.join() },
    holes: { type: "string", default: HOLE_RATIOS.join() },
    limit: { type: "string", default: "1" },
    seed: { type: "string", default: "bench-testbed" },
    only: { type: "string", multiple: true },
    seconds: { type: "string", default: "0.5" },
    million: { type: "boolean", default: false },
    work: { type: "string", default: join(tmpdir(), "bench-testbed") },
    record: { type: "boolean", default: false },
  },
});
const numbers = (text: string) => text.split(",").map(Number);
const wants = (part: string) => values.only === undefined || values.only.includes(part);
const say = (text: string) => process.stdout.write(`${text}\n`);
const ms = (value: number | null) => value?.toPrecision(3) ?? "—";

const count = Number(values.boards);
const peers = values.peer.map((text) => peerOf(text, Number(values.limit)));
const names = peers.map(({ name }) => name);
const measured = (options: string): Measured => ({
  machine: `${cpus()[0]?.model ?? "unknown CPU"}, Node ${process.versions.node}`,
  command: `npm run bench:testbed -- ${options}`,
});
const results: TestbedResults = {};

if (values.record && wants("comparison") && peers.length === 0) {
  throw new Error("a comparison is recorded with its peers: give --peer NAME=PATH, or --only solver, generator or verifier");
}
mkdirSync(values.work, { recursive: true });
if (wants("comparison")) {
  const own = measured(`${names.map((name) => `--peer ${name}=PATH `).join("")}--boards ${count}`);
  results.comparison = { ...own, seed: values.seed, boards: count, limit: Number(values.limit), peers: names, cells: [] };
  await compare(results.comparison);
}
if (wants("solver")) {
  const rates = solverRates(Number(values.seconds));
  results.solver = { ...measured(`--only solver --seconds ${values.seconds}`), rates };
  for (const r of rates) {
    say(
      `solver k ${r.agents} holes ${r.holeRatio}: ${r.perSecond}/s, whole certificate ${r.allPerSecond}/s, p99 ${ms(r.p99)} ms, p99.9 ${ms(r.p999)} ms`,
    );
  }
}
if (wants("generator")) {
  const runs: GeneratorRun[] = [];
  results.generator = { ...measured(`--only generator${values.million ? " --million" : ""}`), runs };
  for (const n of [1e3, 1e4, 1e5, ...(values.million ? [1e6] : [])]) {
    const run = generatorRun(n);
    runs.push(run);
    say(
      `generator ${n}: ${run.seconds.toFixed(1)} s, ${Math.round(n / run.seconds)}/s, ${Math.round(n / run.cpu)}/CPU-s, ${Math.round(run.rss / 1e6)} MB`,
    );
  }
}
if (wants("verifier")) {
  results.verifier = { ...measured("--only verifier"), chat: verdictsPerSecond("chat", 2), compact: verdictsPerSecond("compact", 2) };
  say(`verifier: chat ${Math.round(results.verifier.chat)}/s, compact ${Math.round(results.verifier.compact)}/s`);
}
for (const peer of peers) await peer.close();
if (values.record) {
  const folder = join(import.meta.dirname, "../docs/results");
  const data = join(folder, "testbed.json");
  const all: TestbedResults = { ...(existsSync(data) ? JSON.parse(readFileSync(data, "utf8")) : {}), ...results };
  writeFileSync(data, `${JSON.stringify(all, null, 1)}\n`);
  writeFileSync(join(folder, "testbed.md"), resultsPage(all));
  say(`${Object.keys(results).join(", ")} recorded in ${folder}`);
} else writeFileSync(join(values.work, "testbed.json"), JSON.stringify(results));

async function compare({ cells }: Comparison): Promise<void> {
  for (const size of numbers(values.sizes)) {
    for (const agents of numbers(values.agents)) {
      for (const holeRatio of numbers(values.holes)) {
        const boards = drawBoards({ size, agents, holeRatio }, count, values.seed);
        if (boards.length === 0) {
          say(`n ${size} k ${agents} holes ${holeRatio}: no room for the agents`);
          continue;
        }
        const key = [values.seed, count, values.limit, ...names, size, agents, holeRatio].join("-").replaceAll(/[^\w.-]/g, "_");
        const kept = join(values.work, `${key}.json`);
        const cell = { size, agents, holeRatio };
        if (!existsSync(kept)) warmUp(drawBoards(cell, 2000, `${values.seed}-warm-up`));
        const result: CellResult = existsSync(kept) ? JSON.parse(readFileSync(kept, "utf8")) : await compareCell(cell, boards, peers);
        writeFileSync(kept, JSON.stringify(result));
        cells.push(result);
        const against = names.map((name) => {
          const r = result.peers[name]!;
          return `${name} ${ms(r.mean)} (${ms(r.meanRatio)}×, p99 ${ms(r.p99Ratio)}×, unsolved ${ms(100 * r.unsolved)} %, differing ${r.differing})`;
        });
        say(
          `n ${size} k ${agents} holes ${holeRatio}: ${result.solvable}/${count} solvable, ours ${ms(result.ours.mean)} ms p99 ${ms(result.ours.p99)}; ${against.join("; ")}`,
        );
      }
    }
  }
}
