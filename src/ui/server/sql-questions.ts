/**
 * Free questions in SQL over one run, and what may be named in them. Read-only by the lock of store/read-only-sql.ts, each in a process of
 * its own (store/sql-process.ts), one at a time.
 */
import { z } from "zod";
import { BoundaryError } from "../../core/index.js";
import type { RunFolder } from "../../store/index.js";
import { SQL_LIMITS, SQL_LONGEST, type SqlAnswer } from "../../store/read-only-sql.js";
import { askInProcess } from "../../store/sql-process.js";
import type { SqlTables } from "../records.js";
import { runViews } from "./rollout-tables.js";
import { Turns } from "./turns.js";

export const sqlQuerySchema = z.strictObject({ sql: z.string().min(1).max(SQL_LONGEST) });

/** Questions that may wait for the one that is answered. */
const MOST_WAITING = 8;

/** Refused because enough of them wait already; the same question may be asked again. */
export class BusyError extends BoundaryError {
  constructor(waiting: number) {
    super({ boundary: "sql", message: `${waiting} queries are waiting already`, remedy: "ask again when they have been answered" });
  }
}

export class SqlQuestions {
  private readonly turns = new Turns();
  private taken = 0;

  /** @throws {InputError} with DuckDB's own words for what it refuses @throws {BusyError} */
  ask(folder: RunFolder, sql: string, signal: AbortSignal): Promise<SqlAnswer> {
    return this.turn(async () => askInProcess(await runViews(folder), sql, signal));
  }

  /** The tables with their columns. @throws {BusyError} */
  async tables(folder: RunFolder, signal: AbortSignal): Promise<SqlTables> {
    const views = await runViews(folder);
    const columns = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY column_index";
    const described = views.length === 0 ? [] : (await this.turn(() => askInProcess(views, columns, signal))).rows;
    return {
      tables: views.map(({ name }) => ({
        name,
        columns: described.filter(([table]) => table === name).map(([, column, type]) => ({ name: String(column), type: String(type) })),
      })),
      limits: SQL_LIMITS,
    };
  }

  private async turn<T>(task: () => Promise<T>): Promise<T> {
    if (this.taken > MOST_WAITING) throw new BusyError(MOST_WAITING);
    this.taken++;
    try {
      return await this.turns.take(task);
    } finally {
      this.taken--;
    }
  }

  async close(): Promise<void> {
    await this.turns.rest();
  }
}
