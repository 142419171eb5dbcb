/** Free questions in SQL over one run, and what may be named in them. Read-only by the lock of store/read-only-sql.ts; one at a time. */
import { z } from "zod";
import type { RunFolder } from "../../store/index.js";
import { askReadOnly, SQL_LIMITS, SQL_LONGEST, type SqlAnswer } from "../../store/read-only-sql.js";
import type { SqlTables } from "../records.js";
import { runViews } from "./rollout-tables.js";
import { Turns } from "./turns.js";

export const sqlQuerySchema = z.strictObject({ sql: z.string().min(1).max(SQL_LONGEST) });

export class SqlQuestions {
  private readonly turns = new Turns();

  /** @throws {InputError} with DuckDB's own words for what it refuses */
  ask(folder: RunFolder, sql: string, signal: AbortSignal): Promise<SqlAnswer> {
    return this.turns.take(async () => {
      signal.throwIfAborted();
      return askReadOnly(await runViews(folder), sql, signal);
    });
  }

  /** The tables with their columns. */
  async tables(folder: RunFolder, signal: AbortSignal): Promise<SqlTables> {
    const views = await runViews(folder);
    const described = await this.turns.take(async () =>
      views.length === 0
        ? []
        : (
            await askReadOnly(
              views,
              "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY column_index",
              signal,
            )
          ).rows,
    );
    return {
      tables: views.map(({ name }) => ({
        name,
        columns: described.filter(([table]) => table === name).map(([, column, type]) => ({ name: String(column), type: String(type) })),
      })),
      limits: SQL_LIMITS,
    };
  }

  async close(): Promise<void> {
    await this.turns.rest();
  }
}
