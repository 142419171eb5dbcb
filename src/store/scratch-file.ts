/**
 * A file without a name: for what a command has to remember and memory should not hold. It is there from the first write on, and gone with
 * the process, however that ends.
 */
import { closeSync, mkdirSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Scratch } from "../core/index.js";
import { temporaryPath } from "./files.js";
import { storageFailure } from "./storage-failure.js";

export class ScratchFile implements Scratch {
  private file: number | undefined;
  private end = 0;

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
    if (this.file !== undefined) closeSync(this.file);
    this.file = undefined;
  }

  private attempt(action: "read" | "write", what: () => void): void {
    try {
      what();
    } catch (cause) {
      throw storageFailure(cause, action, join(this.folder, "(scratch file)"));
    }
  }
}

function openNameless(folder: string): number {
  mkdirSync(folder, { recursive: true });
  const path = temporaryPath(join(folder, "scratch"));
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return file;
}
