import { appendFileSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { CorruptFileError } from "../core/index.js";
import { filterJsonLines, JsonLinesWriter, readJsonLines } from "./json-lines.js";

const schema = z.strictObject({ n: z.int(), text: z.string() });
const path = () => join(mkdtempSync(join(tmpdir(), "envwright-lines-")), "a.jsonl");

test("records come back in order, one canonical line each", async () => {
  const file = path();
  const writer = JsonLinesWriter.open(file);
  writer.append({ text: "b", n: 1 });
  writer.append({ n: 2, text: "line\nfeed" });
  writer.close();
  expect(readFileSync(file, "utf8")).toBe('{"n":1,"text":"b"}\n{"n":2,"text":"line\\nfeed"}\n');
  expect(await readJsonLines(file, schema)).toEqual([
    { n: 1, text: "b" },
    { n: 2, text: "line\nfeed" },
  ]);
});

test("cut at any byte, the file reads as its whole lines and goes on from there", async () => {
  const records = [1, 2, 3].map((n) => ({ n, text: "é".repeat(n) }));
  const whole = Buffer.from(records.map((r) => `${JSON.stringify(r)}\n`).join(""));
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: whole.length }), async (cut) => {
      const file = path();
      writeFileSync(file, whole.subarray(0, cut));
      const kept = await readJsonLines(file, schema);
      expect(kept).toEqual(records.slice(0, whole.subarray(0, cut).filter((byte) => byte === 0x0a).length));
      const writer = JsonLinesWriter.open(file, "close");
      writer.append({ n: 9, text: "next" });
      writer.close();
      expect(await readJsonLines(file, schema)).toEqual([...kept, { n: 9, text: "next" }]);
    }),
    { numRuns: 40 },
  );
});

test("a torn line longer than one block is cut whole", async () => {
  const file = path();
  writeFileSync(file, `{"n":1,"text":"a"}\n{"n":2,"text":"${"x".repeat(10_000)}`);
  JsonLinesWriter.open(file).close();
  expect(readFileSync(file, "utf8")).toBe('{"n":1,"text":"a"}\n');
});

test("a broken line in the middle is corruption and is named", async () => {
  const file = path();
  writeFileSync(file, '{"n":1,"text":"a"}\n{"n":\n{"n":3,"text":"c"}\n');
  await expect(readJsonLines(file, schema)).rejects.toThrow(CorruptFileError);
  await expect(readJsonLines(file, schema)).rejects.toThrow(/line 2/);
});

test("filtering keeps the bytes of the lines it keeps", async () => {
  const file = path();
  const writer = JsonLinesWriter.open(file);
  for (let n = 0; n < 5; n++) writer.append({ n, text: "t" });
  writer.close();
  const before = readFileSync(file, "utf8");
  expect(await filterJsonLines(file, schema, (r) => r.n < 3)).toBe(2);
  expect(before.startsWith(readFileSync(file, "utf8"))).toBe(true);
  appendFileSync(file, "");
  expect(await readJsonLines(file, schema)).toHaveLength(3);
});

test("a closed file takes no more lines, since its number may be another file's by now", async () => {
  const file = path();
  const writer = JsonLinesWriter.open(file);
  writer.append({ n: 1, text: "a" });
  writer.close();
  writer.close();
  const other = JsonLinesWriter.open(path());
  expect(() => writer.append({ n: 2, text: "b" })).toThrow(/is closed/);
  other.close();
  expect([await readJsonLines(file, schema), await readJsonLines(other.path, schema)]).toEqual([[{ n: 1, text: "a" }], []]);
});
