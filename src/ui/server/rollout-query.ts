/**
 * Rollouts of a run by filter, with DuckDB over its Parquet files. Every filter is data: it becomes one condition with a bound value, and the
 * same conditions over the Parquet files, with the values written in, are shown to the user. No SQL of the user's is ever run.
 */
import { existsSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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

type Query = (sql: string, values?: readonly DuckDBValue[]) => Promise<Record<string, unknown>[]>;

/** Tables kept at once: one run in two sets, or two runs. */
const KEPT = 2;

/**
 * One DuckDB for all queries of a server: its threads and memory are bounded, and it never downloads an extension. What the list shows of a
 * run's rollouts is copied into a table when it is first asked for, and files that are new since are added: a filter then takes milliseconds.
 */
export class RolloutQueries {
  private readonly tables = new Map<string, { name: string; files: Map<string, string> }>();
  private made = 0;
  private opening: Promise<{ instance: DuckDBInstance; connection: DuckDBConnection }> | undefined;
  private turn: Promise<unknown> = Promise.resolve();

  /**
   * Asks a table that has the rows of these files, by `select` for each. A file that has changed makes the table begin anew. All of it is
   * one turn: requests wait for each other, so that ten open pages use the memory of one and none loses the table that it reads.
   */
  over<T>(
    key: string,
    paths: readonly string[],
    select: (path: string) => string,
    ask: (table: string, query: Query) => Promise<T>,
  ): Promise<T> {
    const result = this.turn.then(async () => {
      this.opening ??= openBounded();
      const { connection } = await this.opening;
      const query: Query = async (sql, values = []) => {
        const reader = await connection.runAndReadAll(sql, [...values]);
        return reader.getRowObjectsJson() as Record<string, unknown>[];
      };
      return ask(await this.table(query, key, paths, select), query);
    });
    this.turn = result.catch(() => {});
    return result;
  }

  private async table(query: Query, key: string, paths: readonly string[], select: (path: string) => string): Promise<string> {
    const marks = new Map(paths.map((path) => [path, String(statSync(path).mtimeMs)]));
    let table = this.tables.get(key);
    if (table !== undefined && [...table.files].some(([path, mark]) => marks.get(path) !== mark)) {
      await this.drop(query, key);
      table = undefined;
    }
    if (table === undefined) {
      table = { name: `rollouts_${++this.made}`, files: new Map() };
      await query(`CREATE TABLE ${table.name} (${COLUMNS})`);
    }
    this.tables.delete(key);
    this.tables.set(key, table);
    for (const oldest of [...this.tables.keys()].slice(0, -KEPT)) await this.drop(query, oldest);
    for (const [path, mark] of marks) {
      if (table.files.has(path)) continue;
      await query(`INSERT INTO ${table.name} ${select(path)}`);
      // Only now: a file that could not be read is tried again by the next request.
      table.files.set(path, mark);
    }
    return table.name;
  }

  private async drop(query: Query, key: string): Promise<void> {
    const table = this.tables.get(key);
    this.tables.delete(key);
    if (table !== undefined) await query(`DROP TABLE IF EXISTS ${table.name}`);
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
const files = (paths: readonly string[], options = ""): string => `read_parquet([${paths.map(text).join(", ")}]${options})`;

const COLUMNS =
  "id VARCHAR, instance VARCHAR, stage INTEGER, step INTEGER, sample INTEGER, stratum VARCHAR, agents INTEGER, code VARCHAR, reward DOUBLE, tokens INTEGER, optimal BOOLEAN, failure VARCHAR, place BIGINT";

/** What the list shows of the rollouts in these files. `boards`: the files of their instances, where those have agents. */
function listed(rollouts: readonly string[], boards: readonly string[], objective: string): string {
  const join = boards.length === 0 ? "" : `\n  LEFT JOIN ${files(boards)} b ON b.id = r.instance`;
  return `SELECT r.id, r.instance, r.stage::INTEGER AS stage, r.step::INTEGER AS step, r.sample::INTEGER AS sample, r.stratum,
    ${boards.length === 0 ? "NULL::INTEGER" : "len(b.agents)::INTEGER"} AS agents, coalesce(r.verdict.code, 'no verdict') AS code, r.reward.total AS reward,
    r.tokens::INTEGER AS tokens, r.verdict.optimal[${text(objective)}] AS optimal, r.failure.message AS failure, r.file_row_number AS place
  FROM ${files(rollouts, ", file_row_number = true")} r${join}`;
}

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
  const paths = await rolloutFiles(folder, filter.set);
  if (paths.rollouts.length === 0) return { rows: [], total: 0, codes: {}, sql: "", milliseconds: 0 };
  const instances = boards ? paths.boards : [];
  const select = (path: string): string => {
    const own = filter.set === "training" ? instances.filter((board) => dirname(board) === dirname(path)) : instances;
    return listed([path], own, objective);
  };
  const conditions = conditionsOf(filter, boards);
  const where = (of: readonly string[]): string => (of.length === 0 ? "" : `\nWHERE ${of.join("\n  AND ")}`);
  const bound = where(conditions.map((c, i) => c.sql(`$${i + 1}`)));
  const values = conditions.map((c) => c.value);
  const { direction } = filter;
  const order =
    filter.order === "id" ? `stage ${direction}, step ${direction}, place` : `${filter.order} ${direction} NULLS LAST, stage, place`;
  const page = `ORDER BY ${order}\nLIMIT ${filter.limit} OFFSET ${filter.offset}`;
  const { counts, rows } = await queries.over(`${filter.set} ${folder.dir}`, paths.rollouts, select, async (table, query) => ({
    counts: await query(`SELECT code, count(*)::INTEGER AS n FROM ${table}${bound} GROUP BY 1 ORDER BY 2 DESC, 1`, values),
    rows: await query(`SELECT * EXCLUDE (instance, place) FROM ${table}${bound} ${page}`, values),
  }));
  const codes = Object.fromEntries(counts.map((row) => [String(row.code), Number(row.n)]));
  const written = where(conditions.map((c) => c.sql(typeof c.value === "string" ? text(c.value) : String(c.value))));
  return {
    rows: rows as unknown as RolloutRow[],
    total: Object.values(codes).reduce((a, b) => a + b, 0),
    codes,
    sql: `WITH rollouts AS (\n  ${listed(paths.rollouts, instances, objective)})\nSELECT * FROM rollouts${written}\n${page};`,
    milliseconds: Math.round(performance.now() - start),
  };
}

function conditionsOf(filter: RolloutFilter, boards: boolean): Condition[] {
  const conditions: Condition[] = [];
  const oneOf = (column: string, values: readonly (string | number)[] | undefined): void => {
    if (values === undefined || values.length === 0) return;
    // A list as one bound value would need its type declared; as text it is one value whatever its length.
    conditions.push({ sql: (v) => `list_contains(string_split(${v}, ','), ${column}::VARCHAR)`, value: values.join(",") });
  };
  oneOf("stage", filter.stage);
  oneOf("stratum", filter.size);
  if (boards) oneOf("agents", filter.agents);
  oneOf("code", filter.code);
  if (filter.reward_min !== undefined) conditions.push({ sql: (v) => `reward >= ${v}`, value: filter.reward_min });
  if (filter.reward_max !== undefined) conditions.push({ sql: (v) => `reward <= ${v}`, value: filter.reward_max });
  if (filter.instance !== undefined) conditions.push({ sql: (v) => `instance = ${v}`, value: filter.instance });
  return conditions;
}
