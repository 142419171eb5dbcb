import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { CorruptFileError, RunFolderError, recipeSchema } from "../core/index.js";
import { lockHolder, RunLock } from "./lock.js";
import { RunFolder } from "./run-folder.js";
import { hasOneMaker, maker, otherMaker } from "./versions.js";

const recipe = recipeSchema.parse({ name: "t", stages: 2, instances: 10, config: {}, base: "base" });
const schema = z.strictObject({ b: z.int(), a: z.string() });
const fresh = () => join(mkdtempSync(join(tmpdir(), "envwright-run-")), "run");

test("records of the run and of a stage come back, and their bytes do not depend on the order of keys", async () => {
  const dir = fresh();
  const run = await RunFolder.create(dir, { recipe, seed: 7 });
  await run.writeRecord("run", "base-validation.json", schema, { b: 1, a: "x" });
  await run.writeRecord(3, "config.json", schema, { b: 2, a: "y" });
  expect(readFileSync(join(dir, "stages/03/config.json"), "utf8")).toBe('{\n  "a": "y",\n  "b": 2\n}\n');
  run.close();
  const reader = await RunFolder.open(dir);
  expect(reader.record).toMatchObject({ seed: 7, recipe: { name: "t" }, schema_version: 1 });
  expect(await reader.readRecord("run", "base-validation.json", schema)).toEqual({ b: 1, a: "x" });
  expect(await reader.readRecord(3, "config.json", schema)).toEqual({ b: 2, a: "y" });
  expect(await reader.stages()).toEqual([3]);
  await expect(reader.writeText(3, "context.md", "x")).rejects.toThrow(/reading only/);
});

test("a file that was written but not recorded, as after a kill between the two, counts as not there", async () => {
  const run = await RunFolder.create(fresh(), { recipe });
  await run.writeText(0, "a.md", "text");
  writeFileSync(run.path(0, "b.md"), "text");
  expect([await run.has(0, "a.md"), await run.has(0, "b.md")]).toEqual([true, false]);
  await expect(run.readText(0, "b.md")).rejects.toThrow(CorruptFileError);
  run.close();
});

test("a changed byte in a file or in a checkpoint folder is found by its checksum", async () => {
  const run = await RunFolder.create(fresh(), { recipe });
  await run.writeText(0, "context.md", "what was said");
  mkdirSync(run.path(0, "checkpoint"), { recursive: true });
  writeFileSync(join(run.path(0, "checkpoint"), "model.safetensors"), "weights");
  await run.register(0, "checkpoint");
  expect(await run.verified(0, "checkpoint")).toBe(run.path(0, "checkpoint"));
  writeFileSync(run.path(0, "context.md"), "what was sa1d");
  writeFileSync(join(run.path(0, "checkpoint"), "extra.bin"), "");
  run.close();
  const reader = await RunFolder.open(run.dir);
  await expect(reader.readText(0, "context.md")).rejects.toThrow(CorruptFileError);
  await expect(reader.verified(0, "checkpoint")).rejects.toThrow(/has changed/);
});

test("metrics cut back to a stage and written again have the same bytes", async () => {
  const run = await RunFolder.create(fresh(), { recipe });
  const path = join(run.dir, "metrics.jsonl");
  const line = (stage: number, step: number) => run.appendMetrics({ stage, step, reward: stage + step / 10 });
  for (const [stage, step] of [[0, 0], [0, 1], [1, 2], [1, 3]] as const) line(stage, step); // biome-ignore format: one row
  const whole = readFileSync(path, "utf8");
  appendFileSync(path, '{"stage":2,"st');
  run.close();
  const resumed = await RunFolder.resume(run.dir);
  expect(await resumed.truncateMetrics(1)).toBe(2);
  resumed.appendMetrics({ stage: 1, step: 2, reward: 1.2 });
  resumed.appendMetrics({ stage: 1, step: 3, reward: 1.3 });
  resumed.close();
  expect(readFileSync(path, "utf8")).toBe(whole);
  expect(await resumed.readMetrics()).toHaveLength(4);
});

test("events are appended and read back", async () => {
  const run = await RunFolder.create(fresh(), { recipe });
  run.appendEvent({ type: "warning", time: "2026-01-01T00:00:00.000Z", message: "m" });
  expect(await run.readEvents()).toEqual([{ type: "warning", time: "2026-01-01T00:00:00.000Z", message: "m" }]);
  run.close();
});

test("run.json names the program by its hash and the machine, and every other one that goes on with the run, once", async () => {
  const dir = fresh();
  const file = join(dir, "run.json");
  (await RunFolder.create(dir, { recipe })).close();
  const { record } = await RunFolder.open(dir);
  expect(record.versions).toMatchObject({
    program: expect.stringMatching(/^[0-9a-f]{64}$/),
    platform: process.platform,
    arch: process.arch,
  });
  expect(record.versions.cpu).not.toBe("");
  expect([otherMaker(record), hasOneMaker(record)]).toEqual([undefined, true]);
  const before = readFileSync(file, "utf8");
  (await RunFolder.resume(dir)).close();
  expect(readFileSync(file, "utf8")).toBe(before);

  writeFileSync(file, JSON.stringify({ ...record, versions: { ...record.versions, program: "0".repeat(64), cpu: "another" } }));
  const began = (await RunFolder.open(dir)).record;
  expect([otherMaker(began), hasOneMaker(began)]).toEqual(["it was made with other cpu, program than are here", true]);
  for (let i = 0; i < 2; i++) (await RunFolder.resume(dir)).close();
  const gone = (await RunFolder.open(dir)).record;
  expect(gone).toEqual({ ...began, continued_with: [maker()] });
  expect(hasOneMaker(gone)).toBe(false);

  const { program: _program, ...old } = record.versions;
  expect(otherMaker({ versions: old })).toMatch(/does not say which program/);
  expect(hasOneMaker({ versions: old })).toBe(false);
});

test("a second writer is refused while the first holds the folder, naming its pid, and admitted afterwards", async () => {
  const run = await RunFolder.create(fresh(), { recipe });
  await expect(RunFolder.resume(run.dir)).rejects.toThrow(RunFolderError);
  await expect(RunFolder.resume(run.dir)).rejects.toThrow(String(process.pid));
  expect(lockHolder(run.dir)).toBe(process.pid);
  run.close();
  expect(lockHolder(run.dir)).toBeUndefined();
  (await RunFolder.resume(run.dir)).close();
});

test("the lock of a killed process is taken over, and so is one whose pid was given to another process", async () => {
  const dir = mkdtempSync(join(tmpdir(), "envwright-lock-"));
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  const lock = (started: string) => writeFileSync(join(dir, "run.lock"), JSON.stringify({ pid: child.pid, started, host: hostname() }));
  lock("");
  expect(() => RunLock.acquire(dir)).toThrow(String(child.pid));
  lock("another start");
  RunLock.acquire(dir).release();
  lock("");
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
  RunLock.acquire(dir).release();
  writeFileSync(join(dir, "run.lock"), JSON.stringify({ pid: 1, started: "", host: "another-host" }));
  expect(() => RunLock.acquire(dir)).toThrow(/another-host/);
});

test("a folder with another run, or with anything else, is not written into", async () => {
  const run = await RunFolder.create(fresh(), { recipe });
  run.close();
  await expect(RunFolder.create(run.dir, { recipe })).rejects.toThrow(/already holds a run/);
  const other = mkdtempSync(join(tmpdir(), "envwright-other-"));
  writeFileSync(join(other, "thesis.tex"), "");
  await expect(RunFolder.create(other, { recipe })).rejects.toThrow(/thesis.tex/);
  await expect(RunFolder.open(other)).rejects.toThrow(/not a run folder/);
  await expect(RunFolder.resume(join(other, "none"))).rejects.toThrow(/no such folder/);
});

test("a run killed before run.json was written can be created again", async () => {
  const dir = fresh();
  mkdirSync(dir);
  writeFileSync(join(dir, "run.lock"), JSON.stringify({ pid: 2 ** 30, started: "", host: hostname() }));
  writeFileSync(join(dir, ".tmp-1-0-run.json"), "{");
  (await RunFolder.create(dir, { recipe })).close();
});

test("another schema version, in the run or in a manifest, is refused", async () => {
  const run = await RunFolder.create(fresh(), { recipe });
  await run.writeText(0, "a.md", "x");
  run.close();
  const manifest = join(run.dir, "stages/00/manifest.json");
  writeFileSync(manifest, readFileSync(manifest, "utf8").replace('"schema_version": 1', '"schema_version": 2'));
  await expect((await RunFolder.open(run.dir)).has(0, "a.md")).rejects.toThrow(RunFolderError);
  const record = join(run.dir, "run.json");
  writeFileSync(record, readFileSync(record, "utf8").replace('"schema_version": 1', '"schema_version": 99'));
  await expect(RunFolder.open(run.dir)).rejects.toThrow(/schema version 99/);
  rmSync(run.dir, { recursive: true });
});
