/** Counterfactual branches through the command line, on runs of an untrained miniature. */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callCli } from "./call-cli.js";
import { runCli } from "./run-cli.js";
import { type TestBench, untrainedBench } from "./untrained-base.js";

let bench: TestBench;
const at = (name: string) => join(bench.dir, name);
beforeAll(async () => {
  bench = await untrainedBench({ stages: 2, steps: 2 });
  const { code } = await callCli(["run", bench.recipe, "--out", at("run"), "--set", "engineer.name=random", "--json"]);
  expect(code).toBe(0);
  const sizes = { 3: { data_ratio: 1, hole_ratio: 0, wait_ratio: 0.2 }, 4: { data_ratio: 0, hole_ratio: 0, wait_ratio: 0.2 } };
  writeFileSync(at("mine.json"), JSON.stringify({ agents: [2], sizes }));
}, 120_000);
afterAll(() => rmSync(bench.dir, { recursive: true, force: true }));

test("branches train from one checkpoint at equal tokens, the taken proposal among them, and are kept on resume", async () => {
  const from = at("run/stages/00");
  const line = ["branch", "--from", from, "--proposals", `random,keep,${at("mine.json")}`, "--steps", "2", "--out", at("b"), "--json"];
  const { code, stdout, stderr } = await runCli(line);
  expect(code, stderr).toBe(0);
  const { report, tokens, branches } = JSON.parse(stdout);
  // The engineer asked again says what it said: one branch for both.
  expect(branches.map((b: { proposals: string[] }) => b.proposals)).toEqual([["taken", "random"], ["keep"], ["mine"]]);
  expect(report.regret).toMatchObject({ taken: "taken", set: "validation" });
  for (const branch of report.branches) expect(branch.tokens[0]).toBeGreaterThanOrEqual(tokens);
  expect(readFileSync(at("b/report.md"), "utf8")).toMatch(/Regret|no regret/);

  const kept = statSync(at("b/keep-seed1/run.json")).mtimeMs;
  rmSync(at("b/mine-seed1"), { recursive: true });
  expect((await runCli(line)).code).toBe(2);
  const again = await runCli([...line, "--resume"]);
  expect(again.code, again.stderr).toBe(0);
  expect(JSON.parse(again.stdout).report).toEqual(report);
  expect(statSync(at("b/keep-seed1/run.json")).mtimeMs).toBe(kept);
  expect((await runCli([...line, "--seeds", "2", "--resume"])).stderr).toMatch(/other branches than are asked for/);
});

test("what is no proposal is refused before anything is written", async () => {
  const refused = await callCli(["branch", "--from", at("run/stages/00"), "--proposals", "rulle", "--steps", "2", "--out", at("none")]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/neither an engineer nor a file/);
  const last = await callCli(["branch", "--from", at("run/stages/01"), "--steps", "2", "--out", at("none")]);
  expect(last.stderr).toMatch(/nothing to branch into/);
  expect(existsSync(at("none"))).toBe(false);
});
