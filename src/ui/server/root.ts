/**
 * The folder that is served: what lies in it (runs, evaluations, experiments), and the way from an id in a request to a folder on disk. An
 * id is a relative path that a scan could have found; anything else, and any link that leads out of the folder, is refused.
 */
import { existsSync, realpathSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { InputError } from "../../core/index.js";
import { RUN_FILE } from "../../store/index.js";

/** Levels of folders below the root that are looked into: experiments hold runs, and people sort runs into folders. */
const DEPTH = 4;

export type Kind = "run" | "evaluation" | "experiment";
const MARKS: Record<Kind, readonly string[]> = {
  run: [RUN_FILE],
  evaluation: ["eval.json"],
  experiment: ["matrix.json", "results.json"],
};

export class ServedRoot {
  private constructor(
    /** Absolute, links resolved. */
    readonly dir: string,
    /** As the user gave it. */
    readonly shown: string,
    /** The one entry that is served when the folder given is itself a run, an evaluation or an experiment without runs. */
    private readonly only: string | undefined,
  ) {}

  /**
   * A folder that does not exist yet is served empty: the first run may make it.
   * @param isRun the folder is one run, also before it exists
   */
  static at(path: string, isRun = false): ServedRoot {
    const absolute = realOf(resolve(path));
    if (isRun || existsSync(join(absolute, RUN_FILE)) || existsSync(join(absolute, "eval.json"))) {
      return new ServedRoot(dirname(absolute), path, basename(absolute));
    }
    return new ServedRoot(absolute, path, undefined);
  }

  /** Ids of every folder of that kind, sorted. */
  async ids(kind: Kind): Promise<string[]> {
    const found: string[] = [];
    const visit = async (dir: string, depth: number): Promise<void> => {
      let entries: { name: string; isDirectory(): boolean }[];
      try {
        entries = await readdir(dir, { withFileTypes: true });
      } catch {
        return;
      }
      const names = new Set(entries.map((e) => e.name));
      if (MARKS[kind].every((mark) => names.has(mark)) && (dir !== this.dir || kind === "experiment")) found.push(this.idOf(dir));
      if (depth === 0 || names.has(RUN_FILE)) return;
      for (const entry of entries) {
        if (!entry.isDirectory() || entry.name.startsWith(".") || entry.name === "node_modules") continue;
        if (depth === DEPTH && this.only !== undefined && entry.name !== this.only) continue;
        await visit(join(dir, entry.name), depth - 1);
      }
    };
    await visit(this.dir, DEPTH);
    return found.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  }

  /** The folder of an id. @throws {InputError} for an id that names nothing of that kind below the root. */
  folder(kind: Kind, id: string): string {
    const parts = id === "." ? [] : id.split("/");
    const bad = parts.some((part) => part === "" || part === "." || part === ".." || /[\\\0]/.test(part) || part.startsWith("."));
    const path = join(this.dir, ...parts);
    if (
      !bad &&
      parts.length <= DEPTH &&
      (this.only === undefined || parts[0] === this.only) &&
      MARKS[kind].every((m) => existsSync(join(path, m)))
    ) {
      const real = realpathSync(path);
      if (real === this.dir || real.startsWith(this.dir + sep)) return real;
    }
    throw new InputError({
      message: `there is no ${kind} "${id.slice(0, 80)}" here`,
      value: id,
      expected: `an id from the list of ${kind}s`,
      remedy: "go back to the list; the folder may have been moved or removed",
    });
  }

  idOf(dir: string): string {
    const path = relative(this.dir, dir).split(sep).join("/");
    return path === "" ? "." : path;
  }
}

/** Links resolved as far as the path exists. */
function realOf(path: string): string {
  if (existsSync(path) || dirname(path) === path) return realpathSync(path);
  return join(realOf(dirname(path)), basename(path));
}
