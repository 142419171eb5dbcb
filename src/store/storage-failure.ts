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

/** Turns whatever was caught into a `StorageError`; an error that is typed already passes unchanged. */
export function storageFailure(cause: unknown, action: string, path: string): EnvwrightError {
  if (cause instanceof EnvwrightError) return cause;
  const error = cause as NodeJS.ErrnoException;
  const text = error?.message ?? String(cause);
  const code = error?.code ?? BY_TEXT.find(([pattern]) => pattern.test(text))?.[1];
  const known = code === undefined ? undefined : KNOWN[code];
  return new StorageError({
    message: `could not ${action} ${path}: ${known?.what ?? text.split("\n")[0]}`,
    value: path,
    remedy: known?.remedy ?? "check the path and the disk",
    cause,
  });
}
