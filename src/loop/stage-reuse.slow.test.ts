/** Stages taken from other runs, in runs of an untrained miniature: the bytes are those of a run that made them itself. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { folderBytes } from "../../test/folder-bytes.js";
import { type TestBench, untrainedBench } from "../../test/untrained-base.js";
import { InterruptedError, parseWith, type RunEvent, recipeSchema } from "../core/index.js";
import { RunFolder } from "../store/index.js";
import { resumeLoop, runLoop } from "./run.js";
import { stageKey } from "./stage-reuse.js";

let bench: TestBench;
let scratch: string;
const at = (...names: string[]) => join(scratch, ...names);
beforeAll(async () => {
  bench = await untrainedBench({ stages: 3, steps: 2 });
  scratch = mkdtempSync(join(tmpdir(), "envwright-reuse-"));
  await run("known/random", "random");
});
afterAll(() => {
  rmSync(bench.dir, { recursive: true, force: true });
  rmSync(scratch, { recursive: true, force: true });
});

/** Runs the recipe under an engineer; returns what its events say of stages taken from elsewhere. */
async function run(
  out: string,
  engineer: string,
  more: { reuse?: string[]; seed?: number; workers?: number; signal?: AbortSignal; onEvent?: (event: RunEvent) => void } = {},
) {
  const { workers = 1, ...options } = more;
  const value = parse(readFileSync(bench.recipe, "utf8")) as object;
  const recipe = parseWith(recipeSchema, { ...value, name: basename(out), workers, engineer: { name: engineer } }, "test");
  const events: RunEvent[] = [];
  const onEvent = (event: RunEvent) => {
    events.push(event);
    more.onEvent?.(event);
  };
  await runLoop({ recipe, recipeDir: dirname(bench.recipe), out: at(out), ...options, onEvent });
  return {
    taken: events.flatMap((e) => (e.type === "stage-reused" ? [[e.stage, e.from]] : [])),
    trained: events.filter((e) => e.type === "phase-started" && e.phase === "train").length,
    warnings: events.flatMap((e) => (e.type === "warning" ? [e.message] : [])),
  };
}
/** run.json names the run, its workers and its engineer. */
const bytes = (name: string) => folderBytes(at(name), ["run.json"]);

it("a run with another engineer takes the first stage, which no engineer has had a hand in, and comes to the bytes of one that made it", async () => {
  expect(await run("hardest", "hardest", { reuse: [at("known")] })).toMatchObject({ taken: [[0, at("known/random")]], trained: 2 });
  expect(await run("hardest-alone", "hardest")).toMatchObject({ taken: [], trained: 3 });
  expect(bytes("hardest")).toEqual(bytes("hardest-alone"));
});

it("a run whose engineer proposes the same takes every stage, whatever it and its workers are called", async () => {
  const { taken, trained } = await run("again", "random", { reuse: [at("nowhere"), at("known")], workers: 2 });
  expect(taken.map(([stage]) => stage)).toEqual([0, 1, 2]);
  expect(trained).toBe(0);
  expect(bytes("again")).toEqual(bytes("known/random"));
});

it("another seed, or another recipe, takes nothing", async () => {
  expect(await run("other-seed", "random", { reuse: [at("known")], seed: 2 })).toMatchObject({ taken: [], trained: 3 });
  const known = await RunFolder.open(at("known/random"));
  const key = await stageKey(known, 0);
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(await stageKey(known, 1)).not.toBe(key);
  const { record } = known;
  const changed = async (change: object) => {
    const dir = at("changed");
    cpSync(known.dir, dir, { recursive: true });
    writeFileSync(join(dir, "run.json"), JSON.stringify({ ...record, ...change }));
    const other = await stageKey(await RunFolder.open(dir), 0);
    rmSync(dir, { recursive: true });
    return other;
  };
  const grpo = { ...record.recipe.trainer.grpo, kl: 0.1 };
  for (const change of [
    { seed: 9 },
    { versions: { ...record.versions, envwright: "9.9.9" } },
    { versions: { ...record.versions, program: "0".repeat(64) } },
    { versions: { ...record.versions, cpu: "another" } },
    { base_sha256: "0".repeat(64) },
    { recipe: { ...record.recipe, trainer: { ...record.recipe.trainer, grpo } } },
    { recipe: { ...record.recipe, reward: { ...record.recipe.reward, v_min: 0.123 } } },
    { recipe: { ...record.recipe, instances: 13 } },
    { recipe: { ...record.recipe, config: { ...(record.recipe.config as object), agents: [2, 3] } } },
  ]) expect(await changed(change), JSON.stringify(change).slice(0, 40)).not.toBe(key); // biome-ignore format: one list
  // Which program made which stage is not known.
  const { program: _program, ...old } = record.versions;
  for (const change of [{ versions: old }, { continued_with: [record.versions] }]) expect(await changed(change)).toBeUndefined();
  // What names the run, and who proposes, is not in its bytes.
  for (const change of [{ recipe: { ...record.recipe, name: "x", stages: 7, engineer: { ...record.recipe.engineer, name: "rule" } } }]) {
    expect(await changed(change)).toBe(key);
  }
});

it("a stage whose bytes were changed is not taken: it is made, and the run says why", async () => {
  mkdirSync(at("damaged"));
  cpSync(at("known/random"), at("damaged/random"), { recursive: true });
  const file = at("damaged/random/stages/00/rollouts.parquet");
  const content = readFileSync(file);
  content[content.length >> 1]! ^= 1;
  writeFileSync(file, content);
  const { taken, trained, warnings } = await run("undamaged", "random", { reuse: [at("damaged")] });
  // The stage that was made here has the key's bytes again, so the later ones are taken.
  expect(taken.map(([stage]) => stage)).toEqual([1, 2]);
  expect(trained).toBe(1);
  expect(warnings).toEqual([expect.stringMatching(/not taken from .*damaged.*rollouts\.parquet: its content has changed/)]);
  expect(bytes("undamaged")).toEqual(bytes("known/random"));
});

it("a stage whose files are taken away while they are copied is made", async () => {
  cpSync(at("known/random"), at("vanishing/random"), { recursive: true });
  writeFileSync(at("no-folder"), "no runs");
  const { checksum } = RunFolder.prototype;
  const spy = vi.spyOn(RunFolder.prototype, "checksum").mockImplementation(async function (this: RunFolder, scope, name) {
    const known = await checksum.call(this, scope, name);
    if (this.dir === at("vanishing/random") && name === "rollouts.parquet") rmSync(this.dir, { recursive: true });
    return known;
  });
  const { taken, trained, warnings } = await run("unmoved", "random", { reuse: [at("vanishing"), at("no-folder")] });
  spy.mockRestore();
  expect([taken, trained]).toEqual([[], 3]);
  expect(warnings).toEqual([expect.stringMatching(/not taken from .*vanishing/)]);
  expect(bytes("unmoved")).toEqual(bytes("known/random"));
});

it("a run that was stopped after it had taken a stage goes on to the same bytes", async () => {
  const controller = new AbortController();
  const onEvent = (event: RunEvent) => {
    if (event.type === "stage-reused") controller.abort();
  };
  await expect(run("stopped", "hardest", { reuse: [at("known")], signal: controller.signal, onEvent })).rejects.toThrow(InterruptedError);
  await resumeLoop(at("stopped"));
  expect(bytes("stopped")).toEqual(bytes("hardest-alone"));
});

it("two runs at once, each looking at the other, come to the same bytes", async () => {
  const reuse = [at("both")];
  await Promise.all([run("both/a", "hardest", { reuse }), run("both/b", "hardest", { reuse })]);
  for (const name of ["both/a", "both/b"]) expect(bytes(name)).toEqual(bytes("hardest-alone"));
});
