/**
 * Our client of Ray's job server against a real head node, which the test starts. Needs a Python with `ray[default]` (docs/scale-out.md); skipped
 * without one.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RayJobs, rayRunner } from "../src/trainers/index.js";
import { because, findPython } from "./pythons.js";
import { freePorts, type RayHead, startRayHead } from "./ray-head.js";

const found = findPython(["ray", "aiohttp_cors"]);
const { python } = found;

describe.skipIf(python === undefined)(`a Ray head node${because(found)}`, () => {
  const work = mkdtempSync(join(tmpdir(), "envwright-ray-"));
  let head: RayHead | undefined;
  let jobs: RayJobs;

  beforeAll(async () => {
    head = await startRayHead(python!);
    jobs = new RayJobs(head.address, { every: 300 });
  }, 900_000);
  afterAll(async () => {
    await head?.stop();
    rmSync(work, { recursive: true, force: true });
  }, 60_000);

  const command = (script: string) => ({ command: python!, args: ["-u", "-c", script], cwd: work, env: { ANSWER: "forty-two" } });

  test("a job is submitted and followed to its end, its log line by line, its environment ours", async () => {
    const lines: string[] = [];
    const run = rayRunner(jobs);
    const script = "import os, time\nfor i in range(3):\n  print('line', i, os.environ['ANSWER']); time.sleep(0.5)";
    const end = await run(command(script), { onLine: (line) => lines.push(line) });
    expect(end).toMatchObject({ ok: true, status: "SUCCEEDED" });
    expect(lines.filter((l) => l.startsWith("line"))).toEqual(["line 0 forty-two", "line 1 forty-two", "line 2 forty-two"]);
  });

  test("a submission that is sent again, since its answer was lost, is there once; an id that somebody else has taken is refused", async () => {
    const request = { entrypoint: "true", submission_id: `again-${process.pid}` };
    expect(await jobs.submit(request, true)).toBe(request.submission_id);
    expect(await jobs.submit(request, true)).toBe(request.submission_id);
    await expect(jobs.submit(request)).rejects.toThrow(/already exists/);
    expect(await jobs.follow(request.submission_id, { onLine: () => {} })).toMatchObject({ status: "SUCCEEDED" });
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
    let pid = 0;
    const end = await rayRunner(jobs)(command("import os, time\nprint('begun', os.getpid())\ntime.sleep(600)"), {
      signal: controller.signal,
      onLine: (line) => {
        id = /^Ray job (\S+)/.exec(line)?.[1] ?? id;
        pid = Number(/^begun (\d+)/.exec(line)?.[1] ?? pid);
        if (pid > 0) controller.abort();
      },
    });
    expect(end.status).toBe("STOPPED");
    expect((await jobs.job(id)).status).toBe("STOPPED");
    await expect.poll(() => runs(pid), { timeout: 20_000 }).toBe(false);
  });

  test("an unknown job and an address where nobody listens are failures of the outside", async () => {
    await expect(jobs.job("no-such-job")).rejects.toThrow(/404/);
    const [port] = await freePorts(1);
    const nobody = new RayJobs(`http://127.0.0.1:${port}`, { attempts: 2 });
    await expect(nobody.submit({ entrypoint: "true" })).rejects.toThrow(/ECONNREFUSED/);
  });
});

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
