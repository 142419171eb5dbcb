/**
 * One cell of a matrix or one branch as a run of its own, in a process of its own: kept when it is finished, taken up when it is not, copied
 * from elsewhere when the same run was made there. Refuses a folder whose run is another one.
 */
import { existsSync, statSync } from "node:fs";
import { cp, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { changedMachineSettings, EnvwrightError, InputError, type Recipe, RunFolderError } from "../core/index.js";
import { isFinished, readHistory } from "../evaluation/index.js";
import { cellKey } from "../experiments/index.js";
import { checkedBaseHash, engineerSourceHash, policySourceHash, withAbsolutePaths } from "../loop/index.js";
import { checkpointHash } from "../nn/index.js";
import { lockHolder, otherMaker, RUN_FILE, RunFolder, refuseOccupied, storageFailure } from "../store/index.js";
import { runChild } from "./child-run.js";
import { loadRecipe } from "./recipes.js";

export interface CellRun {
  dir: string;
  /** Name or path of the recipe, and its `--set` overrides. */
  recipe: string;
  overrides: readonly string[];
  seed: number;
  workers: number;
  /** Experiment folders to take the same finished run from. */
  reuse?: readonly string[];
  /** Experiment folders to take stages of the same bytes from. */
  reuseStages?: readonly string[];
}

export async function runCell(cell: CellRun, signal: AbortSignal, note: (text: string) => void = () => {}): Promise<void> {
  const { dir, recipe, overrides, seed, workers } = cell;
  const found = loadRecipe(recipe, overrides);
  const wanted = withAbsolutePaths(found.recipe, found.dir);
  const key = await wantedKey(wanted, seed);
  const stages = (cell.reuseStages ?? []).flatMap((source) => ["--reuse-stages", source]);
  const common = ["--workers", String(workers), ...stages, "--json"];
  if (existsSync(join(dir, RUN_FILE))) {
    const folder = await RunFolder.open(dir);
    if ((await keyOf(folder)) !== key) throw otherRun(cell);
    const other = otherMaker(folder.record);
    const finished = isFinished(await readHistory(folder));
    if (other !== undefined) note(`${basename(dir)}: ${finished ? "kept" : "gone on with"}, though ${other}`);
    if (finished) return;
    const changed = changedMachineSettings(wanted, folder.record.recipe);
    return runChild(["run", "--resume", dir, ...changed.flatMap((set) => ["--set", set]), ...common], signal);
  }
  for (const source of cell.reuse ?? []) {
    const same = await finishedRun(source, key, basename(dir), note);
    if (same === undefined) continue;
    await copyWhole(same, dir);
    note(`${basename(dir)}: taken from ${same}`);
    return;
  }
  const sets = overrides.flatMap((override) => ["--set", override]);
  await runChild(["run", recipe, "--out", dir, "--seed", String(seed), ...sets, ...common], signal);
}

async function wantedKey(absolute: Recipe, seed: number): Promise<string> {
  return cellKey(absolute, seed, {
    base: await checkedBaseHash(absolute),
    engineer: await engineerSourceHash(absolute.engineer),
    policy: await policySourceHash(absolute.engineer),
  });
}

/** Runs of old versions did not write down the hashes of what they name by a path: then it is that of what stands there now. */
async function keyOf({ record }: RunFolder): Promise<string> {
  const { recipe, seed, base_sha256, engineer_sha256, policy_sha256 } = record;
  const base = base_sha256 ?? (existsSync(recipe.base) ? await checkpointHash(recipe.base) : undefined);
  return cellKey(recipe, seed, {
    base,
    engineer: engineer_sha256 ?? (await engineerSourceHash(recipe.engineer)),
    policy: policy_sha256 ?? (await policySourceHash(recipe.engineer)),
  });
}

/** A finished run with this key among the folders directly below `dir`, made by this program on this kind of machine. */
async function finishedRun(dir: string, key: string, cell: string, note: (text: string) => void): Promise<string | undefined> {
  for (const name of (await readdir(dir)).sort()) {
    const path = join(dir, name);
    if (!existsSync(join(path, RUN_FILE))) continue;
    try {
      const folder = await RunFolder.open(path);
      if ((await keyOf(folder)) !== key || !isFinished(await readHistory(folder))) continue;
      const other = otherMaker(folder.record);
      if (other === undefined) return path;
      note(
        `${cell}: ${path} has the same recipe and seed, but ${other}: not taken. Copied into the experiment's folder by hand, it is kept by --resume`,
      );
    } catch (cause) {
      const error = storageFailure(cause, "read", path);
      if (!(error instanceof EnvwrightError)) throw error;
      note(`${path} cannot be read, and is passed over: ${error.message}`);
    }
  }
  return undefined;
}

/** Under another name first, so that a copy that was cut short is never taken for a run. @throws {RunFolderError} where something lies already. */
async function copyWhole(from: string, to: string): Promise<void> {
  await refuseOccupied(to);
  const holder = lockHolder(to);
  if (holder !== undefined) {
    throw new RunFolderError({
      message: `${to} is held by process ${holder}`,
      value: to,
      expected: "a folder that no run is being made in",
      remedy: `wait for process ${holder}, or choose another --out`,
    });
  }
  const temporary = join(dirname(to), `.copy-${process.pid}-${basename(to)}`);
  await mkdir(dirname(to), { recursive: true });
  try {
    await cp(from, temporary, { recursive: true });
    // What a killed writer left, at most.
    await rm(to, { recursive: true, force: true });
    await rename(temporary, to);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** @throws {InputError} the first of the folders given to an option that is not there. */
export function requireFolders(option: string, folders: readonly string[]): void {
  const missing = folders.find((folder) => statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true);
  if (missing === undefined) return;
  throw new InputError({
    message: `${option} ${missing}: no such folder`,
    value: missing,
    expected: "a folder that runs lie in, e.g. that of an experiment",
    remedy: "check the path",
  });
}

function otherRun({ dir, overrides, seed }: CellRun): InputError {
  return new InputError({
    message: `${dir} holds a run of another recipe than is asked for`,
    value: dir,
    expected: `the recipe with ${overrides.join(" ") || "no overrides"} and seed ${seed}`,
    remedy: "choose another --out, or remove that folder",
  });
}
