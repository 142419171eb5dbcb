/**
 * What our side of an endpoint costs: evaluations of N boards against a server in a process of its own that answers at once (prompt, request,
 * record, verdict), beside the same requests made with bare fetch; and the memory of whole evaluations, as `envwright eval --out` makes
 * them: what is in use during the last tenth, after garbage collections, and the most that was resident at any time.
 *
 *   node --expose-gc --import tsx benchmarks/endpoint.ts [--count 1000] [--concurrency 8] [--rounds 3] [--memory 1000,10000,100000]
 */
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CallFolder } from "../src/cli/call-records.js";
import { createEvaluation, type EvaluationRequest, runEvaluation } from "../src/cli/evaluation-run.js";
import { SCHEMA_VERSION, Seed, setHash } from "../src/core/index.js";
import { familyByName } from "../src/environments/index.js";
import { mapfFrozenLake } from "../src/environments/mapf-frozenlake/index.js";
import { evaluatePolicy } from "../src/loop/evaluate.js";
import { EndpointPolicy } from "../src/policies/endpoint/endpoint-policy.js";
import { endpointOptions } from "../src/policies/endpoint/options.js";

const ANSWER = JSON.stringify({
  id: "x",
  model: "instant",
  choices: [{ index: 0, message: { role: "assistant", content: "<answer>\nAgent 0: UP\nAgent 1: UP\n</answer>" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 300, completion_tokens: 20 },
});

if (process.send !== undefined) serve();
else await measure();

function serve(): void {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(ANSWER));
  });
  server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
  process.on("disconnect", () => process.exit());
}

async function measure(): Promise<void> {
  const { values } = parseArgs({
    options: {
      count: { type: "string", default: "1000" },
      concurrency: { type: "string", default: "8" },
      rounds: { type: "string", default: "3" },
      memory: { type: "string", default: "1000,10000" },
    },
  });
  const [count, concurrency, rounds] = [Number(values.count), Number(values.concurrency), Number(values.rounds)];
  const child = fork(process.argv[1]!, { execArgv: process.execArgv });
  const port = await new Promise<number>((resolve) => child.once("message", (message) => resolve(Number(message))));
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const sizes = { "4": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.5 }, "6": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.5 } };
  const { instances } = await mapfFrozenLake.generate({ agents: [2], objective: "makespan", sizes }, { count, seed: Seed.root("bench") });
  const dir = mkdtempSync(join(tmpdir(), "envwright-bench-"));
  try {
    const options = endpointOptions({ endpoint: "vllm", model: "m", base_url: baseUrl, concurrency }, "benchmark");
    const calls = await CallFolder.open(dir, "bench", "chat");
    const policy = new EndpointPolicy(options, { key: undefined, random: Seed.root("bench").at(0), recorder: calls });
    const ours = async (boards: typeof instances) => {
      const items = await evaluatePolicy({
        policy,
        family: mapfFrozenLake,
        instances: boards,
        seed: Seed.root("b"),
        temperature: 0,
        maxTokens: 99,
      });
      if (items.some(({ verdict }) => verdict === undefined)) throw new Error("a request failed");
    };
    const bare = async () => {
      let next = 0;
      const lane = async () => {
        while (next++ < count) {
          const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: mapfFrozenLake.prompt(instances[0]!, "chat") }] });
          await (await fetch(`${baseUrl}/chat/completions`, { method: "POST", body })).json();
        }
      };
      await Promise.all(Array.from({ length: concurrency }, lane));
    };
    await ours(instances.slice(0, 200));
    await bare();
    const perSample = async (work: () => Promise<void>) => {
      const [begin, cpu] = [performance.now(), process.cpuUsage()];
      await work();
      const { user, system } = process.cpuUsage(cpu);
      return { wall: (performance.now() - begin) / count, cpu: (user + system) / 1000 / count };
    };
    for (let round = 0; round < rounds; round++) {
      const [fetched, whole] = [await perSample(bare), await perSample(() => ours(instances))];
      console.log(
        `round ${round}: bare fetch ${shown(fetched)}; evaluation ${shown(whole)}; overhead ${(whole.wall - fetched.wall).toFixed(2)} ms wall, ${(whole.cpu - fetched.cpu).toFixed(2)} ms CPU a sample`,
      );
    }
    calls.close();
    for (const samples of values.memory.split(",").map(Number)) console.log(await memoryOf(samples, join(dir, String(samples)), baseUrl));
  } finally {
    child.disconnect();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** A whole evaluation of 1,000 boards, one request a sample, everything kept in a folder. */
async function memoryOf(count: number, out: string, baseUrl: string): Promise<string> {
  const { loadBenchmark } = await import("../src/environments/mapf-frozenlake/benchmark.js");
  const instances = loadBenchmark("bench-3").slice(0, Math.min(count, 1000));
  const samples = Math.ceil(count / instances.length);
  const family = familyByName("mapf-frozenlake");
  const request: EvaluationRequest = {
    ...{ schema_version: SCHEMA_VERSION, policy: "vllm:m", set: "bench-3", set_sha256: setHash(instances), family: family.name },
    ...{ objective: "makespan", samples, temperature: 1, max_tokens: 99, seed: 1, rendering: "chat" },
  };
  await createEvaluation(out, request);
  const options = endpointOptions({ endpoint: "vllm", model: "m", base_url: baseUrl, omit: ["n"] }, "benchmark");
  const calls = await CallFolder.open(join(out, "calls"), "bench", "chat");
  const policy = new EndpointPolicy(options, { key: undefined, random: Seed.root("bench").at(0), recorder: calls });
  const heaps: number[] = [];
  let resident = 0;
  const timer = setInterval(() => {
    resident = Math.max(resident, process.memoryUsage().rss);
  }, 100);
  const onProgress = (done: number, total: number): void => {
    if (done * 10 < total * (heaps.length + 1)) return;
    global.gc?.();
    heaps.push(process.memoryUsage().heapUsed);
  };
  const begin = performance.now();
  await runEvaluation({ request, family, instances, policy, out, signal: new AbortController().signal, onProgress });
  clearInterval(timer);
  calls.close();
  const mega = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`;
  return `${count} samples: heap ${mega(heaps[0]!)} after a tenth, ${mega(heaps.at(-1)!)} after the last; at most ${mega(resident)} resident; ${((performance.now() - begin) / count).toFixed(2)} ms a sample`;
}

function shown({ wall, cpu }: { wall: number; cpu: number }): string {
  return `${wall.toFixed(2)} ms wall (${cpu.toFixed(2)} ms CPU)`;
}
