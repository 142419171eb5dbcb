/**
 * A file without a name: for what a command has to remember and memory should not hold. It is there from the first write on, and gone with
 * the process, however that ends. Refuses to be read or written once it is closed.
 */
import { randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Scratch } from "../core/index.js";
import { temporaryPath } from "./files.js";
import { storageFailure } from "./storage-failure.js";

export class ScratchFile implements Scratch {
  private file: number | undefined;
  private end = 0;
  private closed = false;

  /** @param folder on a disk with room for it; made where it is missing */
  constructor(
    private readonly folder: string,
    readonly resident = 1024 * 1024,
  ) {}

  reserve(bytes: number): number {
    const position = this.end;
    this.end += bytes;
    return position;
  }

  read(into: Uint8Array, position: number): void {
    let filled = 0;
    this.attempt("read", () => {
      for (let n = -1; n !== 0 && this.file !== undefined && filled < into.length; filled += n) {
        n = readSync(this.file, into, filled, into.length - filled, position + filled);
      }
    });
    // What nobody has written is beyond the end of the file.
    into.fill(0, filled);
  }

  write(from: Uint8Array, position: number): void {
    this.attempt("write", () => {
      this.file ??= openNameless(this.folder);
      for (let done = 0; done < from.length; ) done += writeSync(this.file, from, done, from.length - done, position + done);
    });
  }

  close(): void {
    this.closed = true;
    if (this.file !== undefined) closeSync(this.file);
    this.file = undefined;
  }

  private attempt(action: "read" | "write", what: () => void): void {
    if (this.closed) throw new RangeError(`a scratch file that is closed cannot be asked to ${action}`);
    try {
      what();
    } catch (cause) {
      throw storageFailure(cause, action, join(resolve(this.folder), "(scratch file)"));
    }
  }
}

function openNameless(folder: string): number {
  mkdirSync(folder, { recursive: true });
  const path = temporaryPath(join(folder, `scratch-${randomUUID()}`));
  const file = openSync(path, "wx+", 0o600);
  try {
    unlinkSync(path);
  } catch (cause) {
    closeSync(file);
    throw cause;
  }
  return file;
}
