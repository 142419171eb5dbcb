/**
 * Records in and out of Parquet, through DuckDB: typed columns from the record's schema, rows in the order they were given, and the same
 * bytes for the same rows (one thread, preserved order, no time stamps). Writing streams through a temporary of JSON lines and reading
 * through DuckDB's chunks, so that memory does not grow with the number of rows. Knows no environment: the schema says what a row is.
 */
import { existsSync, type WriteStream } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { z } from "zod";
import { CorruptFileError, canonicalJson, InputError, parseWith } from "../core/index.js";
import { columnTypes, quoteName, quoteText, recordOf } from "./columns.js";
import { openDuckDB, withDuckDB } from "./duckdb.js";
import { produceFileAtomic, temporaryPath } from "./files.js";
import { storageFailure } from "./storage-failure.js";

/** One row group is what DuckDB holds before it writes: about this much text, in as many rows as that is, by whole vectors. */
const GROUP_BYTES = 8 * 1024 * 1024;
const VECTOR = 2048;
const MOST_VECTORS = 8;
/** DuckDB reads JSON through buffers of twice the largest row that it has to expect, and of no less than twice this. */
const LEAST_ROW_BYTES = 16 * 1024 * 1024;

/** Appends batches of rows; `close` makes the file appear, whole. */
export class ParquetWriter<T> {
  private rows = 0;
  private bytes = 0;
  private longestRow = LEAST_ROW_BYTES;
  private constructor(
    readonly path: string,
    private readonly columns: ReadonlyMap<string, string>,
    private readonly temporary: string,
    private readonly stream: WriteStream,
  ) {}

  /** @throws {StorageError} @throws {TypeError} for a schema that is no record. */
  static async open<T>(path: string, schema: z.ZodType<T>): Promise<ParquetWriter<T>> {
    const columns = columnTypes(schema);
    const temporary = temporaryPath(`${path}.jsonl`);
    try {
      await mkdir(dirname(path), { recursive: true });
      const stream = (await open(temporary, "w")).createWriteStream();
      // A write that fails says so where it was asked for; without a listener it would end the process as well.
      stream.on("error", () => {});
      return new ParquetWriter<T>(path, columns, temporary, stream);
    } catch (cause) {
      throw storageFailure(cause, "write", path);
    }
  }

  /** Waits for the disk, so that a fast producer does not fill the memory. */
  async append(rows: readonly T[]): Promise<void> {
    if (rows.length === 0) return;
    const written = rows.map((row) => {
      const line = Buffer.from(`${wellFormed(canonicalJson(row))}\n`);
      this.rows++;
      this.bytes += line.length;
      this.longestRow = Math.max(this.longestRow, line.length);
      return new Promise<void>((resolve, reject) => {
        this.stream.write(line, (error) => (error ? reject(storageFailure(error, "write", this.path)) : resolve()));
      });
    });
    await Promise.all(written);
  }

  /** @throws {StorageError} */
  async close(): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.stream.once("error", reject);
        this.stream.end(resolve);
      });
      await produceFileAtomic(this.path, (target) => this.convert(target));
    } catch (cause) {
      throw storageFailure(cause, "write", this.path);
    } finally {
      await rm(this.temporary, { force: true });
    }
  }

  /** Gives up: nothing appears under the path. */
  async abort(): Promise<void> {
    this.stream.destroy();
    await rm(this.temporary, { force: true });
  }

  private async convert(target: string): Promise<void> {
    const vectors = Math.floor((GROUP_BYTES * this.rows) / (Math.max(1, this.bytes) * VECTOR));
    const rowGroup = VECTOR * Math.min(Math.max(1, vectors), MOST_VECTORS);
    const types = [...this.columns].map(([name, type]) => `${quoteName(name)}: ${quoteText(type)}`).join(", ");
    const source =
      this.rows === 0
        ? `(SELECT ${[...this.columns].map(([name, type]) => `NULL::${type} AS ${quoteName(name)}`).join(", ")} WHERE false)`
        : `(SELECT * FROM read_json(${quoteText(this.temporary)}, format = 'newline_delimited', columns = {${types}}, maximum_object_size = ${this.longestRow}))`;
    await withDuckDB(async (connection) => {
      await connection.run(`COPY ${source} TO ${quoteText(target)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroup})`);
    });
  }
}

/** JSON escapes a lone surrogate, but it is no Unicode text and no Parquet reader could hold it: it becomes U+FFFD. */
function wellFormed(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (sequence) => (sequence.length === 2 ? sequence : "\\ufffd"));
}

/** The rows of any Parquet file, in batches, in order; NULL fields are left out. @throws {CorruptFileError} */
export async function* readParquetRows(path: string): AsyncGenerator<Record<string, unknown>[]> {
  await requireFile(path);
  const duckdb = await openDuckDB();
  try {
    const result = await duckdb.connection.stream(`SELECT * FROM read_parquet(${quoteText(path)})`);
    const names = result.columnNames();
    const types = result.columnTypes();
    for await (const rows of result.yieldRowObjectJs()) yield rows.map((row) => recordOf(row, names, types));
  } catch (cause) {
    throw unreadable(path, cause);
  } finally {
    duckdb.close();
  }
}

/** The first row whose `column` is `value`, found without reading the others out. @throws {CorruptFileError} {InputError} */
export async function findParquetRow(path: string, column: string, value: string): Promise<Record<string, unknown> | undefined> {
  await requireFile(path);
  const duckdb = await openDuckDB();
  try {
    const query = `SELECT * FROM read_parquet(${quoteText(path)}) WHERE ${quoteName(column)} = $1 LIMIT 1`;
    const result = await duckdb.connection.runAndReadAll(query, [value]);
    const row = result.getRowObjectsJS()[0];
    return row === undefined ? undefined : recordOf(row, result.columnNames(), result.columnTypes());
  } catch (cause) {
    throw unreadable(path, cause);
  } finally {
    duckdb.close();
  }
}

/** Writes all rows at once. @throws {StorageError} */
export async function writeParquet<T>(path: string, schema: z.ZodType<T>, rows: Iterable<T> | AsyncIterable<T>): Promise<void> {
  const writer = await ParquetWriter.open(path, schema);
  try {
    for await (const batch of batches(rows)) await writer.append(batch);
  } catch (cause) {
    await writer.abort();
    throw cause;
  }
  await writer.close();
}

export async function readParquet<T>(path: string, schema: z.ZodType<T>): Promise<T[]> {
  const records: T[] = [];
  for await (const rows of readParquetRows(path)) {
    for (const row of rows) records.push(parseWith(schema, row, `${path}, row ${records.length + 1}`, CorruptFileError));
  }
  return records;
}

function unreadable(path: string, cause: unknown): Error {
  const text = (cause as Error).message.split("\n")[0]!;
  if (/^(IO|Out of Memory) Error/.test(text)) return storageFailure(cause, "read", path);
  return new CorruptFileError({
    message: `${path}: not a readable Parquet file (${text})`,
    value: path,
    expected: "a complete Parquet file",
    remedy: "make the file again from its source",
    cause,
  });
}

export async function requireFile(path: string): Promise<void> {
  if (existsSync(path)) return;
  throw new InputError({
    message: `${path}: no such file`,
    value: path,
    expected: "the path of an existing file",
    remedy: "check the path",
  });
}

/** Rows that are in flight at once. More of them would outlive the collections of the young heap, and make it grow. */
export const ROWS_AT_ONCE = 64;

/** Groups rows, so that neither one row nor all of them are in flight. */
export async function* batches<T>(rows: Iterable<T> | AsyncIterable<T>, size = ROWS_AT_ONCE): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length === size) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}
