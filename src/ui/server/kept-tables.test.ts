/** The tables behind the rollouts view, by rows that stand in the SQL itself: what happens when a file cannot be read, and when pages ask at once. */
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBounded, RolloutQueries } from "./kept-tables.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-query-"));
const file = (name: string) => join(dir, name);
beforeAll(() => {
  for (const name of ["a", "b", "c", "d"]) writeFileSync(file(name), "");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** One row whose id is the name of its file. */
const row = (path: string) => `SELECT '${path}', 'i', 0, 0, 0, '3', 2, 'valid', 1.0, 5, true, NULL, 0`;
const ids = (queries: RolloutQueries, key: string, names: readonly string[], select = row) =>
  queries.over(key, names.map(file), select, async (table, query) => {
    // Between two queries of one request another request may be waiting.
    await query(`SELECT count(*) FROM ${table}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
    return (await query(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => String(id).slice(dir.length + 1));
  });

test("a file that could not be read is read again by the next request, and those before it are not doubled", async () => {
  const queries = new RolloutQueries();
  const half = (path: string) => (path.endsWith("b") ? "SELECT * FROM read_parquet('/nowhere/b.parquet')" : row(path));
  await expect(ids(queries, "k", ["a", "b", "c"], half)).rejects.toThrow(/b\.parquet/);
  expect(await ids(queries, "k", ["a", "b", "c"])).toEqual(["a", "b", "c"]);
  expect(await ids(queries, "k", ["a", "b", "c", "d"])).toEqual(["a", "b", "c", "d"]);
  utimesSync(file("a"), 1, 1);
  expect(await ids(queries, "k", ["a", "b"])).toEqual(["a", "b"]);
  await queries.close();
});

test("requests for more tables than are kept, and for one table, at once: each gets its own rows", async () => {
  const queries = new RolloutQueries();
  const names = ["a", "b", "c", "d", "a", "a", "c", "b"];
  const found = await Promise.all(names.map((name) => ids(queries, name, [name])));
  expect(found).toEqual(names.map((name) => [name]));
  await queries.close();
});

test("a database that could not be opened is opened again by the next request", async () => {
  let opened = 0;
  const queries = new RolloutQueries(async () => {
    if (opened++ === 0) throw new Error("no memory is left");
    return openBounded();
  });
  await expect(ids(queries, "k", ["a"])).rejects.toThrow("no memory is left");
  expect(await ids(queries, "k", ["a"])).toEqual(["a"]);
  expect(await ids(queries, "k", ["a", "b"])).toEqual(["a", "b"]);
  expect(opened).toBe(2);
  await queries.close();
});

test("two databases at once have a folder each for what does not fit into memory", async () => {
  const folders: unknown[] = [];
  for (const { connection, instance } of [await openBounded(), await openBounded()]) {
    folders.push((await connection.runAndReadAll("SELECT current_setting('temp_directory')")).getRows()[0]![0]);
    connection.closeSync();
    instance.closeSync();
  }
  expect(new Set([tmpdir(), ...folders]).size).toBe(3);
});
