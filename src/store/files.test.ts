import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { StorageError } from "../core/index.js";
import { isTemporary, produceFileAtomic, removeLeftovers, temporaryPath, writeFileAtomic } from "./files.js";
import { storageFailure } from "./storage-failure.js";

const folder = () => mkdtempSync(join(tmpdir(), "envwright-files-"));

test("a written file has its content and leaves no temporary behind", async () => {
  const dir = folder();
  await writeFileAtomic(join(dir, "deep", "a.json"), "one");
  await writeFileAtomic(join(dir, "deep", "a.json"), "two");
  expect(readFileSync(join(dir, "deep", "a.json"), "utf8")).toBe("two");
  expect(readdirSync(join(dir, "deep"))).toEqual(["a.json"]);
});

test("a writer that fails half way leaves the old file as it was", async () => {
  const path = join(folder(), "a.txt");
  await writeFileAtomic(path, "old");
  const failing = produceFileAtomic(path, async (temporary) => {
    writeFileSync(temporary, "ne");
    throw Object.assign(new Error("write failed"), { code: "ENOSPC" });
  });
  await expect(failing).rejects.toThrow(StorageError);
  expect(readFileSync(path, "utf8")).toBe("old");
  expect(readdirSync(join(path, ".."))).toEqual(["a.txt"]);
});

test("what a process killed between write and rename leaves is removed, and nothing else", async () => {
  const dir = folder();
  await writeFileAtomic(join(dir, "stages", "00", "config.json"), "{}");
  writeFileSync(temporaryPath(join(dir, "stages", "00", "train.parquet")), "half");
  mkdirSync(join(temporaryPath(join(dir, "checkpoint"))));
  const removed = await removeLeftovers(dir);
  expect(removed).toHaveLength(2);
  expect(readdirSync(dir, { recursive: true }).map(String).sort()).toEqual(["stages", "stages/00", "stages/00/config.json"]);
  expect(isTemporary("config.json")).toBe(false);
});

test("after a full disk, what is advised is what the file belongs to: a run, an evaluation, an experiment, or a command to start again", () => {
  const dir = folder();
  const full = (path: string) =>
    (storageFailure(Object.assign(new Error("x"), { code: "ENOSPC" }), "write", join(dir, path)) as StorageError).remedy;
  for (const path of [
    "run/run.json",
    "evals/a/eval.json",
    "many/matrix.json",
    "many/arm-1/run.json",
    "branches/branch.json",
    "branches/keep/run.json",
  ]) {
    mkdirSync(join(dir, path, ".."), { recursive: true });
    writeFileSync(join(dir, path), "{}");
  }
  const start = "free some space, then";
  expect(full("run/stages/00/train.parquet")).toBe(`${start} go on with \`envwright run --resume ${join(dir, "run")}\``);
  expect(full("evals/a/calls/calls.jsonl")).toBe(`${start} go on with \`envwright eval --resume ${join(dir, "evals/a")}\``);
  expect(full("many/arm-1/stages/00/x")).toBe(`${start} start the experiment again with --resume`);
  expect(full("branches/keep/x")).toBe(`${start} start the same command again with --resume`);
  expect(full("boards.jsonl")).toMatch(/start the command again, or resume what it has kept where its --help lists --resume$/);
});

test("a full disk and a refused permission name their remedy", async () => {
  const full = storageFailure(Object.assign(new Error("x"), { code: "ENOSPC" }), "write", "runs/a/x");
  expect(full).toBeInstanceOf(StorageError);
  expect((full as StorageError).explain()).toMatch(/could not write runs\/a\/x: the disk is full[\s\S]*remedy:.*start the command again/);
  const byText = storageFailure(new Error('IO Error: Cannot open file "x": Permission denied'), "write", "x");
  expect(byText.message).toContain("permission denied");
  const tooLong = storageFailure(new Error("Out of Memory Error: failed to allocate data of size 32.0 MiB"), "write", "x");
  expect(tooLong).toBeInstanceOf(StorageError);
  expect(tooLong.message).toContain("rows are too long");
  const mistake = new TypeError("not the disk");
  expect(storageFailure(mistake, "write", "x")).toBe(mistake);
  const file = join(folder(), "a.txt");
  await writeFileAtomic(file, "x");
  await expect(writeFileAtomic(join(file, "below"), "x")).rejects.toThrow(StorageError);
});
