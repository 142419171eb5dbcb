/** Free SQL over named files: what is answered, and that nothing else can be reached, changed or kept busy. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { InterruptedError } from "../core/index.js";
import { writeParquet } from "./parquet.js";
import { askReadOnly, SQL_LIMITS, type SqlView } from "./read-only-sql.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-sql-"));
const data = join(dir, "it's data.parquet");
const secret = join(dir, "secret.csv");
let views: SqlView[];
beforeAll(async () => {
  await writeParquet(data, z.object({ id: z.string(), n: z.int() }), [
    { id: "a", n: 1 },
    { id: "b", n: 2 },
  ]);
  writeFileSync(secret, "word\nhidden\n");
  views = [{ name: "things", sql: `SELECT * FROM read_parquet('${data.replaceAll("'", "''")}')`, files: [data] }];
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const ask = (sql: string, limits = {}) => askReadOnly(views, sql, undefined, { ...SQL_LIMITS, ...limits });

test("a SELECT over the named tables is answered with its columns, their types and its rows", async () => {
  const { columns, rows, more } = await ask("-- how many\nSELECT id, sum(n) AS total FROM things GROUP BY ALL ORDER BY ALL;");
  expect([columns, rows, more]).toEqual([
    [
      { name: "id", type: "VARCHAR" },
      { name: "total", type: "HUGEINT" },
    ],
    [
      ["a", "1"],
      ["b", "2"],
    ],
    false,
  ]);
  for (const sql of ["WITH t AS (SELECT 1) FROM t", "VALUES (1)", "FROM things", "DESCRIBE things", "SUMMARIZE things"]) {
    expect([sql, (await ask(sql)).rows.length > 0]).toEqual([sql, true]);
  }
});

test("no other file and no network can be reached, by whatever function", async () => {
  const readers = [
    "read_csv",
    "read_text",
    "read_blob",
    "read_json",
    "sniff_csv",
    "read_parquet",
    "parquet_metadata",
    "parquet_schema",
    "glob",
  ];
  const queries = [
    ...readers.flatMap((reader) => ["/etc/passwd", secret, "http://127.0.0.1:9/x.csv"].map((path) => `SELECT * FROM ${reader}('${path}')`)),
    `FROM '${secret}'`,
    `SELECT * FROM query('SELECT * FROM read_csv(''${secret}'')')`,
    `SELECT * FROM glob('${dir}/*')`,
    "SELECT * FROM duckdb_secrets()",
    "SELECT getenv('HOME')",
  ];
  for (const sql of queries) {
    const answer = await ask(sql).catch((error: Error) => error);
    expect([sql, answer]).toEqual([sql, expect.objectContaining({ name: "InputError" })]);
    expect(JSON.stringify(answer), sql).not.toContain("hidden");
  }
});

test("nothing can be written, attached, loaded or set, and only one statement is taken", async () => {
  const before = [readdirSync(dir), readFileSync(data)];
  const escaped = data.replaceAll("'", "''");
  const queries = [
    `ATTACH '${join(dir, "new.db")}'`,
    `COPY things TO '${join(dir, "out.csv")}'`,
    `COPY (SELECT 1) TO '${escaped}' (FORMAT parquet)`,
    `EXPORT DATABASE '${join(dir, "out")}'`,
    "CREATE TABLE t (a INTEGER)",
    "CREATE VIEW v AS SELECT 1",
    "DROP VIEW things",
    "INSERT INTO things VALUES ('c', 3)",
    "DELETE FROM things",
    "UPDATE things SET n = 0",
    "PRAGMA show_tables",
    "PRAGMA threads = 8",
    "/* first */ pragma database_list",
    "SET threads = 8",
    "RESET enable_external_access",
    "SET enable_external_access = true",
    "SET allowed_paths = ['/etc/passwd']",
    "INSTALL httpfs",
    "LOAD httpfs",
    "CALL pragma_version()",
    "EXPLAIN ANALYZE SELECT 1",
    "PREPARE p AS SELECT 1",
    "BEGIN",
    "USE memory",
    "CHECKPOINT",
    "VACUUM",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP VIEW things",
    `SELECT * FROM query('COPY things TO ''${join(dir, "out.csv")}''')`,
  ];
  for (const sql of queries) await expect(ask(sql), sql).rejects.toMatchObject({ name: "InputError" });
  expect([readdirSync(dir), readFileSync(data)]).toEqual(before);
  expect(existsSync(join(dir, "new.db"))).toBe(false);
});

test("the words of a refusal name what is wrong, and where", async () => {
  await expect(ask("SELECT m FROM things")).rejects.toThrow(/"m" not found[\s\S]*LINE 1: SELECT m FROM things/);
  await expect(ask("SELEC 1")).rejects.toThrow(/^Parser Error: syntax error at or near "SELEC"/);
  await expect(ask("SELECT $1")).rejects.toThrow(/parameter/);
  await expect(ask("CREATE TABLE t (a INTEGER)")).rejects.toThrow("CREATE is not answered here");
  await expect(ask("PRAGMA show_tables")).rejects.toThrow("PRAGMA is not answered here");
  await expect(ask("SELECT 1; SELECT 2")).rejects.toThrow("the query has 2 statements");
  for (const sql of ["", "  ", "-- only words", "/* a */ ;"]) await expect(ask(sql), sql).rejects.toThrow("there is no query");
  await expect(ask(`SELECT '${"x".repeat(9000)}'`)).rejects.toThrow(/characters/);
});

test("rows, text, memory and time have their bounds", async () => {
  const many = await ask("SELECT range AS i FROM range(100000)", { rows: 10 });
  expect([many.rows.length, many.rows[9], many.more]).toEqual([10, ["9"], true]);
  expect((await ask("SELECT * FROM range(10)", { rows: 10 })).more).toBe(false);
  expect((await ask("SELECT repeat('x', 1000), [repeat('y', 1000)]", { text: 5 })).rows).toEqual([["xxxxx…", '["yyy…']]);
  await expect(ask("SELECT list(repeat('x', 1000)) FROM range(1000000)")).rejects.toThrow(/^Out of Memory Error: [^\n]*$/);
  // All that is answered is bounded too, and the rows of the order that was asked for come first.
  const wide = await ask("SELECT repeat('x', 10000) AS x, range AS i FROM range(100) ORDER BY i DESC", { text: 100, characters: 1000 });
  expect([wide.rows.length, wide.rows[0]?.[1], wide.more]).toEqual([9, "99", true]);
  await expect(ask("SELECT repeat('x', 10000)", { characters: 1000 })).rejects.toThrow(
    "one row of the answer has more than 1000 characters",
  );
  const start = performance.now();
  await expect(ask("SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", { seconds: 0.2 })).rejects.toThrow(
    "the query was stopped after 0.2 s",
  );
  expect(performance.now() - start).toBeLessThan(10_000);
});

test("values of every kind are as they are where they are short, cut where they are long, and whole where nothing is to be cut", async () => {
  const kinds =
    "[1, NULL] AS l, {'a': 1, 'b': 'x'} AS s, MAP {'k': 2} AS m, NULL AS n, NULL::INT[] AS nl, 1.5 AS d, true AS t, DATE '2020-01-02' AS day";
  const { rows } = await ask(`SELECT ${kinds}`);
  expect(rows).toEqual([[[1, null], { a: 1, b: "x" }, [{ key: "k", value: 2 }], null, null, "1.5", true, "2020-01-02"]]);
  expect((await ask(`SELECT ${kinds}`, { text: Number.POSITIVE_INFINITY })).rows).toEqual(rows);
  const long = "SELECT 'é' || repeat('y', 5000) AS a, 2 AS a, repeat('z', 5000)::BLOB AS b, {'k': repeat('w', 5000)} AS s -- to its end;";
  const cut = await ask(long, { text: 10 });
  expect(cut.columns.map(({ name }) => name)).toEqual(["a", "a", "b", "s"]);
  expect(cut.rows).toEqual([["éyyyyyyyyy…", 2, "zzzzzzzzzz…", '{"k":"wwww…']]);
  const whole = await ask(long, { text: Number.POSITIVE_INFINITY, characters: Number.POSITIVE_INFINITY });
  expect(whole.rows).toEqual([[`é${"y".repeat(5000)}`, 2, "z".repeat(5000), { k: "w".repeat(5000) }]]);
  // The pointer into the query around it is left out.
  await expect(ask("SELECT id::INTEGER FROM things")).rejects.toThrow(/^Conversion Error: (?![\s\S]*LINE)/);
});

test("a reader who goes ends the query, also one who has gone before it began", async () => {
  for (const after of [0, 200]) {
    const gone = new AbortController();
    if (after === 0) gone.abort();
    else setTimeout(() => gone.abort(), after);
    const asked = askReadOnly(views, "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", gone.signal);
    await expect(asked, `${after} ms`).rejects.toBeInstanceOf(InterruptedError);
  }
});

test("a time that is over before the query begins ends it, and one of months does not", async () => {
  const endless = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b";
  await expect(ask(endless, { seconds: 0 })).rejects.toThrow("the query was stopped after 0 s");
  expect((await ask("SELECT count(*) FROM range(20000) a, range(20000) b WHERE a.range < b.range", { seconds: 3e6 })).rows).toEqual([
    ["199990000"],
  ]);
});
