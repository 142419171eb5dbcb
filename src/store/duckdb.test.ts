import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { openDuckDB } from "./duckdb.js";

test("two databases that do not fit into memory at once keep apart what they write to disk, and leave nothing there", async () => {
  const open = async (seed: number) => {
    const { connection, close } = await openDuckDB();
    const first = async (sql: string) => (await connection.runAndReadAll(sql)).getRows()[0]![0];
    await connection.run("SET memory_limit = '30MB'");
    const text = (n: string) => `concat_ws('-', hash(${n} + ${seed}), hash(${n} + ${seed + 1}), hash(${n} + ${seed + 2}))`;
    await connection.run(`CREATE TABLE t AS SELECT range AS n, ${text("range")} AS text FROM range(600000)`);
    const folder = String(await first("SELECT current_setting('temp_directory')"));
    return { close, folder, right: () => first(`SELECT count(*)::INTEGER FROM t WHERE text = ${text("n")}`) };
  };
  const [one, other] = [await open(0), await open(10)];
  const folders = [one.folder, other.folder];
  expect(new Set(folders).size).toBe(2);
  expect(folders.map(existsSync)).toEqual([true, true]);
  expect(await other.right()).toBe(600_000);
  other.close();
  expect(await one.right()).toBe(600_000);
  one.close();
  expect(folders.map(existsSync)).toEqual([false, false]);
});
