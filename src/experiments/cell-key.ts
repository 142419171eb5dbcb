/** What a run's bytes depend on, as one string: two cells with the same key are the same run, wherever they lie and whatever they are called. */
import { createHash } from "node:crypto";
import { canonicalJson, type Recipe } from "../core/index.js";

/**
 * @param baseSha256 hash of the base checkpoint; without it (runs of old versions) the path of the base stands for it.
 * Name and description say nothing of the bytes, and neither does the number of workers.
 */
export function cellKey(recipe: Recipe, seed: number, baseSha256: string | undefined): string {
  const { name: _name, description: _description, workers: _workers, seed: _seed, base, ...rest } = recipe;
  return createHash("sha256")
    .update(canonicalJson({ ...rest, base: baseSha256 ?? base, seed }))
    .digest("hex");
}
