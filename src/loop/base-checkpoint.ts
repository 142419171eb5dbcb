/**
 * The checkpoint that a run starts from. The embedded engine opens a folder and reads all of it; a trainer and a server outside of this
 * process load models by themselves, from a folder or by a name such as Qwen/Qwen3-4B.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { CorruptFileError, type Recipe } from "../core/index.js";
import { checkpointHash, readCheckpoint } from "../nn/index.js";

/** Whether this process itself opens checkpoints of the run. */
export function usesEngine({ trainer, serving }: Pick<Recipe, "trainer" | "serving">): boolean {
  return trainer.kind === "embedded" || serving === undefined;
}

/** The base as an absolute path, or as it stands where it is a model's name. @param dir folder that relative paths start from. */
export function absoluteBase(recipe: Recipe, dir: string): string {
  const path = resolve(dir, recipe.base);
  return isName(recipe) && !existsSync(path) ? recipe.base : path;
}

/**
 * What the base is, by its hash; undefined for a name, whose weights are looked up by whoever loads them.
 * @throws {CorruptFileError} what the run could not start from.
 */
export async function checkedBaseHash(recipe: Recipe): Promise<string | undefined> {
  const { base } = recipe;
  if (usesEngine(recipe)) await readCheckpoint(base);
  else if (!existsSync(base) && isName(recipe)) return undefined;
  else if (!existsSync(join(base, "config.json"))) {
    throw new CorruptFileError({
      message: existsSync(base) ? `${base} holds no config.json` : `${base}: no such checkpoint folder`,
      value: base,
      expected: "a Hugging Face folder, or the name of a model such as Qwen/Qwen3-4B",
      remedy: "check the path; a relative one starts from the recipe's file",
    });
  }
  return checkpointHash(base);
}

function isName(recipe: Recipe): boolean {
  return !usesEngine(recipe) && /^[\w-][\w.-]*\/[\w-][\w.-]*$/.test(recipe.base);
}
