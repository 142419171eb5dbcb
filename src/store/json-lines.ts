/**
 * Append-only JSON lines: one canonical JSON object a line. A line counts once its line feed is on disk; a torn last line (the process was
 * killed in the middle of it) is cut off when the file is opened for appending and ignored when it is read. A broken line anywhere else is
 * corruption and is refused.
 */
import {
  closeSync,
  createReadStream,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { z } from "zod";
import { CorruptFileError, canonicalJson, parseJsonWith } from "../core/index.js";
import { writeFileAtomic } from "./files.js";
import { storageFailure } from "./storage-failure.js";

/** `line`: every line is synced before `append` returns. `close`: the operating system decides when, and `close` syncs. */
export type SyncPolicy = "line" | "close";

const LINE_FEED = 0x0a;

export class JsonLinesWriter {
  private closed = false;

  private constructor(
    readonly path: string,
    private readonly fd: number,
    private readonly policy: SyncPolicy,
  ) {}

  /** Opens for appending, cutting off a torn last line. @throws {StorageError} */
  static open(path: string, policy: SyncPolicy = "line"): JsonLinesWriter {
    try {
      mkdirSync(dirname(path), { recursive: true });
      const fd = openSync(path, "a+");
      const size = fstatSync(fd).size;
      const whole = endOfLastLine(fd, size);
      if (whole < size) ftruncateSync(fd, whole);
      return new JsonLinesWriter(path, fd, policy);
    } catch (cause) {
      throw storageFailure(cause, "open", path);
    }
  }

  /** Appends one record as one line. Synchronous, so that lines keep the order of their events. @throws {StorageError} @throws {RangeError} once closed */
  append(record: unknown): void {
    // The number of a closed file may be another file's by now.
    if (this.closed) throw new RangeError(`${this.path} is closed`);
    const bytes = Buffer.from(`${canonicalJson(record)}\n`);
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(this.fd, bytes, written);
      if (this.policy === "line") fsyncSync(this.fd);
    } catch (cause) {
      throw storageFailure(cause, "append to", this.path);
    }
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    try {
      fsyncSync(this.fd);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EINVAL") throw storageFailure(cause, "sync", this.path);
    } finally {
      closeSync(this.fd);
    }
  }
}

/** Every whole line as a record; [] for a missing file. @throws {CorruptFileError} naming the line. */
export async function readJsonLines<T>(path: string, schema: z.ZodType<T>): Promise<T[]> {
  if (!existsSync(path)) return [];
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw storageFailure(cause, "read", path);
  }
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return lines.flatMap((line, i) => (line.trim() === "" ? [] : [parseJsonWith(schema, line, `${path}, line ${i + 1}`, CorruptFileError)]));
}

export interface JsonLine<T> {
  record: T;
  /** Bytes: where the line begins, and its length with the line feed. */
  offset: number;
  length: number;
  /** For messages: file and line number. */
  from: string;
}

/** Every whole line in order, one at a time: for files that need not fit into memory. Nothing for a missing file. @throws {CorruptFileError} naming the line; {StorageError} */
export async function* streamJsonLines<T>(path: string, schema: z.ZodType<T>): AsyncGenerator<JsonLine<T>> {
  if (!existsSync(path)) return;
  let rest: Buffer = Buffer.alloc(0);
  let offset = 0;
  let number = 0;
  try {
    for await (const block of createReadStream(path)) {
      const bytes = Buffer.concat([rest, block as Buffer]);
      let start = 0;
      for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, start)) {
        const from = `${path}, line ${++number}`;
        const record = parseJsonWith(schema, bytes.toString("utf8", start, end), from, CorruptFileError);
        yield { record, offset, length: end + 1 - start, from };
        offset += end + 1 - start;
        start = end + 1;
      }
      rest = bytes.subarray(start);
    }
  } catch (cause) {
    throw storageFailure(cause, "read", path);
  }
}

/** Rewrites the file with the records that `keep` lets through; returns how many went. Atomic. */
export async function filterJsonLines<T>(path: string, schema: z.ZodType<T>, keep: (record: T) => boolean): Promise<number> {
  const records = await readJsonLines(path, schema);
  const kept = records.filter(keep);
  if (existsSync(path)) await writeFileAtomic(path, kept.map((r) => `${canonicalJson(r)}\n`).join(""));
  return records.length - kept.length;
}

/** The offset after the last line feed; reads backwards in blocks. */
function endOfLastLine(fd: number, size: number): number {
  const block = Buffer.alloc(4096);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - block.length);
    const read = readSync(fd, block, 0, end - start, start);
    const at = block.subarray(0, read).lastIndexOf(LINE_FEED);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}
