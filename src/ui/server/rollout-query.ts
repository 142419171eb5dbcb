/**
 * Rollouts of a run by filter, with DuckDB over its Parquet files. Every filter is data: it becomes conditions with bound values, and the same
 * conditions with the values written in are shown to the user, as a query that the page answers too (sql-questions.ts).
 */
import type { DuckDBValue } from "@duckdb/node-api";
import { z } from "zod";
import type { RunFolder } from "../../store/index.js";
import { sqlText } from "../../store/read-only-sql.js";
import type { RolloutPage, RolloutRow } from "../records.js";
import type { RolloutQueries } from "./kept-tables.js";
import { listedSql, ofSet, oneFile, rolloutSource } from "./rollout-tables.js";

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

const ROW = "id, stage, step, sample, stratum, agents, code, reward, tokens, optimal, failure";

export async function queryRollouts(queries: RolloutQueries, folder: RunFolder, filter: RolloutFilter): Promise<RolloutPage> {
  const start = performance.now();
  const source = await rolloutSource(folder, filter.set);
  if (source.rollouts.length === 0) return { rows: [], total: 0, codes: {}, sql: "", view: "", milliseconds: 0 };
  const values: DuckDBValue[] = [];
  const bound = where(conditionsOf(filter, source.boards.length > 0, (value) => `$${values.push(value)}`));
  const written = where([
    `set = ${sqlText(filter.set)}`,
    ...conditionsOf(filter, source.boards.length > 0, (value) => (typeof value === "string" ? sqlText(value) : String(value))),
  ]);
  const { direction } = filter;
  const order =
    filter.order === "id" ? `stage ${direction}, step ${direction}, place` : `${filter.order} ${direction} NULLS LAST, stage, place`;
  const page = `\nORDER BY ${order}\nLIMIT ${filter.limit} OFFSET ${filter.offset}`;
  const select = (path: string): string => listedSql(oneFile(source, path));
  const { counts, rows } = await queries.over(`${filter.set} ${folder.dir}`, source.rollouts, select, async (table, query) => ({
    counts: await query(`SELECT code, count(*)::INTEGER AS n FROM ${table}${bound} GROUP BY 1 ORDER BY 2 DESC, 1`, values),
    rows: await query(`SELECT ${ROW} FROM ${table}${bound}${page}`, values),
  }));
  const codes = Object.fromEntries(counts.map((row) => [String(row.code), Number(row.n)]));
  return {
    rows: rows as unknown as RolloutRow[],
    total: Object.values(codes).reduce((a, b) => a + b, 0),
    codes,
    sql: `SELECT set, ${ROW}\nFROM rollouts${written}${page}`,
    view: `CREATE VIEW rollouts AS\n${ofSet(filter.set, listedSql(source))};`,
    milliseconds: Math.round(performance.now() - start),
  };
}

const where = (conditions: readonly string[]): string => (conditions.length === 0 ? "" : `\nWHERE ${conditions.join("\n  AND ")}`);

/** @param value how a value stands in the text: bound or written @param boards whether instances have agents to be filtered by their number */
function conditionsOf(filter: RolloutFilter, boards: boolean, value: (v: string | number) => string): string[] {
  const conditions: string[] = [];
  const oneOf = (column: string, values: readonly (string | number)[] | undefined): void => {
    if (values !== undefined && values.length > 0) conditions.push(`${column} IN (${values.map(value).join(", ")})`);
  };
  oneOf("stage", filter.stage);
  oneOf("stratum", filter.size);
  if (boards) oneOf("agents", filter.agents);
  oneOf("code", filter.code);
  if (filter.reward_min !== undefined) conditions.push(`reward >= ${value(filter.reward_min)}`);
  if (filter.reward_max !== undefined) conditions.push(`reward <= ${value(filter.reward_max)}`);
  if (filter.instance !== undefined) conditions.push(`instance = ${value(filter.instance)}`);
  return conditions;
}
