/**
 * Our verl stage held against verl 0.9.1 itself and a real Ray head node. They need Pythons of their own, named by ENVWRIGHT_VERL_PYTHON and
 * ENVWRIGHT_RAY_PYTHON (docs/scale-out.md tells how they are made); without them the tests are skipped and say so.
 */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rewardOptionsSchema, Seed, verlTrainerSchema } from "../src/core/index.js";
import { mapfFrozenLake as family, type Instance } from "../src/environments/mapf-frozenlake/index.js";
import { rewardOpener } from "../src/loop/open-trainer.js";
import { FamilyScorer } from "../src/rewards/index.js";
import { RayJobs, rayRunner, VerlAdapter } from "../src/trainers/index.js";

const BASE = join(import.meta.dirname, "../assets/base-tiny");
const { ENVWRIGHT_VERL_PYTHON: verlPython, ENVWRIGHT_RAY_PYTHON: rayPython } = process.env;
const work = mkdtempSync(join(tmpdir(), "envwright-verl-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe.skipIf(verlPython === undefined)("verl 0.9.1 (skipped unless ENVWRIGHT_VERL_PYTHON names a Python that has it)", () => {
  test("its Hydra config takes our command, its data set class reads our rows, its reward loader calls our service", async () => {
    const config = family.configSchema.parse({
      agents: [2],
      objective: "makespan",
      sizes: { "4": { data_ratio: 1, hole_ratio: 0.2, wait_ratio: 0.3 } },
    });
    const { instances } = await family.generate(config, { count: 16, seed: Seed.root("verl") });
    const reward = rewardOptionsSchema.parse({});
    const open = rewardOpener({ family: family.name, rendering: "compact", reward }, "makespan");
    const judged: string[] = [];
    const service = await open({
      host: "127.0.0.1",
      emaValid: 0.5,
      stepSize: 64,
      onJudged: (items) => judged.push(...items.map((i) => i.instance)),
    });
    try {
      const options = verlTrainerSchema.parse({
        kind: "verl",
        grpo: { steps: 3, prompts: 8, group: 8, kl: 0.01, max_tokens: 32 },
        micro_batch: 2,
        max_prompt_tokens: 256,
      });
      const adapter = new VerlAdapter<Instance>(options, family.name);
      const job = await adapter.prepare(
        {
          stage: 0,
          seed: Seed.root("stage"),
          instances,
          prompt: (instance) => family.prompt(instance, "compact"),
          stratum: (instance) => family.stratum(instance),
          scorer: new FamilyScorer(family, { objective: "makespan", rendering: "compact", reward, scale: "group" }),
          from: BASE,
          to: join(work, "checkpoint"),
        },
        work,
        service,
      );
      const gold = family.demonstrate(instances[0]!, "makespan", "compact");
      const check = join(work, "check.json");
      writeFileSync(check, JSON.stringify({ overrides: job.command.args.slice(2), tokenizer: BASE, completions: [gold, "nothing"] }));
      const { stdout } = await promisify(execFile)(verlPython!, [join(import.meta.dirname, "../python/check_verl.py"), check], {
        env: { ...process.env, ENVWRIGHT_REWARD_TOKEN: service.token },
        maxBuffer: 1e8,
      });
      const seen = JSON.parse(stdout.trim().split("\n").at(-1)!);
      expect(seen).toMatchObject({
        verl: "0.9.1",
        rows: 16,
        data_source: "envwright/mapf-frozenlake",
        prompt: [{ role: "user", content: family.prompt(instances[0]!, "compact") }],
        total_training_steps: 3,
        adv_estimator: "grpo",
        url: service.url,
        model: BASE,
        logger: ["console", "file"],
      });
      expect(seen.scores[0]).toMatchObject({ valid: 1, optimal: 1 });
      expect(seen.scores[0].score).toBeGreaterThan(0.9);
      expect(seen.scores[1]).toMatchObject({ valid: 0, score: 0 });
      expect(Object.keys(seen.scores[0])).toEqual(Object.keys(seen.scores[1]));
      expect(judged).toEqual([instances[0]!.id, instances[0]!.id]);
    } finally {
      await service.close();
    }
  });
});

describe.skipIf(rayPython === undefined)(
  "a Ray head node (skipped unless ENVWRIGHT_RAY_PYTHON names a Python that has ray[default])",
  () => {
    let jobs: RayJobs;
    let head = "the head node did not come up";
    let stopping = false;
    let stop = async (): Promise<void> => {};

    beforeAll(async () => {
      const [port, dashboard] = [await freePort(), await freePort()];
      const ray = join(dirname(rayPython!), "ray");
      const temp = mkdtempSync("/tmp/ray-");
      const args = [
        "start",
        "--head",
        "--block",
        `--port=${port}`,
        "--node-ip-address=127.0.0.1",
        "--dashboard-host=127.0.0.1",
        `--dashboard-port=${dashboard}`,
      ];
      const node = spawn(ray, [...args, "--num-cpus=2", "--disable-usage-stats", `--temp-dir=${temp}`], {
        detached: true,
        stdio: ["ignore", openSync(join(work, "head.log"), "w"), openSync(join(work, "head.err"), "w")],
        // A busy machine starts the agent late, and a head node without it gives up.
        env: { ...process.env, RAY_agent_register_timeout_ms: "300000" },
      });
      const ended = new Promise<void>((resolve) =>
        node.once("exit", (code, signal) => {
          head = `the head node ended with ${code ?? signal}: ${readFileSync(join(work, "head.err"), "utf8").slice(-3000)}`;
          if (!stopping) console.error(head);
          resolve();
        }),
      );
      stop = async () => {
        stopping = true;
        process.kill(-node.pid!, "SIGTERM");
        await Promise.race([ended, sleep(20_000)]);
        try {
          process.kill(-node.pid!, "SIGKILL");
        } catch {}
        rmSync(temp, { recursive: true, force: true });
      };
      const address = `http://127.0.0.1:${dashboard}`;
      for (let tries = 0; ; tries++) {
        const up = await fetch(`${address}/api/jobs/`)
          .then((r) => r.ok)
          .catch(() => false);
        if (up) break;
        if (tries > 300) throw new Error(head);
        await sleep(500);
      }
      jobs = new RayJobs(address, { every: 300 });
    }, 240_000);
    afterAll(() => stop(), 60_000);

    const command = (script: string) => ({ command: rayPython!, args: ["-u", "-c", script], cwd: work, env: { ANSWER: "forty-two" } });

    test("a job is submitted and followed to its end, its log line by line, its environment ours", async () => {
      const lines: string[] = [];
      const run = rayRunner(jobs);
      const script = "import os, time\nfor i in range(3):\n  print('line', i, os.environ['ANSWER']); time.sleep(0.5)";
      const end = await run(command(script), { onLine: (line) => lines.push(line) });
      expect(end).toMatchObject({ ok: true, status: "SUCCEEDED" });
      expect(lines.filter((l) => l.startsWith("line"))).toEqual(["line 0 forty-two", "line 1 forty-two", "line 2 forty-two"]);
    });

    test("a job that fails says so with its log, and goes through when it is submitted again", async () => {
      const flag = join(work, "second-time");
      const script = `import os, sys\nif not os.path.exists('${flag}'):\n  open('${flag}', 'w').close(); sys.exit('CUDA out of memory')\nprint('done')`;
      const run = rayRunner(jobs);
      const first = await run(command(script), { onLine: () => {} });
      expect(first).toMatchObject({ ok: false, status: "FAILED" });
      expect(first.tail.join("\n")).toContain("CUDA out of memory");
      expect(await run(command(script), { onLine: () => {} })).toMatchObject({ ok: true, status: "SUCCEEDED" });
    });

    test("an abort stops the job on the cluster", async () => {
      const controller = new AbortController();
      let id = "";
      const end = await rayRunner(jobs)(command("import time\nprint('begun')\ntime.sleep(600)"), {
        signal: controller.signal,
        onLine: (line) => {
          id = /^Ray job (\S+)/.exec(line)?.[1] ?? id;
          if (line === "begun") controller.abort();
        },
      });
      expect(end.status).toBe("STOPPED");
      expect((await jobs.job(id)).status).toBe("STOPPED");
    });

    test("an unknown job and an address where nobody listens are failures of the outside", async () => {
      await expect(jobs.job("no-such-job")).rejects.toThrow(/404/);
      const nobody = new RayJobs(`http://127.0.0.1:${await freePort()}`, { attempts: 2 });
      await expect(nobody.submit({ entrypoint: "true" })).rejects.toThrow(/ECONNREFUSED/);
    });
  },
);

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
