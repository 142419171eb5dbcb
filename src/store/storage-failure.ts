/** What the operating system (or DuckDB on its behalf) said when a read or write failed, as a `StorageError` that names the remedy. */
import { EnvwrightError, StorageError } from "../core/index.js";

const KNOWN: Record<string, { what: string; remedy: string }> = {
  ENOSPC: { what: "the disk is full", remedy: "free some space, then go on with `envwright run --resume DIR`" },
  EDQUOT: { what: "the disk quota is used up", remedy: "free some space, then go on with `envwright run --resume DIR`" },
  EACCES: { what: "permission denied", remedy: "give this user access, or choose another folder with --out" },
  EPERM: { what: "the operation is not permitted", remedy: "give this user access, or choose another folder with --out" },
  EROFS: { what: "the file system is read-only", remedy: "choose a folder on a writable disk with --out" },
  ENOENT: { what: "no such file or folder", remedy: "check the path" },
  EISDIR: { what: "it is a folder, not a file", remedy: "give the path of a file" },
  ENOTDIR: { what: "a part of the path is a file, not a folder", remedy: "check the path" },
  EMFILE: { what: "too many open files", remedy: "raise the limit of open files (ulimit -n)" },
  EIO: { what: "the disk reported an input/output error", remedy: "check the disk" },
};

/** DuckDB reports the operating system's reason as text. */
const BY_TEXT: [RegExp, string][] = [
  [/no space left/i, "ENOSPC"],
  [/quota exceeded/i, "EDQUOT"],
  [/permission denied/i, "EACCES"],
  [/read-only file system/i, "EROFS"],
  [/no such file/i, "ENOENT"],
];

/**
 * A failure of the operating system or of DuckDB's input/output as a `StorageError`. Anything else (an error that is typed already, a
 * mistake in the code that produced the content) is not the disk's doing and comes back unchanged.
 */
export function storageFailure(cause: unknown, action: string, path: string): Error {
  if (cause instanceof EnvwrightError || !(cause instanceof Error)) return cause as Error;
  const text = cause.message;
  const errno = (cause as NodeJS.ErrnoException).code;
  if (!(errno === undefined ? /^IO Error/ : /^E[A-Z0-9]+$/).test(errno ?? text)) return cause;
  const code = errno ?? BY_TEXT.find(([pattern]) => pattern.test(text))?.[1];
  const known = code === undefined ? undefined : KNOWN[code];
  return new StorageError({
    message: `could not ${action} ${path}: ${known?.what ?? text.split("\n", 1)[0]}`,
    value: path,
    remedy: known?.remedy ?? "check the path and the disk",
    cause,
  });
}
