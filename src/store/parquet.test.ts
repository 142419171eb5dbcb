import { mkdtempSync, readdirSync, readFileSync, type WriteStream, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { CorruptFileError, InputError, type Rollout, rolloutSchema, StorageError } from "../core/index.js";
import { columnTypes } from "./columns.js";
import { withDuckDB } from "./duckdb.js";
import { ParquetWriter, readParquet, readParquetRows, writeParquet } from "./parquet.js";
import { readRows, writeRows } from "./rows.js";

const folder = () => mkdtempSync(join(tmpdir(), "envwright-parquet-"));

function rollout(i: number): Rollout {
  return {
    id: `0/train/0/${i}/0`,
    instance: `i${i}`,
    stratum: String(3 + (i % 3)),
    stage: 0,
    step: i,
    sample: 0,
    completion: ["RIGHT DOWN", "", 'quote " and \\ud83d backslash', "nul \u0000 and 😀\n"][i % 4]!,
    tokens: i * 1000,
    finish_reason: i % 2 ? "length" : "stop",
    ...(i % 5 === 4
      ? { failure: { boundary: "endpoint", message: "timeout", attempts: 3 } }
      : {
          verdict: {
            instance: `i${i}`,
            ok: i % 2 === 0,
            code: i % 2 ? "swap-conflict" : "valid",
            ...(i % 2 ? { at: { step: 2, agents: [0, 1], cell: [1, 2] as [number, number] } } : {}),
            reason: "",
            counts: i % 2 ? { hole: 1, "swap-conflict": 2 } : {},
            ...(i % 2 ? {} : { costs: { makespan: 4, sum_of_costs: 7.5 } }),
            optima: { makespan: 4, sum_of_costs: 7 },
            optimal: { makespan: i % 2 === 0, sum_of_costs: false },
          },
          reward: { total: 0.1 * i, accuracy: 1 / 3, length: 1e-300, weight: 0.8 },
          advantage: -0.1 * (i + 1),
        }),
  };
}

test("rollouts come back as they were, in order, to the last bit", async () => {
  const path = join(folder(), "rollouts.parquet");
  const rollouts = Array.from({ length: 3000 }, (_, i) => rollout(i));
  await writeParquet(path, rolloutSchema, rollouts);
  expect(await readParquet(path, rolloutSchema)).toEqual(rollouts);
  expect(readdirSync(join(path, ".."))).toEqual(["rollouts.parquet"]);
});

test("two writes of the same rows, in other batches and with other key orders, are equal in bytes", async () => {
  const dir = folder();
  const rollouts = Array.from({ length: 500 }, (_, i) => rollout(i));
  await writeParquet(join(dir, "a.parquet"), rolloutSchema, rollouts);
  const writer = await ParquetWriter.open(join(dir, "b.parquet"), rolloutSchema);
  for (let i = 0; i < rollouts.length; i += 7) {
    await writer.append(rollouts.slice(i, i + 7).map((r) => Object.fromEntries(Object.entries(r).reverse()) as Rollout));
  }
  await writer.close();
  expect(readFileSync(join(dir, "a.parquet")).equals(readFileSync(join(dir, "b.parquet")))).toBe(true);
  await writeParquet(join(dir, "c.parquet"), rolloutSchema, rollouts.slice(1));
  expect(readFileSync(join(dir, "a.parquet")).equals(readFileSync(join(dir, "c.parquet")))).toBe(false);
});

test("columns are typed, so that SQL reads fields and not text", async () => {
  const path = join(folder(), "r.parquet");
  await writeParquet(path, rolloutSchema, [rollout(0), rollout(1)]);
  expect(columnTypes(rolloutSchema).get("tokens")).toBe("BIGINT");
  await withDuckDB(async (connection) => {
    const sql = `SELECT verdict.code, verdict.counts['hole'] AS holes, verdict.at.cell[2] AS "column", reward.accuracy FROM '${path}' WHERE NOT verdict.ok`;
    const rows = (await connection.runAndReadAll(sql)).getRowObjectsJS();
    expect(rows).toEqual([{ code: "swap-conflict", holes: 1n, column: 2n, accuracy: 1 / 3 }]);
  });
});

test("what has no fixed shape is kept as JSON, nested and at the top", async () => {
  const schema = z.strictObject({
    a: z.unknown(),
    b: z.strictObject({ c: z.union([z.string(), z.int()]), d: z.looseObject({ x: z.int() }) }),
    e: z.record(z.string(), z.array(z.int())),
  });
  const rows = [
    { a: { deep: [1, "x", null] }, b: { c: "t", d: { x: 1, y: 2 } }, e: { k: [1, 2] } },
    { a: 3, b: { c: 4, d: { x: 5 } }, e: {} },
  ];
  const path = join(folder(), "j.parquet");
  await writeParquet(path, schema, rows);
  expect(await readParquet(path, schema)).toEqual(rows);
});

test("no rows make a file with its columns and no rows", async () => {
  const path = join(folder(), "empty.parquet");
  await writeParquet(path, rolloutSchema, []);
  expect(await readParquet(path, rolloutSchema)).toEqual([]);
});

test("a lone surrogate, which no Unicode text holds, becomes the replacement character", async () => {
  const path = join(folder(), "s.parquet");
  await writeParquet(path, z.strictObject({ t: z.string() }), [{ t: "a\ud83d \\ud83d" }]);
  expect(await readParquet(path, z.strictObject({ t: z.string() }))).toEqual([{ t: "a\ufffd \\ud83d" }]);
});

test("an aborted writer leaves nothing", async () => {
  const dir = folder();
  const writer = await ParquetWriter.open(join(dir, "x.parquet"), rolloutSchema);
  await writer.append([rollout(1)]);
  await writer.abort();
  expect(readdirSync(dir)).toEqual([]);
});

test("a file that is no Parquet, a missing one and a row against the schema are each refused by name", async () => {
  const dir = folder();
  writeFileSync(join(dir, "bad.parquet"), "this is not parquet at all");
  await expect(readParquet(join(dir, "bad.parquet"), rolloutSchema)).rejects.toThrow(CorruptFileError);
  await expect(readParquetRows(join(dir, "none.parquet")).next()).rejects.toThrow(InputError);
  await writeParquet(join(dir, "other.parquet"), z.strictObject({ id: z.string() }), [{ id: "x" }]);
  await expect(readParquet(join(dir, "other.parquet"), rolloutSchema)).rejects.toThrow(/row 1/);
});

test("paths with quotes and brackets are taken as they are", async () => {
  const path = join(folder(), "it's [a]*.parquet");
  await writeParquet(path, z.strictObject({ n: z.int() }), [{ n: 1 }]);
  expect(await readParquet(path, z.strictObject({ n: z.int() }))).toEqual([{ n: 1 }]);
});

test("rows are read and written by extension; another extension is refused", async () => {
  const dir = folder();
  const schema = z.strictObject({ n: z.int() });
  const rows = Array.from({ length: 2500 }, (_, n) => ({ n }));
  for (const name of ["a.jsonl", "a.parquet"]) {
    await writeRows(join(dir, name), schema, rows);
    const read: unknown[] = [];
    for await (const batch of readRows(join(dir, name))) read.push(...batch);
    expect(read).toEqual(rows);
  }
  writeFileSync(join(dir, "one.json"), '{"n": 7}');
  expect((await readRows(join(dir, "one.json")).next()).value).toEqual([{ n: 7 }]);
  await expect(writeRows(join(dir, "a.csv"), schema, rows)).rejects.toThrow(InputError);
  writeFileSync(join(dir, "b.jsonl"), '{"n":1}\n{"n":\n');
  await expect(readRows(join(dir, "b.jsonl")).next()).rejects.toThrow(/line 2/);
});

test("a disk that fails is a StorageError of the write, and nothing that ends the process", async () => {
  const dir = folder();
  const writer = await ParquetWriter.open(join(dir, "x.parquet"), rolloutSchema);
  const { stream } = writer as unknown as { stream: WriteStream };
  stream._write = (_chunk, _encoding, done) => done(Object.assign(new Error("no space left on device"), { code: "ENOSPC" }));
  await expect(writer.append([rollout(1)])).rejects.toBeInstanceOf(StorageError);
  await writer.abort();
  expect(readdirSync(dir)).toEqual([]);
});

test("rows of many megabytes are one row each, and long ones make smaller row groups", async () => {
  const dir = folder();
  const schema = z.strictObject({ n: z.int(), t: z.string() });
  const groups = async (name: string, rows: { n: number; t: string }[]) => {
    const path = join(dir, `${name}.parquet`);
    await writeParquet(path, schema, rows);
    expect((await readParquet(path, schema)).every(({ n, t }, i) => n === i && t === rows[i]!.t)).toBe(true);
    return withDuckDB(async (connection) => {
      const query = `SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata('${path}') ORDER BY row_group_id`;
      return (await connection.runAndReadAll(query)).getRows().map(([, count]) => Number(count));
    });
  };
  const rows = (count: number, length: number, of = ".") => Array.from({ length: count }, (_, n) => ({ n, t: `${n}`.padEnd(length, of) }));
  expect(await groups("short", rows(20_000, 10))).toEqual([16_384, 3616]);
  expect(await groups("long", rows(5000, 2500))).toEqual([2048, 2048, 904]);
  expect(await groups("longest", rows(2, 12 * 1024 * 1024, "€"))).toEqual([2]);
});
