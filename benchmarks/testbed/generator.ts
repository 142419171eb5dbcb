/**
 * One process's generator run, so that its memory is its own: `tsx benchmarks/testbed/generator.ts COUNT` prints {count, seconds, cpu, rss}.
 * The config is the paper's scale: two agents, sizes 3 to 10 in equal parts, a wait in half of the boards (hole ratio 0.2, as in the
 * recipes). Small sizes have fewer boards than a large set asks for, so repeats are allowed, as in training. One worker.
 */
import { tmpdir } from "node:os";
import { Seed } from "../../src/core/index.js";
import { configSchema, streamTraining } from "../../src/environments/mapf-frozenlake/index.js";
import { ScratchFile } from "../../src/store/scratch-file.js";

const count = Number(process.argv[2]);
const sizes = Object.fromEntries([3, 4, 5, 6, 7, 8, 9, 10].map((n) => [n, { data_ratio: 0.125, hole_ratio: 0.2, wait_ratio: 0.5 }]));
const config = configSchema.parse({ agents: [2], objective: "makespan", sizes });

// The compiler has seen everything once before the clock starts.
for (const _ of (await streamTraining(config, { count: 400, seed: Seed.root("warm-up"), repeats: "allow" })).batches());

const begin = performance.now();
const before = process.cpuUsage();
let made = 0;
for (const batch of (
  await streamTraining(config, { count, seed: Seed.root("bench-testbed"), repeats: "allow", scratch: new ScratchFile(tmpdir()) })
).batches())
  made += batch.length;
const { user, system } = process.cpuUsage(before);
const rss = process.resourceUsage().maxRSS * 1024;
process.stdout.write(JSON.stringify({ count: made, seconds: (performance.now() - begin) / 1000, cpu: (user + system) / 1e6, rss }));
