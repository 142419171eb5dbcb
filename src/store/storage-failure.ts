/** What the operating system (or DuckDB on its behalf) said when a read or write failed, as a `StorageError` that names the remedy. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { EnvwrightError, StorageError, shellWord } from "../core/index.js";

/** Where there is room again, what was begun can be gone on with: how, the folder that the file is in says. */
const FULL = "free some space";

const KNOWN: Record<string, { what: string; remedy: string }> = {
  ENOSPC: { what: "the disk is full", remedy: FULL },
  EDQUOT: { what: "the disk quota is used up", remedy: FULL },
  EACCES: { what: "permission denied", remedy: "give this user access, or choose another folder with --out" },
  EPERM: { what: "the operation is not permitted", remedy: "give this user access, or choose another folder with --out" },
  EROFS: { what: "the file system is read-only", remedy: "choose a folder on a writable disk with --out" },
  ENOENT: { what: "no such file or folder", remedy: "check the path" },
  EISDIR: { what: "it is a folder, not a file", remedy: "give the path of a file" },
  ENOTDIR: { what: "a part of the path is a file, not a folder", remedy: "check the path" },
  EMFILE: { what: "too many open files", remedy: "raise the limit of open files (ulimit -n)" },
  ENOMEM: { what: "its rows are too long to be held in memory together", remedy: "shorten them, or keep them as .jsonl" },
  EIO: { what: "the disk reported an input/output error", remedy: "check the disk" },
};

/** DuckDB reports the operating system's reason as text. */
const BY_TEXT: [RegExp, string][] = [
  [/^Out of Memory/, "ENOMEM"],
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
  if (!(errno === undefined ? /^(IO|Out of Memory) Error/ : /^E[A-Z0-9]+$/).test(errno ?? text)) return cause;
  const code = errno ?? BY_TEXT.find(([pattern]) => pattern.test(text))?.[1];
  const known = code === undefined ? undefined : KNOWN[code];
  return new StorageError({
    message: `could not ${action} ${path}: ${known?.what ?? text.split("\n", 1)[0]}`,
    value: path,
    remedy: known?.remedy === FULL ? `${FULL}, then ${goingOn(path)}` : (known?.remedy ?? "check the path and the disk"),
    cause,
  });
}

/** Files that say what a folder is of; a folder with several runs in it is started again as a whole. */
const RESUMED: readonly (readonly [file: string, goingOn: (dir: string) => string])[] = [
  ["matrix.json", () => "start the experiment again with --resume"],
  ["branch.json", () => "start the same command again with --resume"],
  ["eval.json", (dir) => `go on with \`envwright eval --resume ${shellWord(dir)}\``],
  ["run.json", (dir) => `go on with \`envwright run --resume ${shellWord(dir)}\``],
];
/** Levels from a file to the folder of its run, and from there to that of its experiment. */
const DEEPEST = 5;

/** How whoever was writing to `path` goes on: as its folder says, or else by starting again. */
function goingOn(path: string): string {
  const folders: string[] = [];
  for (let dir = dirname(resolve(path)); folders.length < DEEPEST && dir !== dirname(dir); dir = dirname(dir)) folders.push(dir);
  const found = folders.flatMap((dir) => RESUMED.filter(([file]) => existsSync(join(dir, file))).map((entry) => ({ dir, entry })));
  // The nearest folder, unless it is one run of many.
  const many =
    found[0]?.entry[0] === "run.json" ? found.find(({ entry }) => entry[0] === "matrix.json" || entry[0] === "branch.json") : undefined;
  const { dir, entry } = many ?? found[0] ?? {};
  return dir === undefined || entry === undefined
    ? "start the command again, or resume what it has kept where its --help lists --resume"
    : entry[1](dir);
}
