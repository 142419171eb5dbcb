/**
 * One cell of a matrix or one branch as a run of its own, in a process of its own: kept when it is finished, taken up when it is not, copied
 * from elsewhere when the same run was made there. Refuses a folder whose run is another one.
 */
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { InputError } from "../core/index.js";
import { isFinished, readHistory } from "../evaluation/index.js";
import { cellKey } from "../experiments/index.js";
import { checkedBaseHash, engineerSourceHash, withAbsolutePaths } from "../loop/index.js";
import { checkpointHash } from "../nn/index.js";
import { RUN_FILE, RunFolder } from "../store/index.js";
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
  const key = await wantedKey(cell);
  const stages = (cell.reuseStages ?? []).flatMap((source) => ["--reuse-stages", source]);
  const common = ["--workers", String(workers), ...stages, "--json"];
  if (existsSync(join(dir, RUN_FILE))) {
    const folder = await RunFolder.open(dir);
    if ((await keyOf(folder)) !== key) throw otherRun(cell);
    if (isFinished(await readHistory(folder))) return;
    return runChild(["run", "--resume", dir, ...common], signal);
  }
  for (const source of cell.reuse ?? []) {
    const found = await finishedRun(source, key);
    if (found === undefined) continue;
    await copyWhole(found, dir);
    note(`${basename(dir)}: taken from ${found}`);
    return;
  }
  const sets = overrides.flatMap((override) => ["--set", override]);
  await runChild(["run", recipe, "--out", dir, "--seed", String(seed), ...sets, ...common], signal);
}

async function wantedKey({ recipe, overrides, seed }: CellRun): Promise<string> {
  const found = loadRecipe(recipe, overrides);
  const absolute = withAbsolutePaths(found.recipe, found.dir);
  return cellKey(absolute, seed, { base: await checkedBaseHash(absolute), engineer: await engineerSourceHash(absolute.engineer) });
}

/** Runs of old versions did not write down the hashes of what they name by a path: then it is that of what stands there now. */
async function keyOf({ record }: RunFolder): Promise<string> {
  const { recipe, seed, base_sha256, engineer_sha256 } = record;
  const base = base_sha256 ?? (existsSync(recipe.base) ? await checkpointHash(recipe.base) : undefined);
  return cellKey(recipe, seed, { base, engineer: engineer_sha256 ?? (await engineerSourceHash(recipe.engineer)) });
}

/** A finished run with this key among the folders directly below `dir`. */
async function finishedRun(dir: string, key: string): Promise<string | undefined> {
  for (const name of (await readdir(dir)).sort()) {
    const path = join(dir, name);
    if (!existsSync(join(path, RUN_FILE))) continue;
    const folder = await RunFolder.open(path);
    if ((await keyOf(folder)) === key && isFinished(await readHistory(folder))) return path;
  }
  return undefined;
}

/** Under another name first, so that a copy that was cut short is never taken for a run. */
async function copyWhole(from: string, to: string): Promise<void> {
  const temporary = join(dirname(to), `.copy-${process.pid}-${basename(to)}`);
  await mkdir(dirname(to), { recursive: true });
  try {
    await cp(from, temporary, { recursive: true });
    await rename(temporary, to);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

function otherRun({ dir, overrides, seed }: CellRun): InputError {
  return new InputError({
    message: `${dir} holds a run of another recipe than is asked for`,
    value: dir,
    expected: `the recipe with ${overrides.join(" ") || "no overrides"} and seed ${seed}`,
    remedy: "choose another --out, or remove that folder",
  });
}
