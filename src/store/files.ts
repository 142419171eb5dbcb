/**
 * Files that are either there whole or not there: written under a temporary name in the same folder, synced, renamed, and the folder
 * synced. A process killed at any point leaves the old file, or the new one, and perhaps a temporary that `removeLeftovers` takes away.
 * Refuses to guess: a failure of the disk is a `StorageError` with its remedy, never a half-written file.
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { storageFailure } from "./storage-failure.js";

/** Temporaries keep the extension of the file they become, so that writers which look at it need not know. */
const TEMPORARY = /^\.tmp-\d+-\d+-/;
let counter = 0;

export function temporaryPath(path: string): string {
  return join(dirname(path), `.tmp-${process.pid}-${counter++}-${basename(path)}`);
}

export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name);
}

/** Writes `data` to `path`, whole or not at all. The folder is made where it is missing. @throws {StorageError} */
export async function writeFileAtomic(path: string, data: string | Uint8Array): Promise<void> {
  await produceFileAtomic(path, async (temporary) => {
    const handle = await open(temporary, "w");
    try {
      await handle.writeFile(data);
    } finally {
      await handle.close();
    }
  });
}

/** As `writeFileAtomic`, for a writer that wants a path: `produce` fills the temporary file it is given. @throws {StorageError} */
export async function produceFileAtomic(path: string, produce: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = temporaryPath(path);
  try {
    await mkdir(dirname(path), { recursive: true });
    await produce(temporary);
    await commitFile(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {});
    throw storageFailure(cause, "write", path);
  }
}

/** The second half of an atomic write: sync the temporary, rename it, sync the folder. */
export async function commitFile(temporary: string, path: string): Promise<void> {
  syncPath(temporary);
  await rename(temporary, path);
  syncPath(dirname(path));
}

/** fsync of a file or folder; a file system that cannot sync folders (EINVAL, EPERM on some) is left to its own order. */
function syncPath(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code !== "EINVAL" && code !== "EPERM" && code !== "ENOTSUP") throw cause;
  } finally {
    closeSync(fd);
  }
}

/** Takes away the temporaries that a killed writer left anywhere below `folder`; returns their paths. Only for the owner of the lock. */
export async function removeLeftovers(folder: string): Promise<string[]> {
  const removed: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (isTemporary(entry.name)) {
      await rm(path, { recursive: true, force: true });
      removed.push(path);
    } else if (entry.isDirectory()) {
      removed.push(...(await removeLeftovers(path)));
    }
  }
  return removed;
}
