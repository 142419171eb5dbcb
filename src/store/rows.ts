/** Rows of a file whose extension says its format: instances and completions come and go as JSON lines or Parquet. */
import { createReadStream, statSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { CorruptFileError, canonicalJson, InputError, parseJsonWith } from "../core/index.js";
import { produceFileAtomic } from "./files.js";
import { batches, ROWS_AT_ONCE, readParquetRows, requireFile, writeParquet } from "./parquet.js";

const anything = z.unknown();

/** Whether a file's extension says that it holds rows. */
export function isRowFile(path: string): boolean {
  return [".jsonl", ".ndjson", ".json", ".parquet"].includes(extname(path).toLowerCase());
}

/** The rows of a `.jsonl`, `.json` (one array or one object) or `.parquet` file, unvalidated: files from elsewhere may leave fields out. */
export async function* readRows(path: string): AsyncGenerator<unknown[]> {
  await requireFile(path);
  const kind = extname(path).toLowerCase();
  if (kind === ".parquet") yield* readParquetRows(path);
  else if (kind === ".json") {
    const value = parseJsonWith(anything, await readFile(path, "utf8"), path, CorruptFileError);
    yield Array.isArray(value) ? value : [value];
  } else if (kind === ".jsonl" || kind === ".ndjson") yield* readJsonRows(path);
  else {
    throw new InputError({
      message: `${path}: "${kind}" is not a format of instances or completions`,
      value: path,
      expected: "a file that ends in .jsonl, .json or .parquet",
      remedy: "rename the file after what it holds, or convert it",
    });
  }
}

/** Writes `.jsonl` or `.parquet`, by the extension. @throws {InputError} for another extension. */
export async function writeRows<T>(path: string, schema: z.ZodType<T>, rows: Iterable<T> | AsyncIterable<T>): Promise<void> {
  requireRowFormat(path);
  if (extname(path).toLowerCase() === ".parquet") return writeParquet(path, schema, rows);
  await produceFileAtomic(path, async (temporary) => {
    const handle = await open(temporary, "w");
    try {
      for await (const batch of batches(rows)) await handle.write(batch.map((row) => `${canonicalJson(row)}\n`).join(""));
    } finally {
      await handle.close();
    }
  });
}

async function* readJsonRows(path: string): AsyncGenerator<unknown[]> {
  let batch: unknown[] = [];
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (line.trim() === "") continue;
    batch.push(parseJsonWith(anything, line, `${path}, line ${number}`, CorruptFileError));
    if (batch.length === ROWS_AT_ONCE) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** @throws {InputError} for a name that `writeRows` would refuse: to be asked before the work, not after it. */
export function requireRowFormat(path: string): void {
  const kind = extname(path).toLowerCase();
  if (kind === ".parquet" || kind === ".jsonl") return;
  if (kind === "") {
    const isFolder = path.endsWith("/") || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    const file = isFolder ? join(path, "set") : path;
    throw new InputError({
      message: isFolder ? `${path} is a folder` : `${path} does not say in which format to write`,
      value: path,
      expected: "a file's name that ends in .jsonl or .parquet",
      remedy: `write to ${file}.jsonl or ${file}.parquet`,
    });
  }
  throw new InputError({
    message: `${path}: "${kind}" is not a format that can be written`,
    value: path,
    expected: "a name that ends in .jsonl or .parquet",
    remedy: `write to ${path.slice(0, path.length - kind.length)}.jsonl or .parquet`,
  });
}
