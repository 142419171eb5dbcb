/**
 * How fast the solver certifies seeded, uniformly random boards (every hole pattern, start and goal equally likely; unreachable goals and
 * unsolvable boards are part of the sample and of the time).
 *
 *   npx tsx benchmarks/solver.ts [--quick] [--agents 2,3] [--sizes 3,4] [--holes 0.1,0.2] [--seconds S | --boards N] [--seed NAME]
 *
 * Per cell (agents, hole ratio, size), on one thread: `soc/s` certifies the sum of costs alone, `all/s` sum of costs, makespan and
 * wait-required; both count solved boards over the CPU time of everything, sampling included. The latencies are of `all`, per board, in
 * wall time; a board over a millisecond is measured again and the shorter time taken, since the machine may have been busy elsewhere.
 * Each cell runs for S seconds or until its boards are used up, after a warm-up; with --boards it takes exactly N, however long they take: with
 * five agents the mean is a few boards', and a cell that ends when one of them has used up its time gives that one more weight than it has.
 * The rows `mix` are over the sizes, each with equal weight.
 */
import { parseArgs } from "node:util";
import { type Random, Seed } from "../src/core/index.js";
import { Solver } from "../src/environments/mapf-frozenlake/solve/index.js";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    agents: { type: "string", default: "2,3,4,5" },
    sizes: { type: "string", default: "3,4,5,6,7,8,9,10" },
    holes: { type: "string", default: "0.1,0.2,0.3,0.4" },
    seconds: { type: "string" },
    boards: { type: "string" },
    seed: { type: "string", default: "bench-solver" },
  },
});
const numbers = (text: string) => text.split(",").map(Number);
const seconds = Number(values.seconds ?? (values.quick ? 0.25 : 2));
const BUDGET = 20_000_000;
const FIXED = values.boards === undefined ? undefined : Number(values.boards);
const MOST_BOARDS = FIXED ?? 400_000;
/** Cells in which almost nothing is solvable say nothing about speed. */
const isSensible = (size: number, agents: number, holes: number) => size * size - holes > agents + (size === 3 ? 1 : 0);

class Sampler {
  readonly holes = new Uint8Array(100);
  readonly starts = new Uint8Array(8);
  readonly goals = new Uint8Array(8);
  private readonly cells = new Uint8Array(100);

  draw(random: Random, size: number, holes: number, agents: number): void {
    const count = size * size;
    for (let cell = 0; cell < count; cell++) this.cells[cell] = cell;
    this.holes.fill(0, 0, count);
    this.choose(random, 0, holes, count);
    for (let i = 0; i < holes; i++) this.holes[this.cells[i]!] = 1;
    do {
      this.choose(random, holes, agents, count);
      for (let i = 0; i < agents; i++) this.starts[i] = this.cells[holes + i]!;
      this.choose(random, holes, agents, count);
      for (let i = 0; i < agents; i++) this.goals[i] = this.cells[holes + i]!;
    } while (this.somebodyIsThere(agents));
  }

  private somebodyIsThere(agents: number): boolean {
    for (let i = 0; i < agents; i++) if (this.starts[i] === this.goals[i]) return true;
    return false;
  }

  private choose(random: Random, from: number, wanted: number, count: number): void {
    for (let i = from; i < from + wanted; i++) {
      const j = i + random.below(count - i);
      const held = this.cells[i]!;
      this.cells[i] = this.cells[j]!;
      this.cells[j] = held;
    }
  }
}

interface Measurement {
  drawn: number;
  solved: number;
  unsolvable: number;
  exhausted: number;
  conflicts: number;
  waits: number;
  elapsed: number;
  latencies: Float64Array;
}

function measure(
  solver: Solver,
  sampler: Sampler,
  size: number,
  holes: number,
  agents: number,
  isAll: boolean,
  limit: number,
): Measurement {
  const random = Seed.root(values.seed).child(agents, holes, size).at(0);
  const result: Measurement = {
    drawn: 0,
    solved: 0,
    unsolvable: 0,
    exhausted: 0,
    conflicts: 0,
    waits: 0,
    elapsed: 0,
    latencies: new Float64Array(MOST_BOARDS),
  };
  const options = { budget: BUDGET, needMakespan: isAll, needWait: isAll };
  let ignored = 0;
  const begin = cpuTime();
  const goesOn = () => FIXED !== undefined || ((result.elapsed < limit || result.solved === 0) && result.elapsed < 10 * limit);
  while (result.drawn < MOST_BOARDS && goesOn()) {
    sampler.draw(random, size, holes, agents);
    const before = isAll ? performance.now() : 0;
    const { status, conflict, wait_required } = solver.certifyPacked(size, sampler.holes, sampler.starts, sampler.goals, agents, options);
    if (isAll) {
      let latency = performance.now() - before;
      if (latency > 1) {
        const again = cpuTime();
        const from = performance.now();
        solver.certifyPacked(size, sampler.holes, sampler.starts, sampler.goals, agents, options);
        latency = Math.min(latency, performance.now() - from);
        ignored += cpuTime() - again;
      }
      result.latencies[result.drawn] = latency;
    }
    result.drawn++;
    if (status === "solved") result.solved++;
    else if (status === "unsolvable") result.unsolvable++;
    else result.exhausted++;
    if (status === "solved" && conflict) result.conflicts++;
    if (status === "solved" && wait_required) result.waits++;
    if ((result.drawn & 15) === 0) result.elapsed = cpuTime() - begin - ignored;
  }
  result.elapsed = cpuTime() - begin - ignored;
  result.latencies = result.latencies.subarray(0, result.drawn).sort();
  return result;
}

/** Milliseconds of processor time of this process, compiler and garbage collector included. */
function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function row(cells: (string | number)[]): void {
  const widths = [2, 5, 4, 8, 8, 8, 9, 9, 9, 9, 9, 6, 6, 6];
  process.stdout.write(`${cells.map((cell, i) => String(cell).padStart(widths[i]!)).join(" ")}\n`);
}

const perSecond = (count: number, elapsed: number) => Math.round((count / elapsed) * 1000);
const micro = (milliseconds: number) => (milliseconds * 1000).toFixed(milliseconds < 0.1 ? 1 : 0);
const percent = (part: number, whole: number) => (whole === 0 ? "-" : ((100 * part) / whole).toFixed(0));

const solver = new Solver();
const sampler = new Sampler();
for (const agents of numbers(values.agents)) measure(solver, sampler, 5, 5, agents, true, 300);
row(["k", "holes", "n", "boards", "soc/s", "all/s", "mean µs", "p50", "p99", "p99.9", "max", "unsol%", "conf%", "wait%"]);
let exhausted = 0;
for (const agents of numbers(values.agents)) {
  for (const ratio of numbers(values.holes)) {
    let socTime = 0;
    let allTime = 0;
    let sizes = 0;
    const pooled: Measurement[] = [];
    for (const size of numbers(values.sizes)) {
      const holes = Math.round(ratio * size * size);
      if (!isSensible(size, agents, holes)) continue;
      const soc = measure(solver, sampler, size, holes, agents, false, seconds * 500);
      const all = measure(solver, sampler, size, holes, agents, true, seconds * 500);
      exhausted += all.exhausted;
      const at = (share: number) => micro(all.latencies[Math.min(all.drawn - 1, Math.floor(share * all.drawn))]!);
      const mean = all.latencies.reduce((sum, x) => sum + x, 0) / all.drawn;
      row([
        agents,
        ratio,
        size,
        all.drawn,
        perSecond(soc.solved, soc.elapsed),
        perSecond(all.solved, all.elapsed),
        micro(mean),
        at(0.5),
        at(0.99),
        at(0.999),
        micro(all.latencies[all.drawn - 1]!),
        percent(all.unsolvable, all.drawn),
        percent(all.conflicts, all.solved),
        percent(all.waits, all.solved),
      ]);
      if (soc.solved > 0 && all.solved > 0) {
        socTime += soc.elapsed / soc.solved;
        allTime += all.elapsed / all.solved;
        sizes++;
        pooled.push(all);
      }
    }
    if (sizes > 1)
      row([agents, ratio, "mix", pooled.reduce((sum, m) => sum + m.drawn, 0), perSecond(sizes, socTime), perSecond(sizes, allTime)]);
  }
}
if (exhausted > 0) process.stdout.write(`${exhausted} boards exhausted their budget of ${BUDGET} nodes\n`);
