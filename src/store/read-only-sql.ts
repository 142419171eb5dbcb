/**
 * One question in SQL, asked by a person, over files that are named beforehand: a DuckDB of its own that can read those files and nothing else.
 * One SELECT at a time; no other file, no network, no extension, no setting, nothing written, not even a spill to disk. Rows, text and time
 * are bounded, so that a question asked in error ends by itself.
 *
 * The lock is DuckDB's own (`allowed_paths`, `enable_external_access = false`, `lock_configuration = true`); the kind of statement is read
 * from its parser, never from the text.
 */
import { DuckDBInstance, type DuckDBPreparedStatement, type DuckDBResultReader, type Json, StatementType } from "@duckdb/node-api";
import { InputError } from "../core/index.js";

/** A table that the question may name. */
export interface SqlView {
  name: string;
  /** A SELECT over `files`. */
  sql: string;
  /** Absolute paths. */
  files: readonly string[];
}

export interface SqlAnswer {
  columns: { name: string; type: string }[];
  rows: Json[][];
  /** Whether there were more rows than the limit. */
  more: boolean;
  milliseconds: number;
}

export interface SqlLimits {
  /** Rows at most. */
  rows: number;
  /** Characters of one value at most; longer ones end in "…". */
  text: number;
  seconds: number;
}
export const SQL_LIMITS: SqlLimits = { rows: 500, text: 2000, seconds: 10 };

/** Longest question, in characters. */
export const SQL_LONGEST = 4000;
/** Of the engine's buffers. What does not fit is refused: spilling would write. */
const MEMORY = "256MB";
/** Milliseconds between two looks at the time and at the reader. */
const LOOK_EVERY = 50;

/**
 * @param signal ends the query when the reader has gone
 * @throws {InputError} for what is no single SELECT, for SQL that DuckDB refuses (its own words), and for one that takes too long
 */
export async function askReadOnly(
  views: readonly SqlView[],
  sql: string,
  signal?: AbortSignal,
  limits: SqlLimits = SQL_LIMITS,
): Promise<SqlAnswer> {
  const start = performance.now();
  if (sql.length > SQL_LONGEST) throw refused(`the query has ${sql.length} characters`, sql.slice(0, 80), `at most ${SQL_LONGEST}`);
  if (/^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|;)*$/.test(sql)) throw refused("there is no query", sql, "one SELECT");
  const instance = await DuckDBInstance.create(":memory:", {
    threads: "2",
    memory_limit: MEMORY,
    temp_directory: "",
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
  });
  const connection = await instance.connect();
  let late = false;
  // Again and again: an interrupt that comes between two statements is lost, and so is a signal that was aborted before.
  const watch = setInterval(() => {
    late ||= performance.now() - start > 1000 * limits.seconds;
    if (late || signal?.aborted) connection.interrupt();
  }, LOOK_EVERY);
  try {
    for (const { name, sql: select } of views) await connection.run(`CREATE VIEW ${name} AS ${select}`);
    const paths = views.flatMap(({ files }) => files).map(sqlText);
    await connection.run(`SET allowed_paths = [${paths.join(", ")}]; SET enable_external_access = false; SET lock_configuration = true`);
    const statements = await connection.extractStatements(sql);
    if (statements.count !== 1) throw refused(`the query has ${statements.count} statements`, sql, "one SELECT");
    const statement = await statements.prepare(0);
    refuseAllButSelect(statement, sql);
    const reader = await statement.streamAndReadUntil(limits.rows + 1);
    return { ...answerOf(reader, limits), milliseconds: Math.round(performance.now() - start) };
  } catch (error) {
    if (error instanceof InputError) throw error;
    if (late) throw refused(`the query was stopped after ${limits.seconds} s`, sql, "a query that reads or joins less");
    throw refused(wordsOf(error), sql, `SQL of DuckDB over ${views.map(({ name }) => name).join(", ")}`, error);
  } finally {
    clearInterval(watch);
    connection.closeSync();
    instance.closeSync();
  }
}

/** A value as it stands in SQL. */
export function sqlText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** PRAGMA is rewritten to SELECT by the parser where it only lists; it is refused all the same, so that the rule is one sentence. */
function refuseAllButSelect(statement: DuckDBPreparedStatement, sql: string): void {
  const { statementType } = statement;
  const first = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/|;)*(\w*)/.exec(sql)?.[1]?.toUpperCase();
  if (statementType === StatementType.SELECT && first !== "PRAGMA") return;
  const kind = first === "PRAGMA" ? first : StatementType[statementType];
  throw refused(`${kind ?? "this"} is not answered here`, sql, "one SELECT (also WITH, FROM, VALUES, DESCRIBE, SUMMARIZE)");
}

function answerOf(reader: DuckDBResultReader, limits: SqlLimits): Omit<SqlAnswer, "milliseconds"> {
  const names = reader.columnNames();
  const types = reader.columnTypes().map(String);
  const rows = reader.getRowsJson();
  return {
    columns: names.map((name, i) => ({ name, type: types[i]! })),
    rows: rows.slice(0, limits.rows).map((row) => row.map((value) => bounded(value, limits.text))),
    more: rows.length > limits.rows,
  };
}

function bounded(value: Json, most: number): Json {
  if (value === null || typeof value === "boolean" || typeof value === "number") return value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= most ? value : `${text.slice(0, most)}…`;
}

/** DuckDB's message with the line that it points at. */
function wordsOf(error: unknown): string {
  const words = String((error as Error).message)
    .replace(/^Failed to extract statements: /, "")
    .trim();
  // Its advice for this case is to set what is locked here.
  const text = words.startsWith("Out of Memory") ? words.split("\n", 1)[0]! : words;
  return text.length <= 1000 ? text : `${text.slice(0, 1000)}…`;
}

function refused(message: string, value: string, expected: string, cause?: unknown): InputError {
  return new InputError({ message, value, expected, remedy: `ask with ${expected}`, ...(cause === undefined ? {} : { cause }) });
}
