/**
 * Rollouts of a run by filter, with DuckDB over its Parquet files. Every filter is data: it becomes one condition with a bound value, and the
 * same text with the value written in is shown to the user. No SQL of the user's is ever run.
 */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from "@duckdb/node-api";
import { z } from "zod";
import type { RunFolder } from "../../store/index.js";
import type { RolloutPage, RolloutRow, RolloutSet } from "../records.js";

const list = z
  .string()
  .max(400)
  .transform((text) => text.split(",").filter((t) => t !== ""));

const numbers = list.transform((texts) => texts.map(Number)).pipe(z.array(z.int().nonnegative()));

/** The query string of the rollouts view. */
export const rolloutFilterSchema = z.strictObject({
  set: z.enum(["training", "validation"]).default("validation"),
  stage: numbers.optional(),
  size: list.optional(),
  agents: numbers.optional(),
  code: list.optional(),
  reward_min: z.coerce.number().optional(),
  reward_max: z.coerce.number().optional(),
  instance: z.string().max(200).optional(),
  order: z.enum(["id", "reward", "tokens"]).default("id"),
  direction: z.enum(["asc", "desc"]).default("asc"),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  offset: z.coerce.number().int().min(0).default(0),
});
export type RolloutFilter = z.infer<typeof rolloutFilterSchema>;

/** One DuckDB for all queries of a server: its thread and memory are bounded, and it never downloads an extension. */
export class RolloutQueries {
  private opening: Promise<{ instance: DuckDBInstance; connection: DuckDBConnection }> | undefined;
  private turn: Promise<unknown> = Promise.resolve();

  /** Queries wait for each other, so that ten open pages use the memory of one. */
  run(sql: string, values: readonly DuckDBValue[] = []): Promise<Record<string, unknown>[]> {
    const result = this.turn.then(async () => {
      this.opening ??= openBounded();
      const { connection } = await this.opening;
      const reader = await connection.runAndReadAll(sql, [...values]);
      return reader.getRowObjectsJson() as Record<string, unknown>[];
    });
    this.turn = result.catch(() => {});
    return result;
  }

  async close(): Promise<void> {
    await this.turn;
    const open = await this.opening?.catch(() => undefined);
    open?.connection.closeSync();
    open?.instance.closeSync();
    this.opening = undefined;
  }
}

async function openBounded(): Promise<{ instance: DuckDBInstance; connection: DuckDBConnection }> {
  const instance = await DuckDBInstance.create(":memory:", {
    threads: "2",
    memory_limit: "200MB",
    temp_directory: tmpdir(),
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
  });
  const connection = await instance.connect();
  await connection.run("SET parquet_metadata_cache = true; SET lock_configuration = true");
  return { instance, connection };
}

/** Paths of one set's rollouts and of the instances they answer; only those that are there. */
export async function rolloutFiles(
  folder: RunFolder,
  set: RolloutSet,
  only?: readonly number[],
): Promise<{ rollouts: string[]; boards: string[] }> {
  const name = set === "training" ? "rollouts.parquet" : "validation-rollouts.parquet";
  const stages = (await folder.stages()).filter((stage) => only === undefined || only.length === 0 || only.includes(stage));
  const rollouts = stages.map((stage) => folder.path(stage, name)).filter((path) => existsSync(path));
  const boards = set === "training" ? stages.map((stage) => folder.path(stage, "train.parquet")) : [join(folder.dir, "validation.parquet")];
  return { rollouts, boards: boards.filter((path) => existsSync(path)) };
}

const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;
const files = (paths: readonly string[]): string => `read_parquet([${paths.map(text).join(", ")}])`;

interface Condition {
  sql: (value: string) => string;
  value: DuckDBValue;
}

/** @param boards whether instances have agents, so that they can be filtered by their number */
export async function queryRollouts(
  queries: RolloutQueries,
  folder: RunFolder,
  filter: RolloutFilter,
  objective: string,
  boards: boolean,
): Promise<RolloutPage> {
  const start = performance.now();
  const paths = await rolloutFiles(folder, filter.set, filter.stage);
  if (paths.rollouts.length === 0) return { rows: [], total: 0, codes: {}, sql: "", milliseconds: 0 };
  const joined = boards && paths.boards.length > 0;
  const conditions = conditionsOf(filter, joined);
  const shown = (c: Condition): string => c.sql(typeof c.value === "string" ? text(c.value) : String(c.value));
  const where = (of: readonly string[]): string => (of.length === 0 ? "" : `\nWHERE ${of.join("\n  AND ")}`);
  const bound = where(conditions.map((c, i) => c.sql(`$${i + 1}`)));
  const values = conditions.map((c) => c.value);
  // Counting needs the instances only where a condition speaks of them.
  const withBoards = `\nLEFT JOIN ${files(paths.boards)} b ON b.id = r.instance`;
  const from = (join: boolean): string => `\nFROM ${files(paths.rollouts)} r${join ? withBoards : ""}`;
  const counts = await queries.run(
    `SELECT coalesce(r.verdict.code, 'no verdict') AS code, count(*)::INTEGER AS n${from(joined && filter.agents !== undefined)}${bound}\nGROUP BY 1 ORDER BY 2 DESC, 1`,
    values,
  );
  const codes = Object.fromEntries(counts.map((row) => [String(row.code), Number(row.n)]));
  const order =
    filter.order === "id"
      ? `r.stage ${filter.direction}, r.step ${filter.direction}, r.file_row_number`
      : `${filter.order === "reward" ? "r.reward.total" : "r.tokens"} ${filter.direction} NULLS LAST, r.stage, r.file_row_number`;
  const select = (join: boolean): string =>
    `SELECT r.id, r.stage::INTEGER AS stage, r.step::INTEGER AS step, r.sample::INTEGER AS sample, r.stratum, ${join ? "len(b.agents)::INTEGER" : "NULL"} AS agents,
  r.verdict.code AS code, r.reward.total AS reward, r.tokens::INTEGER AS tokens, r.verdict.optimal[${text(objective)}] AS optimal, r.failure.message AS failure`;
  const page = (condition: string): string =>
    `${select(joined)}${from(joined).replace(/read_parquet\((\[.*?\])\) r/, "read_parquet($1, file_row_number = true) r")}${condition}\nORDER BY ${order}\nLIMIT ${filter.limit} OFFSET ${filter.offset}`;
  const rows = await queries.run(page(bound), values);
  return {
    rows: rows as unknown as RolloutRow[],
    total: Object.values(codes).reduce((a, b) => a + b, 0),
    codes,
    sql: `${page(where(conditions.map(shown)))};`,
    milliseconds: Math.round(performance.now() - start),
  };
}

function conditionsOf(filter: RolloutFilter, joined: boolean): Condition[] {
  const conditions: Condition[] = [];
  const oneOf = (column: string, values: readonly (string | number)[] | undefined): void => {
    if (values === undefined || values.length === 0) return;
    // A list as one bound value would need its type declared; as text it is one value whatever its length.
    conditions.push({ sql: (v) => `list_contains(string_split(${v}, ','), ${column}::VARCHAR)`, value: values.join(",") });
  };
  oneOf("r.stage", filter.stage);
  oneOf("r.stratum", filter.size);
  if (joined) oneOf("len(b.agents)", filter.agents);
  oneOf("coalesce(r.verdict.code, 'no verdict')", filter.code);
  if (filter.reward_min !== undefined) conditions.push({ sql: (v) => `r.reward.total >= ${v}`, value: filter.reward_min });
  if (filter.reward_max !== undefined) conditions.push({ sql: (v) => `r.reward.total <= ${v}`, value: filter.reward_max });
  if (filter.instance !== undefined) conditions.push({ sql: (v) => `r.instance = ${v}`, value: filter.instance });
  return conditions;
}
