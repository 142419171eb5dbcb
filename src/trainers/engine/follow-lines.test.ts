import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LineFollower } from "./follow-lines.js";

async function following(work: (path: string, lines: LineFollower) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "follow-lines-"));
  try {
    const path = join(dir, "metrics.jsonl");
    await work(path, new LineFollower(path));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

test("lines come once, whole and in order, and a line that is not finished waits for its end", () =>
  following(async (path, lines) => {
    expect(await lines.next()).toEqual([]);
    await appendFile(path, "one\n\ntwo\nthr");
    expect(await lines.next()).toEqual(["one", "two"]);
    expect(await lines.next()).toEqual([]);
    await appendFile(path, "ee é".slice(0, 4));
    await appendFile(path, "\n");
    expect(await lines.next()).toEqual(["three é"]);
  }));

test("a character whose bytes come in two parts is read whole", () =>
  following(async (path, lines) => {
    const bytes = Buffer.from("é\n");
    await appendFile(path, bytes.subarray(0, 1));
    expect(await lines.next()).toEqual([]);
    await appendFile(path, bytes.subarray(1));
    expect(await lines.next()).toEqual(["é"]);
  }));

test("looks that overlap do not read the same lines twice", () =>
  following(async (path, lines) => {
    await appendFile(path, "one\ntwo\n");
    const looks = await Promise.all([lines.next(), lines.next(), lines.next()]);
    expect(looks.flat()).toEqual(["one", "two"]);
  }));

test("a look that fails does not end the later ones", () =>
  following(async (path, lines) => {
    const folder = new LineFollower(join(path, ".."));
    await expect(folder.next()).rejects.toThrow();
    await expect(folder.next()).rejects.toThrow();
    await appendFile(path, "one\n");
    expect(await lines.next()).toEqual(["one"]);
  }));
