/**
 * Tables of rollouts in memory, so that a filter takes milliseconds. What the list shows of a run's rollouts is copied when it is first asked
 * for, and files that are new since are added. One DuckDB for all of a server: its threads and memory are bounded, and it never downloads an
 * extension.
 */
import { statSync } from "node:fs";
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from "@duckdb/node-api";
import { spillFolder } from "../../store/duckdb.js";
import { LISTED } from "./rollout-tables.js";
import { Turns } from "./turns.js";

export type Query = (sql: string, values?: readonly DuckDBValue[]) => Promise<Record<string, unknown>[]>;

interface OpenDuckDB {
  instance: DuckDBInstance;
  connection: DuckDBConnection;
}

/** Tables kept at once: one run in two sets, or two runs. */
const KEPT = 2;

export class RolloutQueries {
  private readonly tables = new Map<string, { name: string; files: Map<string, string> }>();
  private readonly turns = new Turns();
  private made = 0;
  private open: OpenDuckDB | undefined;

  /** @param start opens the database; another one only in tests */
  constructor(private readonly start: () => Promise<OpenDuckDB> = openBounded) {}

  /**
   * Asks a table that has the rows of these files, by `select` for each. A file that has changed makes the table begin anew. All of it is
   * one turn: requests wait for each other, so that none loses the table that it reads.
   */
  over<T>(
    key: string,
    paths: readonly string[],
    select: (path: string) => string,
    ask: (table: string, query: Query) => Promise<T>,
  ): Promise<T> {
    return this.turns.take(async () => {
      // Kept only once it is open: after a failure the next request tries again.
      this.open ??= await this.start();
      const { connection } = this.open;
      const query: Query = async (sql, values = []) => {
        const reader = await connection.runAndReadAll(sql, [...values]);
        return reader.getRowObjectsJson() as Record<string, unknown>[];
      };
      return ask(await this.table(query, key, paths, select), query);
    });
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
      await query(`CREATE TABLE ${table.name} (${LISTED})`);
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
    await this.turns.rest();
    this.open?.connection.closeSync();
    this.open?.instance.closeSync();
    this.open = undefined;
  }
}

export async function openBounded(): Promise<OpenDuckDB> {
  const instance = await DuckDBInstance.create(":memory:", {
    threads: "2",
    memory_limit: "200MB",
    temp_directory: spillFolder(),
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
  });
  const connection = await instance.connect();
  await connection.run("SET parquet_metadata_cache = true; SET lock_configuration = true");
  return { instance, connection };
}
