/** Free SQL in a process of its own: the same answers and refusals, and what it costs is not paid here. */
import { expect, test } from "vitest";
import type { InputError } from "../core/index.js";
import { askReadOnly, SQL_LIMITS } from "./read-only-sql.js";
import { askInProcess } from "./sql-process.js";

const TIMEOUT = 120_000;
const reader = new AbortController().signal;
const views = [{ name: "things", sql: "SELECT range AS n FROM range(3)", files: [] }];
const ENDLESS = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b";

test("answers and refusals are those of the same query here", { timeout: TIMEOUT }, async () => {
  const { milliseconds: _, ...answer } = await askReadOnly(views, "FROM things ORDER BY n DESC");
  expect(await askInProcess(views, "FROM things ORDER BY n DESC", reader)).toMatchObject(answer);
  const words = (error: InputError): string[] => [error.name, error.explain()];
  const refusal = await askReadOnly(views, "SELECT m FROM things").then(() => [], words);
  expect(refusal[1]).toContain('"m" not found');
  expect(await askInProcess(views, "SELECT m FROM things", reader).then(() => [], words)).toEqual(refusal);
});

test("an answer of 600 million characters is cut to what is shown, outside of this process", { timeout: TIMEOUT }, async () => {
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 10);
  const before = process.memoryUsage.rss();
  const { rows } = await askInProcess(views, "SELECT repeat('x', 20000000) FROM range(30)", reader, { ...SQL_LIMITS, seconds: 60 });
  clearInterval(watch);
  expect([rows.length, rows[0]]).toEqual([30, [`${"x".repeat(SQL_LIMITS.text)}…`]]);
  expect(most - before).toBeLessThan(100 * 2 ** 20);
});

test("a query that builds more than its process may hold is stopped, and says so", { timeout: TIMEOUT }, async () => {
  const large = "SELECT repeat('x', 100000000) || range FROM range(2000)";
  const asked = askInProcess(views, large, reader, { ...SQL_LIMITS, seconds: 60 }, 400);
  await expect(asked).rejects.toMatchObject({ name: "InputError", message: expect.stringContaining("more than 400 MiB of memory") });
});

test("time that is over and a reader who goes end the process", { timeout: TIMEOUT }, async () => {
  await expect(askInProcess(views, ENDLESS, reader, { ...SQL_LIMITS, seconds: 0.2 })).rejects.toThrow("the query was stopped after 0.2 s");
  const gone = new AbortController();
  const asked = askInProcess(views, ENDLESS, gone.signal, { ...SQL_LIMITS, seconds: 3600 });
  setTimeout(() => gone.abort(), 500);
  await expect(asked).rejects.toMatchObject({ name: "InterruptedError" });
  await expect(askInProcess(views, ENDLESS, gone.signal)).rejects.toMatchObject({ name: "InterruptedError" });
});
