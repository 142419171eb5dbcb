/** Counterfactual branches through the command line, on runs of an untrained miniature. */
import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { familyByName } from "../src/environments/index.js";
import { contextOfStage } from "../src/loop/index.js";
import { RunFolder } from "../src/store/index.js";
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

  // An engineer of a stage that ended by its tokens is told the steps that were made, not those that it might have taken.
  const folder = await RunFolder.open(at("b/keep-seed1"));
  const { training } = await contextOfStage(folder, 0, familyByName("mapf-frozenlake"));
  const { steps } = JSON.parse(readFileSync(at("b/keep-seed1/stages/00/training.json"), "utf8"));
  expect(training).toMatchObject({ tokens_per_stage: tokens, steps_done: steps });
  expect(steps).toBeLessThan(training.steps_per_stage);

  const kept = statSync(at("b/keep-seed1/run.json")).mtimeMs;
  rmSync(at("b/mine-seed1"), { recursive: true });
  // Nobody is asked and nothing is read again: what was proposed is in branch.json, whatever the engineer or the file would say now.
  rmSync(at("mine.json"));
  expect((await runCli(line)).code).toBe(2);
  const again = await runCli([...line, "--resume"]);
  expect(again.code, again.stderr).toBe(0);
  expect(JSON.parse(again.stdout).report).toEqual(report);
  expect(statSync(at("b/keep-seed1/run.json")).mtimeMs).toBe(kept);
  const [fewer, longer] = [line.with(4, "keep"), line.with(6, "3")];
  for (const other of [[...line, "--seeds", "2"], [...line, "--proposals", "rule"], fewer, longer]) {
    expect((await callCli([...other, "--resume"])).stderr).toMatch(/other branches than are asked for/);
  }
});

test("a run of another trainer is refused at the start", async () => {
  cpSync(at("run"), at("foreign"), { recursive: true });
  const record = JSON.parse(readFileSync(at("foreign/run.json"), "utf8"));
  writeFileSync(at("foreign/run.json"), JSON.stringify({ ...record, recipe: { ...record.recipe, trainer: { kind: "trl" } } }));
  const line = ["branch", "--from", at("foreign/stages/00"), "--proposals", "keep", "--steps", "2", "--out", at("none")];
  const { code, stderr } = await callCli(line);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/was trained by trl, whose stages cannot be branched/)]);
  expect(existsSync(at("none"))).toBe(false);
});

test("what is no proposal is refused before anything is written", async () => {
  const refused = await callCli(["branch", "--from", at("run/stages/00"), "--proposals", "rulle", "--steps", "2", "--out", at("none")]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/neither an engineer nor a file/);
  const last = await callCli(["branch", "--from", at("run/stages/01"), "--steps", "2", "--out", at("none")]);
  expect(last.stderr).toMatch(/nothing to branch into/);
  expect(existsSync(at("none"))).toBe(false);
});
