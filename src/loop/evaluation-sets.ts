/**
 * The two frozen sets of a recipe: `validation`, which every checkpoint is evaluated on and the engineer is told about, and `held-out`, on
 * which base and last checkpoint are compared. They follow from the recipe alone, not from the run's seed: runs of one recipe share them,
 * and base training can stay clear of them. No board of one is in the other, or in a benchmark set.
 */
import {
  canonicalJson,
  type DatasetManifest,
  type EnvironmentFamily,
  type GenerateOptions,
  type InstanceBase,
  type KnobTable,
  type Recipe,
  Seed,
} from "../core/index.js";

export interface EvaluationSet<I extends InstanceBase = InstanceBase> {
  instances: I[];
  /** Over the canonical hashes in order: two reports with the same value judged the same boards. */
  sha256: string;
}

type How = Pick<GenerateOptions, "workers" | "signal" | "onProgress">;

/** Both sets with their manifests; the held-out one is empty where the recipe wants none. @throws {InfeasibleError} */
export async function makeEvaluationSets<I extends InstanceBase>(
  family: EnvironmentFamily<unknown, I>,
  recipe: Recipe,
  template: unknown,
  how: How = {},
): Promise<Record<"validation" | "held-out", { instances: I[]; manifest: DatasetManifest | undefined }>> {
  const exclude = new Set(await family.reservedHashes());
  const make = (name: string, { count, seed }: { count: number; seed: number }) =>
    family.generateBalanced(template, { ...how, count, seed: Seed.root(name).child(seed), exclude });
  const validation = await make("validation", recipe.validation);
  for (const instance of validation.instances) exclude.add(instance.hash);
  const heldOut = recipe.held_out.count === 0 ? { instances: [], manifest: undefined } : await make("held-out", recipe.held_out);
  return { validation, "held-out": heldOut };
}

/**
 * What a recipe's evaluation sets follow from, part by part; recipes that agree in every part are evaluated on the same boards. The sets are
 * balanced over the strata whatever the knobs are, so the knobs of `like`, a recipe of the family, stand in for those of a recipe over its strata.
 */
export function evaluationSetSource<C>(family: EnvironmentFamily<C>, recipe: Recipe, like: Recipe): Record<string, unknown> {
  if (recipe.family !== family.name) return { family: recipe.family };
  const configOf = (of: Recipe) => family.normalise(family.configSchema.parse(of.config)).config;
  const strataOf = (table: KnobTable) => Object.keys(table).sort();
  const config = configOf(recipe);
  const knobs = family.knobTable(configOf(like));
  const strata = strataOf(family.knobTable(config));
  const { validation, held_out } = recipe;
  return {
    family: recipe.family,
    config: canonicalJson(strata) === canonicalJson(strataOf(knobs)) ? family.withKnobs(config, knobs) : strata,
    validation: { count: validation.count, seed: validation.seed },
    held_out,
  };
}

/** Hashes that no training set of the recipe may contain: benchmark sets and both evaluation sets. */
export async function hashesApart<I extends InstanceBase>(
  family: EnvironmentFamily<unknown, I>,
  sets: readonly { instances: readonly I[] }[],
): Promise<Set<string>> {
  const hashes = new Set(await family.reservedHashes());
  for (const set of sets) for (const instance of set.instances) hashes.add(instance.hash);
  return hashes;
}
