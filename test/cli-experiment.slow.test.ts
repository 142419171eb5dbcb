/** Experiments through the command line, on runs of an untrained miniature: resumed, killed, with cells that fail and cells that wait for others. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callCli } from "./call-cli.js";
import { folderBytes } from "./folder-bytes.js";
import { runCli } from "./run-cli.js";
import { type TestBench, untrainedBench } from "./untrained-base.js";

let bench: TestBench;
const at = (name: string) => join(bench.dir, name);
const json = (name: string) => JSON.parse(readFileSync(at(name), "utf8"));
beforeAll(async () => {
  bench = await untrainedBench({ stages: 2, steps: 1 });
});
afterAll(() => rmSync(bench.dir, { recursive: true, force: true }));

function writeMatrix(file: string, matrix: Record<string, unknown>): string {
  writeFileSync(at(file), JSON.stringify({ name: "test", recipe: "test.json", seeds: [1, 2], ...matrix }));
  return at(file);
}
const states = (stdout: string) =>
  JSON.parse(stdout).cells.map((c: { arm: string; seed: number; state: string }) => `${c.arm}-seed${c.seed} ${c.state}`);
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("an experiment runs every cell, keeps what is finished and reports the arms against the reference", async () => {
  const arms = { fixed: { "engineer.name": "fixed" }, rule: { "engineer.name": "rule" } };
  const matrix = writeMatrix("matrix.json", { set: { stages: 1 }, arms, reference: "fixed" });
  const first = await runCli(["experiment", matrix, "--out", at("experiment"), "--parallel", "2", "--json"]);
  expect(first.code, first.stderr).toBe(0);
  const summary = JSON.parse(first.stdout);
  expect(states(first.stdout)).toEqual(["fixed-seed1 done", "rule-seed1 done", "fixed-seed2 done", "rule-seed2 done"]);
  expect(summary.arms.map((a: { arm: string; seeds: number[] }) => [a.arm, a.seeds])).toEqual([["fixed", [1, 2]], ["rule", [1, 2]]]); // biome-ignore format: one line
  expect(readFileSync(at("experiment/report.md"), "utf8")).toMatch(/\| rule \| 1, 2 \|/);
  expect((await callCli(["experiment", matrix, "--out", at("experiment")])).code).toBe(2);
  const before = readFileSync(at("experiment/rule-seed2/run.json"), "utf8");
  const again = await runCli(["experiment", matrix, "--out", at("experiment"), "--resume", "--json"]);
  expect(JSON.parse(again.stdout).arms).toEqual(summary.arms);
  expect(readFileSync(at("experiment/rule-seed2/run.json"), "utf8")).toBe(before);
});

test("an arm replays the curriculum of another cell under every seed, and is kept on resume for as long as that curriculum stays", async () => {
  const arms = {
    // Before the arm that it waits for.
    replay: { "engineer.name": "replay", "engineer.from": { arm: "random", seed: 1 } },
    random: { "engineer.name": "random" },
  };
  const matrix = writeMatrix("replay.json", { arms, reference: "random" });
  const line = ["experiment", matrix, "--out", at("replay"), "--parallel", "2", "--json"];
  const { code, stdout, stderr } = await runCli(line);
  expect(code, stderr).toBe(0);
  expect(states(stdout)).toEqual(["replay-seed1 done", "random-seed1 done", "replay-seed2 done", "random-seed2 done"]);
  const config = (cell: string) => json(`replay/${cell}/stages/01/config.json`).normalised;
  expect(config("replay-seed1")).toEqual(config("random-seed1"));
  expect(config("replay-seed2")).toEqual(config("random-seed1"));
  expect(config("random-seed2")).not.toEqual(config("random-seed1"));
  // The same config under the same seed makes the same boards: the stages of that cell are the other's.
  const taken = (cell: string) => readFileSync(at(`replay/${cell}/events.jsonl`), "utf8").match(/"type":"stage-reused"/g) ?? [];
  expect([taken("replay-seed1").length, taken("random-seed1").length]).toEqual([2, 0]);
  const boards = (cell: string) => folderBytes(at(`replay/${cell}/stages/01`))["train.parquet"];
  expect(boards("replay-seed1")).toBe(boards("random-seed1"));
  expect(boards("replay-seed2")).not.toBe(boards("random-seed1"));
  expect(boards("replay-seed2")).not.toBe(boards("random-seed2"));

  const made = statSync(at("replay/replay-seed2/run.json")).mtimeMs;
  const again = await runCli([...line, "--resume"]);
  expect(again.code, again.stderr).toBe(0);
  expect(statSync(at("replay/replay-seed2/run.json")).mtimeMs).toBe(made);

  // Another curriculum under the same name: the replays of the old one are not taken for replays of it.
  rmSync(at("replay/random-seed1"), { recursive: true });
  const other = writeMatrix("other.json", {
    arms: { ...arms, random: { "engineer.name": "learnability" } },
    seeds: [1],
    reference: "random",
  });
  const changed = await runCli(["experiment", other, "--out", at("replay"), "--resume", "--json"]);
  expect(changed.code).toBe(1);
  expect(changed.stderr).toMatch(/replay-seed1 holds a run of another recipe/);
  // What lies in its folder is not reported as its result.
  expect(JSON.parse(changed.stdout).arms.map((a: { arm: string }) => a.arm)).toEqual(["random"]);
});

test("arms whose boards could not be compared are refused before any run; other knobs of the same boards are not", async () => {
  const arms = { fixed: { "engineer.name": "fixed" }, three: { "config.agents": [3] } };
  const line = (name: string, changed: Record<string, unknown>) =>
    ["experiment", writeMatrix(name, { set: { stages: 1 }, seeds: [1], arms: { ...arms, ...changed }, reference: "fixed" }), "--out", at("boards")]; // biome-ignore format: one call
  const refused = await callCli(line("boards.json", {}));
  expect([refused.code, existsSync(at("boards"))]).toEqual([2, false]);
  expect(refused.stderr).toMatch(/arms\.three: its config makes other evaluation sets than those of fixed/);
  expect((await callCli(line("counts.json", { three: { "validation.count": 5, "held_out.count": 7 } }))).stderr).toMatch(
    /its validation and held_out make other/,
  );
  const { sizes } = json("test.json").config;
  const [size] = Object.keys(sizes);
  const allowed = await runCli(line("knobs.json", { three: { initial: "given", [`config.sizes.${size}.wait_ratio`]: 0.5 } }));
  expect(allowed.code, allowed.stderr).toBe(0);
});

test("a cell that fails loses no other, and is made up for on resume with those that waited for it", async () => {
  const arms = {
    random: { "engineer.name": "random" },
    replay: { "engineer.name": "replay", "engineer.from": { arm: "random", seed: 2 } },
  };
  const matrix = writeMatrix("failing.json", { arms, reference: "random" });
  mkdirSync(at("failing/random-seed2"), { recursive: true });
  writeFileSync(at("failing/random-seed2/notes.txt"), "no run");
  const line = ["experiment", matrix, "--out", at("failing"), "--resume", "--json"];
  const { code, stdout, stderr } = await runCli(line);
  expect(code).toBe(1);
  expect(states(stdout)).toEqual(["random-seed1 done", "replay-seed1 failed", "random-seed2 failed", "replay-seed2 failed"]);
  expect(stderr).toMatch(/replay-seed1: it replays random-seed2, which failed/);
  expect(JSON.parse(stdout).arms.map((a: { arm: string }) => a.arm)).toEqual(["random"]);
  rmSync(at("failing/random-seed2"), { recursive: true });
  const again = await runCli(line);
  expect(again.code, again.stderr).toBe(0);
  expect(JSON.parse(again.stdout).arms.map((a: { seeds: number[] }) => a.seeds)).toEqual([[1, 2], [1, 2]]); // biome-ignore format: one line
});

test("an experiment that is killed outright leaves no run behind that goes on, and is resumed to the results of one that was not", async () => {
  const arms = { random: { "engineer.name": "random" }, rule: { "engineer.name": "rule" } };
  const matrix = writeMatrix("killed.json", { set: { "trainer.grpo.steps": 25 }, arms, reference: "random" });
  const out = (name: string) => ["experiment", matrix, "--out", at(name), "--parallel", "2", "--json"];
  const pids: number[] = [];
  const killed = await runCli(out("killed"), {
    onStderr: (text, kill) => {
      if (text.includes("seed 2: started") && pids.length === 0) {
        for (const cell of ["random-seed1", "rule-seed1", "random-seed2"]) {
          const events = at(`killed/${cell}/events.jsonl`);
          if (existsSync(events)) pids.push(JSON.parse(readFileSync(events, "utf8").split("\n")[0]!).pid);
        }
        kill("SIGKILL");
      }
    },
  });
  expect(killed.code).toBeNull();
  expect(pids.length).toBeGreaterThan(1);
  const end = Date.now() + 60_000;
  while (pids.some(isAlive) && Date.now() < end) await new Promise((r) => setTimeout(r, 50));
  expect(pids.filter(isAlive)).toEqual([]);
  expect(existsSync(at("killed/results.json"))).toBe(false);

  const resumed = await runCli([...out("killed"), "--resume"]);
  expect(resumed.code, resumed.stderr).toBe(0);
  const whole = await runCli([...out("whole"), "--train-all"]);
  expect(JSON.parse(resumed.stdout).arms).toEqual(JSON.parse(whole.stdout).arms);
  expect(readFileSync(at("killed/report.md"), "utf8")).toBe(readFileSync(at("whole/report.md"), "utf8"));
  for (const cell of ["random-seed1", "rule-seed2"]) expect(folderBytes(at(`killed/${cell}`))).toEqual(folderBytes(at(`whole/${cell}`)));
});

test("a cell that no run could be made of is refused before the first one starts", async () => {
  const matrix = writeMatrix("wrong.json", { arms: { fixed: {}, wrong: { "engineer.name": "lernability" } }, reference: "fixed" });
  const { code, stderr } = await callCli(["experiment", matrix, "--out", at("wrong")]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/no engineer "lernability"/)]);
  expect(existsSync(at("wrong"))).toBe(false);
});
