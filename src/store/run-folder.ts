/**
 * A run on disk. `create` and `resume` hold the folder against other writers; `open` only reads. A file of a stage (or of the run itself)
 * counts once its manifest names it, and is compared with its checksum when it is read. Knows names and bytes, not what a stage means:
 * which files make a stage finished is the loop's to say. One class, so that nothing else touches these files, and hence long.
 *
 *     run.json  events.jsonl  metrics.jsonl  manifest.json  <files of the run>  stages/00/{manifest.json, <files of the stage>}
 */
import { constants, existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import {
  CorruptFileError,
  canonicalJson,
  eventSchema,
  type Metrics,
  metricsSchema,
  parseJsonWith,
  parseWith,
  type Recipe,
  type RunEvent,
  RunFolderError,
  recipeSchema,
  SCHEMA_VERSION,
} from "../core/index.js";
import { filesBelow } from "./checksum.js";
import { isTemporary, produceFileAtomic, removeLeftovers, writeFileAtomic } from "./files.js";
import { filterJsonLines, JsonLinesWriter, readJsonLines } from "./json-lines.js";
import { LOCK_FILE, RunLock } from "./lock.js";
import { Manifest, refuseOtherVersion } from "./manifest.js";
import { storageFailure } from "./storage-failure.js";
import { isSameMaker, maker } from "./versions.js";

export const RUN_FILE = "run.json";
const EVENTS = "events.jsonl";
const METRICS = "metrics.jsonl";

export const runRecordSchema = z.strictObject({
  schema_version: z.int(),
  recipe: recipeSchema,
  seed: z.int().nonnegative(),
  /** What it was begun with: versions, the program's hash, the kind of machine (`maker`). */
  versions: z.record(z.string(), z.string()),
  /** Other makers that went on with it, where there were any. */
  continued_with: z.array(z.record(z.string(), z.string())).optional(),
  /** Settings of the machine that it went on with, `PATH=VALUE`, once for each time; `recipe` has them. */
  changed: z.array(z.array(z.string())).optional(),
  /** Hash of the base checkpoint when the run began: a run does not go on from another one. */
  base_sha256: z.string().optional(),
  /** Hash of what its engineer reads from `engineer.from` (an earlier run's proposals, a config) when the run began. */
  engineer_sha256: z.string().optional(),
  /** Hash of what `engineer.policy` names by a path (a policy file, a model, recorded calls) when the run began. */
  policy_sha256: z.string().optional(),
});
export type RunRecord = z.infer<typeof runRecordSchema>;

/** A run's recipe with other settings of the machine, and the `PATH=VALUE` that make it so. */
export interface RecipeChange {
  recipe: Recipe;
  set: readonly string[];
}

/** The number of a stage, or "run" for the files in the run's root. */
export type Scope = number | "run";

export class RunFolder {
  private readonly manifests = new Map<Scope, Manifest>();
  private events: JsonLinesWriter | undefined;
  private metrics: JsonLinesWriter | undefined;

  private constructor(
    /** Absolute path. */
    readonly dir: string,
    readonly record: RunRecord,
    private readonly lock: RunLock | undefined,
  ) {}

  /** Makes the folder of a new run and holds it. `dir` is absent or empty. @throws {RunFolderError} {StorageError} */
  static async create(
    dir: string,
    run: { recipe: Recipe; seed?: number } & Pick<RunRecord, "base_sha256" | "engineer_sha256" | "policy_sha256">,
  ): Promise<RunFolder> {
    const path = resolve(dir);
    await refuseOccupied(path, dir);
    try {
      await mkdir(path, { recursive: true });
    } catch (cause) {
      throw storageFailure(cause, "make", dir);
    }
    const lock = RunLock.acquire(path);
    try {
      await refuseOccupied(path, dir);
      await removeLeftovers(path);
      const record = {
        schema_version: SCHEMA_VERSION,
        recipe: run.recipe,
        seed: run.seed ?? run.recipe.seed,
        versions: maker(),
        base_sha256: run.base_sha256,
        engineer_sha256: run.engineer_sha256,
        policy_sha256: run.policy_sha256,
      };
      await writeFileAtomic(join(path, RUN_FILE), `${canonicalJson(record, 2)}\n`);
      return new RunFolder(path, record, lock);
    } catch (cause) {
      lock.release();
      throw cause;
    }
  }

  /** Opens for reading, also while another process writes. @throws {RunFolderError} {CorruptFileError} */
  static async open(dir: string): Promise<RunFolder> {
    return new RunFolder(resolve(dir), await readRunRecord(dir), undefined);
  }

  /** Opens a run to go on with it: holds it, removes temporaries, cuts torn lines; run.json then names this program too where it is another, and what of the recipe is changed. @throws {RunFolderError} when a live process holds it. */
  static async resume(dir: string, change?: RecipeChange): Promise<RunFolder> {
    const path = resolve(dir);
    await readRunRecord(dir);
    const lock = RunLock.acquire(path);
    try {
      await removeLeftovers(path);
      const record = await continued(path, change);
      return new RunFolder(path, record, lock);
    } catch (cause) {
      lock.release();
      throw cause;
    }
  }

  /** Closes the logs and lets the folder go. */
  close(): void {
    this.events?.close();
    this.metrics?.close();
    this.events = undefined;
    this.metrics = undefined;
    this.lock?.release();
  }

  // ---------------------------------------------------------------- names

  folder(scope: Scope): string {
    return scope === "run" ? this.dir : join(this.dir, "stages", String(scope).padStart(2, "0"));
  }

  path(scope: Scope, name: string): string {
    return join(this.folder(scope), name);
  }

  /** Numbers of the stages that have a folder, ascending. */
  async stages(): Promise<number[]> {
    const folder = join(this.dir, "stages");
    if (!existsSync(folder)) return [];
    const names = await readdir(folder);
    return names
      .filter((name) => /^\d{2,}$/.test(name))
      .map(Number)
      .sort((a, b) => a - b);
  }

  /** Whether the file or folder is finished: named by its manifest and on the disk. Does not read its bytes. */
  async has(scope: Scope, name: string): Promise<boolean> {
    return (await this.manifest(scope)).has(name);
  }

  // ---------------------------------------------------------------- files

  async writeRecord<T>(scope: Scope, name: string, schema: z.ZodType<T>, record: T): Promise<void> {
    parseWith(schema, record, name);
    await this.writeText(scope, name, `${canonicalJson(record, 2)}\n`);
  }

  /** @throws {CorruptFileError} when the file is unfinished, changed, or not what the schema says. */
  async readRecord<T>(scope: Scope, name: string, schema: z.ZodType<T>): Promise<T> {
    return parseJsonWith(schema, await this.readText(scope, name), this.path(scope, name), CorruptFileError);
  }

  async writeText(scope: Scope, name: string, text: string): Promise<void> {
    this.requireWriter();
    await writeFileAtomic(this.path(scope, name), text);
    await (await this.manifest(scope)).register(name);
  }

  async readText(scope: Scope, name: string): Promise<string> {
    return readFile(await this.verified(scope, name), "utf8");
  }

  /** A file that something else writes (Parquet): `produce` fills the temporary path it is given, whose extension is that of `name`. */
  async writeFile(scope: Scope, name: string, produce: (temporary: string) => Promise<void>): Promise<void> {
    this.requireWriter();
    await produceFileAtomic(this.path(scope, name), produce);
    await this.register(scope, name);
  }

  /** Records a file or folder (a checkpoint) that is already in its place, whole. */
  async register(scope: Scope, name: string): Promise<void> {
    this.requireWriter();
    await (await this.manifest(scope)).register(name);
  }

  /** The path of a finished file or folder after its bytes were compared. @throws {CorruptFileError} */
  async verified(scope: Scope, name: string): Promise<string> {
    await (await this.manifest(scope)).verify(name);
    return this.path(scope, name);
  }

  /** SHA-256 of a finished file or folder, as the manifest has it; undefined for one that is not there. Does not read its bytes. */
  async checksum(scope: Scope, name: string): Promise<string | undefined> {
    const manifest = await this.manifest(scope);
    return manifest.has(name) ? manifest.checksum(name)?.sha256 : undefined;
  }

  /** A finished file or folder of another run, to the same place in this one. @throws {CorruptFileError} its bytes are not those that were finished. */
  async copyFrom(other: RunFolder, scope: Scope, name: string): Promise<void> {
    this.requireWriter();
    const [from, to] = [other.path(scope, name), this.path(scope, name)];
    const expected = await other.checksum(scope, name);
    await rm(to, { recursive: true, force: true });
    const files = expected === undefined ? [] : (await stat(from)).isDirectory() ? await filesBelow(from) : [""];
    for (const file of files) {
      await produceFileAtomic(join(to, file), (temporary) => copyFile(join(from, file), temporary, constants.COPYFILE_FICLONE));
    }
    if (files.length > 0) await this.register(scope, name);
    if (expected !== undefined && (await this.checksum(scope, name)) === expected) return;
    await this.remove(scope, [name]);
    throw new CorruptFileError({
      message: `${from}: ${expected === undefined ? "not recorded as finished" : "its content has changed since it was written"}`,
      value: from,
      expected: expected === undefined ? "a file that its manifest names" : `SHA-256 ${expected.slice(0, 12)}…`,
      remedy: "restore the file from a copy, or remove that run",
    });
  }

  /** Takes finished files away again, e.g. a stage that is to be done anew. */
  async remove(scope: Scope, names: readonly string[]): Promise<void> {
    this.requireWriter();
    await (await this.manifest(scope)).forget(names);
    for (const name of names) await rm(this.path(scope, name), { recursive: true, force: true });
  }

  // ---------------------------------------------------------------- logs

  appendEvent(event: RunEvent): void {
    this.requireWriter();
    this.events ??= JsonLinesWriter.open(join(this.dir, EVENTS), "close");
    this.events.append(event);
  }

  readEvents(): Promise<RunEvent[]> {
    return readJsonLines(join(this.dir, EVENTS), eventSchema);
  }

  appendMetrics(metrics: Metrics): void {
    this.requireWriter();
    this.metrics ??= JsonLinesWriter.open(join(this.dir, METRICS), "line");
    this.metrics.append(metrics);
  }

  readMetrics(): Promise<Metrics[]> {
    return readJsonLines(join(this.dir, METRICS), metricsSchema) as Promise<Metrics[]>;
  }

  /** Drops the lines of `stage` and later ones, so that doing the stage again writes the same bytes. Returns how many went. */
  async truncateMetrics(stage: number): Promise<number> {
    this.requireWriter();
    this.metrics?.close();
    this.metrics = undefined;
    return filterJsonLines(join(this.dir, METRICS), metricsSchema, (line) => line.stage < stage);
  }

  // ----------------------------------------------------------------

  private async manifest(scope: Scope): Promise<Manifest> {
    // A reader looks again each time: another process may have finished more since.
    let manifest = this.lock === undefined ? undefined : this.manifests.get(scope);
    if (manifest === undefined) {
      manifest = await Manifest.load(this.folder(scope));
      this.manifests.set(scope, manifest);
    }
    return manifest;
  }

  private requireWriter(): void {
    if (this.lock !== undefined) return;
    throw new RunFolderError({
      message: `${this.dir} was opened for reading only`,
      expected: "RunFolder.create or RunFolder.resume",
      remedy: "open the folder with RunFolder.resume to write to it",
    });
  }
}

async function readRunRecord(dir: string): Promise<RunRecord> {
  const path = join(dir, RUN_FILE);
  if (!existsSync(path)) {
    throw new RunFolderError({
      message: existsSync(dir) ? `${dir} is not a run folder: it has no ${RUN_FILE}` : `${dir}: no such folder`,
      value: dir,
      expected: `the folder of a run, as made by \`envwright run\``,
      remedy: "check the path; runs are kept in runs/<name> unless --out said otherwise",
    });
  }
  const text = await readFile(path, "utf8").catch((cause) => {
    throw storageFailure(cause, "read", path);
  });
  refuseOtherVersion(parseJsonWith(z.object({ schema_version: z.int() }), text, path, CorruptFileError).schema_version, path);
  return parseJsonWith(runRecordSchema, text, path, CorruptFileError);
}

/** The record; another program or machine that goes on with the run is written down, once, and so is a change. For the holder of the lock. */
async function continued(path: string, change: RecipeChange | undefined): Promise<RunRecord> {
  const before = await readRunRecord(path);
  const { versions, continued_with = [], changed = [] } = before;
  const here = maker();
  const isKnown = [versions, ...continued_with].some((made) => isSameMaker(made, here));
  const record = {
    ...before,
    ...(isKnown ? {} : { continued_with: [...continued_with, here] }),
    ...(change === undefined ? {} : { recipe: change.recipe, changed: [...changed, [...change.set]] }),
  };
  if (!isKnown || change !== undefined) await writeFileAtomic(join(path, RUN_FILE), `${canonicalJson(record, 2)}\n`);
  return record;
}

/** @throws {RunFolderError} a folder that holds anything but what a killed writer left. */
export async function refuseOccupied(path: string, dir: string = path): Promise<void> {
  if (!existsSync(path)) return;
  const names = await readdir(path).catch((cause) => {
    throw storageFailure(cause, "read", dir);
  });
  const foreign = names.filter((name) => name !== LOCK_FILE && !isTemporary(name));
  if (foreign.length === 0) return;
  const isRun = foreign.includes(RUN_FILE);
  throw new RunFolderError({
    message: isRun ? `${dir} already holds a run` : `${dir} is not empty and holds no run (it has ${foreign.slice(0, 3).join(", ")})`,
    value: dir,
    expected: "a folder that does not exist yet or is empty",
    remedy: isRun
      ? `go on with it: envwright run --resume ${dir}; or choose another folder with --out`
      : "choose another folder with --out",
  });
}
