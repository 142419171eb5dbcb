/** What a run's bytes depend on, as one string: two cells with the same key are the same run, wherever they lie and whatever they are called. */
import { createHash } from "node:crypto";
import { canonicalJson, type Recipe, withoutMachineSettings } from "../core/index.js";

/** Hashes of what a recipe names by its path. Without one (it is gone, or the run is of an old version) the path stands for it. */
export interface CellSources {
  /** Of the base checkpoint. */
  base: string | undefined;
  /** Of what the engineer reads from `engineer.from`. */
  engineer?: string | undefined;
  /** Of what the engineer asks: the policy file, model or recorded calls of `engineer.policy`. */
  policy?: string | undefined;
}

/** Name and description say nothing of the bytes, and neither does what machine and how many workers it is run on. */
export function cellKey(recipe: Recipe, seed: number, sources: CellSources): string {
  const { base, engineer } = recipe;
  const { name: _name, description: _description, seed: _seed, base: _base, engineer: _engineer, ...rest } = withoutMachineSettings(recipe);
  const from = sources.engineer ?? engineer.from;
  const policy = sources.policy ?? engineer.policy;
  const asked = { ...engineer, ...(from === undefined ? {} : { from }), ...(policy === undefined ? {} : { policy }) };
  return createHash("sha256")
    .update(canonicalJson({ ...rest, base: sources.base ?? base, engineer: asked, seed }))
    .digest("hex");
}
