import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { runCli } from "./run-cli.js";
import { type TestBench, untrainedBench } from "./untrained-base.js";

let bench: TestBench;
const at = (name: string) => join(bench.dir, name);
beforeAll(async () => {
  bench = await untrainedBench({ stages: 3, steps: 20 });
  expect((await runCli(["run", bench.recipe, "--out", at("whole"), "--quiet"])).code).toBe(0);
});

/** Every file of a run but the event log, whose times are its own. */
function bytesOf(run: string): Record<string, string> {
  const names = readdirSync(at(run), { recursive: true, withFileTypes: true }).filter((e) => e.isFile() && e.name !== "events.jsonl");
  return Object.fromEntries(
    names.map((e) => [join(e.parentPath, e.name).slice(at(run).length), readFileSync(join(e.parentPath, e.name), "base64")]),
  );
}

/** Sends the signal once stage 0 is done, which is in the middle of stage 1 or close to it. */
const signalAfterStage0 = (signal: NodeJS.Signals) => {
  let sent = false;
  return (text: string, kill: (signal: NodeJS.Signals) => void): void => {
    if (sent || !text.includes("stage 0: proposal")) return;
    sent = true;
    setTimeout(() => kill(signal), 150);
  };
};

test("Ctrl-C stops with 130 and the way to go on, and the resumed run has the bytes of an uninterrupted one", async () => {
  const interrupted = await runCli(["run", bench.recipe, "--out", at("interrupted")], { onStderr: signalAfterStage0("SIGINT") });
  expect(interrupted.code).toBe(130);
  expect(interrupted.stdout).toBe("");
  expect(interrupted.stderr).toMatch(/Stopping; what is done is kept[\s\S]*go on with: envwright run --resume/);
  expect(existsSync(at("interrupted/run.lock"))).toBe(false);
  const resumed = await runCli(["run", "--resume", at("interrupted"), "--json"]);
  expect(resumed.code).toBe(0);
  expect(JSON.parse(resumed.stdout).stages).toHaveLength(3);
  expect(bytesOf("interrupted")).toEqual(bytesOf("whole"));
});

test("a killed run leaves a stale lock that is taken over, and resumes to the same bytes", async () => {
  const killed = await runCli(["run", bench.recipe, "--out", at("killed")], { onStderr: signalAfterStage0("SIGKILL") });
  expect(killed.code).toBeNull();
  expect(existsSync(at("killed/run.lock"))).toBe(true);
  expect((await runCli(["run", "--resume", at("killed"), "--quiet"])).code).toBe(0);
  expect(bytesOf("killed")).toEqual(bytesOf("whole"));
});

test("a second process on the same folder is refused by the pid of the first", async () => {
  let second: ReturnType<typeof runCli> | undefined;
  const first = await runCli(["run", bench.recipe, "--out", at("shared")], {
    onStderr: (text, kill) => {
      if (second !== undefined || !text.includes("base: valid")) return;
      // It stands still meanwhile: otherwise it may be over before the second has begun.
      kill("SIGSTOP");
      second = runCli(["run", "--resume", at("shared")]).finally(() => kill("SIGCONT"));
    },
  });
  expect(first.code).toBe(0);
  const refused = await second!;
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/in use by the running process \d+/);
});
