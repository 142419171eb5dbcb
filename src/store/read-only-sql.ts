/**
 * One question in SQL, asked by a person, over files that are named beforehand: a DuckDB of its own that can read those files and nothing else.
 * One SELECT at a time; no other file, no network, no extension, no setting, nothing written, not even a spill to disk. Rows, text and time
 * are bounded, so that a question asked in error ends by itself. Long values are cut by DuckDB before they are read; what its functions
 * build on the way there is outside of its memory limit, so a server asks in a process of its own (sql-process.ts).
 *
 * The lock is DuckDB's own (`allowed_paths`, `enable_external_access = false`, `lock_configuration = true`); the kind of statement is read
 * from its parser, never from the text.
 */
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  DuckDBTypeId,
  type Json,
  JsonDuckDBValueConverter,
  StatementType,
} from "@duckdb/node-api";
import { InputError, InterruptedError } from "../core/errors.js";

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
  /** Characters of one value at most; longer ones end in "…". Infinity cuts none. */
  text: number;
  /** Characters of all values together at most; the rows after them are left out, as those beyond `rows`. */
  characters: number;
  seconds: number;
}
export const SQL_LIMITS: SqlLimits = { rows: 500, text: 2000, characters: 4_000_000, seconds: 10 };

/** Longest question, in characters. */
export const SQL_LONGEST = 4000;
/** Of the engine's buffers. What does not fit is refused: spilling would write. */
const MEMORY = "256MB";
/** Milliseconds between two looks at the time and at the reader. */
const LOOK_EVERY = 50;

/**
 * @param signal ends the query when the reader has gone
 * @throws {InputError} for what is no single SELECT, for SQL that DuckDB refuses (its own words), and for one that takes too long
 * @throws {InterruptedError} by the signal
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
    if (statement.parameterCount > 0)
      throw refused("the query has parameters, and there are no values for them", sql, "values in the query itself");
    const columns = Array.from({ length: statement.columnCount }, (_, i) => ({
      name: statement.columnName(i),
      type: String(statement.columnType(i)),
    }));
    const cut = Number.isFinite(limits.text) ? cutting(statement, sql, limits) : undefined;
    const { rows, more } = await rowsOf(connection, statement, cut, sql, limits);
    return { columns, rows, more, milliseconds: Math.round(performance.now() - start) };
  } catch (error) {
    if (error instanceof InputError) throw error;
    if (signal?.aborted) throw new InterruptedError({ message: "the query was interrupted" });
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

/** Types whose values have no bound of their own, told by their text. The rest of them (numbers, dates, truth) is short. */
const TEXTS: ReadonlySet<DuckDBTypeId> = new Set([DuckDBTypeId.VARCHAR, DuckDBTypeId.BLOB, DuckDBTypeId.BIT, DuckDBTypeId.BIGNUM]);
const NESTED: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.LIST,
  DuckDBTypeId.ARRAY,
  DuckDBTypeId.STRUCT,
  DuckDBTypeId.MAP,
  DuckDBTypeId.UNION,
  DuckDBTypeId.VARIANT,
]);

interface Cut {
  sql: string;
  /** Which of its columns hold column i of the query: the value, and where it may be too long for one the beginning of its text. */
  places: { value: number; text: number | undefined }[];
}

/**
 * The query with its long values cut by DuckDB. The query stands in it as a value, so that no bracket or comment of it can end early; the
 * order of its rows is kept, as DuckDB does unless told otherwise.
 */
function cutting(statement: DuckDBPreparedStatement, sql: string, { rows, text }: SqlLimits): Cut {
  const selected: string[] = [];
  const select = (expression: string): number => selected.push(expression) - 1;
  const names = Array.from({ length: statement.columnCount }, (_, i) => `c${i}`);
  const places = names.map((name, i) => {
    const type = statement.columnTypeId(i);
    // One character more than is shown, by which `bounded` sees that it is cut.
    if (TEXTS.has(type)) return { value: select(`left(${name}::VARCHAR, ${text + 1})`), text: undefined };
    if (!NESTED.has(type)) return { value: select(name), text: undefined };
    const long = `length(${name}::VARCHAR) > ${text}`;
    return {
      value: select(`CASE WHEN NOT (${long}) THEN ${name} END`),
      text: select(`CASE WHEN ${long} THEN left(to_json(${name})::VARCHAR, ${text + 1}) END`),
    };
  });
  return { sql: `SELECT ${selected.join(", ")} FROM query(${sqlText(sql)}) AS t(${names.join(", ")}) LIMIT ${rows + 1}`, places };
}

async function rowsOf(
  connection: DuckDBConnection,
  statement: DuckDBPreparedStatement,
  cut: Cut | undefined,
  sql: string,
  limits: SqlLimits,
): Promise<Pick<SqlAnswer, "rows" | "more">> {
  const result = cut === undefined ? await statement.stream() : await connection.stream(cut.sql).catch(withoutPlace);
  const rows: Json[][] = [];
  let characters = 0;
  for (;;) {
    const chunk = await (cut === undefined ? result.fetchChunk() : result.fetchChunk().catch(withoutPlace));
    if (chunk === null || chunk.rowCount === 0) return { rows, more: false };
    for (let r = 0; r < chunk.rowCount; r++) {
      if (rows.length === limits.rows) return { rows, more: true };
      const values = chunk.convertRowValues(r, JsonDuckDBValueConverter).map((value) => value as Json);
      const row =
        cut === undefined ? values : cut.places.map(({ value, text }) => (text === undefined ? null : values[text]) ?? values[value]!);
      const shown = row.map((value) => bounded(value, limits.text));
      for (const value of shown) characters += typeof value === "string" ? value.length : value === null ? 4 : JSON.stringify(value).length;
      if (characters > limits.characters) {
        if (rows.length > 0) return { rows, more: true };
        throw refused(`one row of the answer has more than ${limits.characters} characters`, sql, "fewer columns");
      }
      rows.push(shown);
    }
  }
}

/** The place that DuckDB points at is in the query around the asked one, which nobody wrote. */
function withoutPlace(error: unknown): never {
  throw new Error(String((error as Error).message).replace(/\n\nLINE \d[\s\S]*$/, ""), { cause: error });
}

function bounded(value: Json, most: number): Json {
  if (value === null || typeof value === "boolean" || typeof value === "number" || !Number.isFinite(most)) return value;
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
