import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { TSX } from "../../test/run-cli.js";
import { groupRunner, openGuard } from "./process-group.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-group-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const run = groupRunner({ boundary: "test", remedy: "none", grace: 300 });
const command = (script: string) => ({ command: "/bin/sh", args: ["-c", script], cwd: dir, env: {} });
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A child that nobody has waited for yet is dead all the same.
  return !/^State:\s+Z/m.test(existsSync(`/proc/${pid}/status`) ? readFileSync(`/proc/${pid}/status`, "utf8") : "");
};
async function until(condition: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`never came: ${what}`);
    await sleep(20);
  }
}

test("on abort the whole group ends, also the worker that ignores the request", async () => {
  const stop = new AbortController();
  let worker = 0;
  const end = run(command("(trap '' TERM; while :; do sleep 0.1; done) & echo $!; wait"), {
    signal: stop.signal,
    onLine: (line) => {
      worker = Number(line);
      stop.abort();
    },
  });
  expect(await end).toMatchObject({ ok: false, status: "SIGTERM" });
  await until(() => !isAlive(worker), "the end of the worker");
});

test("a worker has the grace to tidy up in, also when the launcher has ended at once, and no more time is taken than it needs", async () => {
  const stop = new AbortController();
  const tidied = join(dir, "tidied");
  const patient = groupRunner({ boundary: "test", remedy: "none", grace: 20_000 });
  const begun = Date.now();
  const end = await patient(command(`(trap 'sleep 0.5; echo x > ${tidied}; exit' TERM; echo up; while :; do sleep 0.1; done) & wait`), {
    signal: stop.signal,
    onLine: () => stop.abort(),
  });
  expect(end).toMatchObject({ ok: false, status: "SIGTERM" });
  expect(existsSync(tidied)).toBe(true);
  expect(Date.now() - begun).toBeLessThan(10_000);
});

test("what the listener throws ends the group and is the run's failure", async () => {
  let pid = 0;
  const ran = run(command("echo $$; while :; do sleep 0.1; done"), {
    onLine: (line) => {
      pid = Number(line);
      throw new Error("ENOSPC: no space left on device");
    },
  });
  await expect(ran).rejects.toThrow("ENOSPC");
  expect(isAlive(pid)).toBe(false);
});

test("a last line without an end is heard, and of one too long its beginning", async () => {
  const lines: string[] = [];
  await run(command("head -c 1000000 /dev/zero | tr '\\0' x; echo; printf end"), { onLine: (line) => lines.push(line) });
  expect(lines).toEqual(["x".repeat(4000), "end"]);
});

test("the guard leaves when the group has, long before the grace is over: its number may be another's then", async () => {
  const group = spawn("/bin/sleep", ["60"], { detached: true, stdio: "ignore" });
  const ended = new Promise((resolve) => group.once("exit", (_, signal) => resolve(signal)));
  const guard = openGuard(60_000);
  guard.follow(group.pid);
  guard.abandon();
  expect(await ended).toBe("SIGTERM");
  expect(await guard.ended).toBe(0);
}, 15_000);

test("a process that leaves the group and holds the pipes does not hold us", async () => {
  const begun = Date.now();
  let away = 0;
  const end = await run(command("setsid sh -c 'echo $$; sleep 30' & sleep 0.3; exit 3"), {
    onLine: (line) => {
      away = Number(line);
    },
  });
  process.kill(away);
  expect(end).toMatchObject({ ok: false, status: 3 });
  expect(Date.now() - begun).toBeLessThan(10_000);
});

test("when this program is killed outright, what it had started ends all the same", async () => {
  const pidFile = join(dir, "pid");
  // The guard hears of the child a moment after it was started.
  const script = `import { groupRunner } from ${JSON.stringify(join(import.meta.dirname, "process-group.ts"))};
    const args = ["-c", 'sleep 0.5; echo $$ > ${pidFile}; while :; do sleep 0.1; done'];
    await groupRunner({ boundary: "t", remedy: "t", grace: 300 })({ command: "/bin/sh", args, cwd: "/", env: {} }, { onLine() {} });`;
  const parent = spawn(process.execPath, ["--import", TSX, "--input-type=module", "-e", script], { stdio: "inherit" });
  await until(() => existsSync(pidFile) && readFileSync(pidFile, "utf8").endsWith("\n"), "the child");
  const pid = Number(readFileSync(pidFile, "utf8"));
  expect(isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await until(() => !isAlive(pid), "the end of the child");
}, 130_000);
