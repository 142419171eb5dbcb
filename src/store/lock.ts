/**
 * One writer per run folder. The lock file names the process (pid and start time, because pids are used again) and its host; a lock whose
 * process is gone is taken over, one whose process lives is refused by pid. A lock of another host cannot be checked and is refused too.
 */
import { execFileSync } from "node:child_process";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { RunFolderError } from "../core/index.js";
import { temporaryPath } from "./files.js";
import { storageFailure } from "./storage-failure.js";

export const LOCK_FILE = "run.lock";

const lockSchema = z.object({ pid: z.int().positive(), started: z.string(), host: z.string() });
type LockRecord = z.infer<typeof lockSchema>;

export class RunLock {
  private held = true;
  private constructor(private readonly path: string) {}

  /** @throws {RunFolderError} when a live process, or a process of another host, holds the folder. */
  static acquire(folder: string): RunLock {
    const path = join(folder, LOCK_FILE);
    const own: LockRecord = { pid: process.pid, started: startTime(process.pid) ?? "", host: hostname() };
    const temporary = temporaryPath(path);
    try {
      writeFileSync(temporary, JSON.stringify(own));
      // A link fails where the name exists, and appears with its whole content: no one reads half a lock.
      for (let attempt = 0; attempt < 10; attempt++) {
        if (tryLink(temporary, path)) return new RunLock(path);
        const other = readLock(path);
        if (other === undefined) continue;
        refuseLiving(folder, path, other);
        discard(path, other);
      }
      throw new RunFolderError({ message: `${folder}: its lock changes hands too fast`, value: folder, remedy: "try again" });
    } catch (cause) {
      throw storageFailure(cause, "lock", folder);
    } finally {
      rmSync(temporary, { force: true });
    }
  }

  release(): void {
    if (this.held) rmSync(this.path, { force: true });
    this.held = false;
  }
}

/** The pid of the live process that holds the folder, if any: for readers that show whether a run is going on. */
export function lockHolder(folder: string): number | undefined {
  const lock = readLock(join(folder, LOCK_FILE));
  return lock !== undefined && isAlive(lock) ? lock.pid : undefined;
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw cause;
  }
}

/** Undefined when there is none; a lock that cannot be read was left by a crash of the disk and counts as dead. */
function readLock(path: string): LockRecord | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw cause;
  }
  try {
    return lockSchema.parse(JSON.parse(text));
  } catch {
    return { pid: Number.MAX_SAFE_INTEGER, started: "", host: hostname() };
  }
}

function refuseLiving(folder: string, path: string, other: LockRecord): void {
  if (other.host !== hostname()) {
    throw new RunFolderError({
      message: `${folder} is locked by process ${other.pid} on the host ${other.host}`,
      value: folder,
      expected: "a run folder that no other process writes to",
      remedy: `make sure that process has ended, then remove ${path}`,
    });
  }
  if (isAlive(other)) {
    throw new RunFolderError({
      message: `${folder} is in use by the running process ${other.pid}`,
      value: folder,
      expected: "a run folder that no other process writes to",
      remedy: `wait for process ${other.pid} or stop it, or choose another folder with --out`,
    });
  }
}

/** Moves the dead lock aside under a name of its own, so that of two takers only one proceeds with what it has read. */
function discard(path: string, dead: LockRecord): void {
  const aside = temporaryPath(path);
  try {
    renameSync(path, aside);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return;
    throw cause;
  }
  const moved = readLock(aside);
  if (moved !== undefined && isAlive(moved) && moved.pid !== dead.pid) tryLink(aside, path);
  rmSync(aside, { force: true });
}

function isAlive(lock: LockRecord): boolean {
  try {
    process.kill(lock.pid, 0);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const started = startTime(lock.pid);
  return started !== ENDED && (lock.started === "" || started === undefined || started === lock.started);
}

/** Start time of a process that has ended and waits for its parent to notice. */
const ENDED = "ended";

/** When the process started, in the operating system's own words; undefined where it does not say. */
function startTime(pid: number): string | undefined {
  try {
    // Fields 3 (state) and 22 (start) of /proc/PID/stat, counted after the command name, which may itself hold spaces and brackets.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? ENDED : fields[19];
  } catch {
    try {
      return (
        execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { stdio: ["ignore", "pipe", "ignore"] })
          .toString()
          .trim() || undefined
      );
    } catch {
      return undefined;
    }
  }
}
