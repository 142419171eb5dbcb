/**
 * Everything a run needs, opened once: family, run folder, engine or server, checkpoints, scorer, trainer. Nothing here decides; a mistake in the
 * recipe, the config or the base checkpoint is refused here, before any work starts.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  ConfigError,
  CorruptFileError,
  type EnvironmentFamily,
  type EventStream,
  InfeasibleError,
  type InstanceBase,
  parseWith,
  type Recipe,
  Seed,
} from "../core/index.js";
import { ENGINEERS, type Variant, variantNamed } from "../engineers/index.js";
import { familyByName } from "../environments/index.js";
import { checkpointHash, Engine, readCheckpoint } from "../nn/index.js";
import { servingTraps } from "../policies/index.js";
import { FamilyScorer } from "../rewards/index.js";
import type { RunFolder } from "../store/index.js";
import type { Trainer } from "../trainers/index.js";
import { usesEngine } from "./base-checkpoint.js";
import { type CheckpointPolicies, embeddedPolicies, servedPolicies } from "./checkpoint-policies.js";
import type { PolicyOpener } from "./engineering.js";
import { checkTrainer, openTrainer } from "./open-trainer.js";
import { workerCount } from "./workers.js";

export interface Workbench<I extends InstanceBase = InstanceBase> {
  recipe: Recipe;
  /** The config the first stage starts from, or whose strata the first random config is drawn over. */
  template: unknown;
  family: EnvironmentFamily<unknown, I>;
  objective: string;
  variant: Variant;
  folder: RunFolder;
  seed: Seed;
  /** Folder of the base checkpoint, or the name that trainer and server load it by. */
  baseFolder: string;
  checkpoints: CheckpointPolicies;
  workers: number;
  trainer: Trainer<I>;
  newScorer: () => FamilyScorer<I>;
  events: EventStream;
  signal: AbortSignal | undefined;
  /** For the engineer `llm`. */
  openPolicy: PolicyOpener | undefined;
  /** Folders of runs that a stage may be taken from instead of being made. */
  reuse: readonly string[];
  /** Stops the server and the engine, where there are any. */
  close(): Promise<void>;
}

/**
 * The checks of a recipe that need no engine: shared by `run`, `experiment`, `doctor` and tests.
 * @param exists whether a path is there; an experiment knows of runs that will be.
 */
export function checkRecipe(
  recipe: Recipe,
  exists: (path: string) => boolean = existsSync,
): { family: EnvironmentFamily<unknown, InstanceBase>; template: unknown; variant: Variant } {
  const family = familyByName(recipe.family) as EnvironmentFamily<unknown, InstanceBase>;
  const parsed = parseWith(family.configSchema, recipe.config, "recipe, config");
  const { config: template } = family.normalise(parsed);
  const problems = family.infeasible(template);
  if (recipe.initial === "given" && problems.length > 0) {
    throw new InfeasibleError({
      message: problems.map((p) => `${family.stratumLabel} ${p.stratum}: ${p.problem}`).join("; "),
      value: recipe.config,
      expected: "a config whose every cell can be generated",
      remedy: problems.map((p) => p.nearest).join("; "),
    });
  }
  const { engineer } = recipe;
  if (!ENGINEERS.includes(engineer.name)) {
    throw new ConfigError({
      message: `there is no engineer "${engineer.name}"`,
      value: engineer.name,
      expected: ENGINEERS.join(", "),
      remedy: "name one of these as engineer.name",
    });
  }
  if (engineer.name === "llm" && engineer.policy === undefined) {
    throw new ConfigError({
      message: 'the engineer "llm" has no language model to ask',
      expected: "engineer.policy: a policy as for `envwright eval`, e.g. openai:MODEL@BASE_URL",
      remedy: "--set engineer.policy=openai:MODEL@BASE_URL, or choose another engineer.name",
    });
  }
  if (recipe.rendering !== "compact" && usesEngine(recipe)) {
    throw new ConfigError({
      message: `the embedded engine reads the compact rendering; the recipe says "${recipe.rendering}"`,
      value: recipe.rendering,
      expected: "rendering: compact; or serving, and a trainer outside of this process",
      remedy: "set rendering: compact, or name a server for evaluation and proposals as serving",
    });
  }
  checkTrainer(recipe);
  const traps = servingTraps(recipe);
  if (traps.length > 0) {
    throw new ConfigError({ message: traps.join("; "), value: recipe.serving, remedy: "change the recipe's serving" });
  }
  if (engineer.from !== undefined && !exists(engineer.from)) {
    throw new ConfigError({
      message: `engineer.from: ${engineer.from} does not exist`,
      value: engineer.from,
      expected: engineer.name === "replay" ? "the folder of an earlier run" : "a config file",
      remedy: "check the path; in a recipe it is relative to the recipe's file",
    });
  }
  if (engineer.name === "replay" && engineer.from === undefined) {
    throw new ConfigError({
      message: "the engineer replay has no run to replay",
      expected: "engineer.from: the folder of an earlier run",
      remedy: "--set engineer.from=runs/NAME",
    });
  }
  return { family, template, variant: variantNamed(engineer.variant, engineer.variants) };
}

export interface OpenOptions {
  folder: RunFolder;
  events: EventStream;
  signal?: AbortSignal | undefined;
  /** Instead of the recipe's: another machine may resume a run. */
  workers?: number | undefined;
  openPolicy?: PolicyOpener | undefined;
  reuse?: readonly string[] | undefined;
}

/** @throws {InputError} for whatever is wrong with recipe, config or base checkpoint. The caller closes the workbench. */
export async function openWorkbench({ folder, events, signal, workers: asked, openPolicy, reuse = [] }: OpenOptions): Promise<Workbench> {
  const { recipe, seed } = folder.record;
  const { family, template, variant } = checkRecipe(recipe);
  const objective = family.objective(template);
  const baseFolder = recipe.base;
  const base = usesEngine(recipe) ? await readCheckpoint(baseFolder) : undefined;
  const { base_sha256 } = folder.record;
  if (base_sha256 !== undefined && base_sha256 !== (await checkpointHash(baseFolder))) {
    throw new CorruptFileError({
      message: `${baseFolder} is not the checkpoint that this run started from`,
      value: baseFolder,
      expected: `a checkpoint with the hash ${base_sha256.slice(0, 12)}…, as run.json names it`,
      remedy: "put the old base back, or start a new run from the new one",
    });
  }
  const root = Seed.root("run").child(seed);
  const workers = workerCount(asked ?? recipe.workers);
  const strata = family.strata(template);
  const { grpo } = recipe.trainer;
  const embedded = base === undefined ? undefined : { base, engine: await Engine.start({ config: base.config, workers }) };
  try {
    const { serving } = recipe;
    const checkpoints =
      serving === undefined
        ? embeddedPolicies(embedded!.engine, embedded!.base, folder)
        : servedPolicies({ recipe: { ...recipe, serving }, folder, seed: root, events });
    return {
      recipe,
      template,
      family,
      objective,
      variant,
      folder,
      seed: root,
      baseFolder,
      checkpoints,
      workers,
      trainer: openTrainer({ recipe, family, strata, objective, embedded }),
      newScorer: () =>
        new FamilyScorer(family, { objective, rendering: recipe.rendering, reward: recipe.reward, scale: grpo.scale_rewards }),
      events,
      signal,
      openPolicy,
      reuse: reuse.map((dir) => resolve(dir)),
      async close() {
        try {
          await checkpoints.close();
        } finally {
          await embedded?.engine.close();
        }
      },
    };
  } catch (error) {
    // Whoever calls has nothing to close yet.
    await embedded?.engine.close();
    throw error;
  }
}
