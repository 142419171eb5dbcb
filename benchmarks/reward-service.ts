/**
 * Verdicts a second of the reward service over loopback, in batches of 256: 10×10 boards, 5 agents, chat answers.
 *
 *     npx tsx benchmarks/reward-service.ts [--seconds 5] [--threads 2] [--connections 8] [--fresh]
 *
 * `--fresh` gives every item a board that the service has not seen, which is dearer than the groups of eight of a trainer. The client
 * shares the two cores: its work counts.
 */
import { parseArgs } from "node:util";
import { Seed } from "../src/core/index.js";
import { mapfFrozenLake as family } from "../src/environments/mapf-frozenlake/index.js";
import { serveReward } from "../src/server/reward/index.js";

const BATCH = 256;
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    threads: { type: "string", default: "2" },
    connections: { type: "string", default: "8" },
    fresh: { type: "boolean", default: false },
  },
});

const config = family.configSchema.parse({
  agents: [5],
  objective: "makespan",
  sizes: { "10": { data_ratio: 1, hole_ratio: 0.2, wait_ratio: 0.3 } },
});
const groups = values.fresh ? 1 : 8;
const { instances } = await family.generate(config, { count: 512, seed: Seed.root("reward-benchmark") });
const bodies = Array.from({ length: 16 }, (_, b) => {
  const items = Array.from({ length: BATCH }, (_, i) => {
    const instance = instances[(Math.floor(i / groups) + b * (BATCH / groups)) % instances.length]!;
    return { id: i, instance: JSON.stringify(instance), completion: family.demonstrate(instance, "makespan", "chat"), tokens: 200 };
  });
  return JSON.stringify({ rendering: "chat", items });
});

const service = await serveReward({ family: family.name, rendering: "chat", threads: Number(values.threads) });
const until = performance.now() + 1000;
await load(until);
const seconds = Number(values.seconds);
const started = performance.now();
const before = process.cpuUsage();
const batches = await load(started + seconds * 1000);
const { user, system } = process.cpuUsage(before);
const elapsed = (performance.now() - started) / 1000;
await service.close();
console.log(
  `${Math.round((batches * BATCH) / elapsed).toLocaleString("en")} verdicts/s, ` +
    `${Math.round((batches * BATCH) / ((user + system) / 1e6)).toLocaleString("en")} per CPU-second of service and client together: ${batches} batches of ${BATCH} in ${elapsed.toFixed(1)} s, ` +
    `${values.threads} threads, ${values.connections} connections, ${Math.round(bodies[0]!.length / 1024)} KiB a batch` +
    `${values.fresh ? ", every board new" : ", eight answers a board"}`,
);

async function load(end: number): Promise<number> {
  let done = 0;
  let serial = 0;
  const one = async () => {
    while (performance.now() < end) {
      let body = bodies[done % bodies.length]!;
      if (values.fresh) body = body.replaceAll('\\"seed\\":\\"', `\\"seed\\":\\"${serial++}-`);
      const response = await fetch(`${service.url}/v1/score`, { method: "POST", body, headers: { "content-type": "application/json" } });
      const answer = new Uint8Array(await response.arrayBuffer());
      if (response.status !== 200 || answer.length < BATCH * 50) throw new Error(`status ${response.status}`);
      done++;
    }
  };
  await Promise.all(Array.from({ length: Number(values.connections) }, one));
  return done;
}
