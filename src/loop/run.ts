/** Starting, resuming and ending a run around the closed loop: folder, lock, event log, engine or server, interruption. */
import { resolve } from "node:path";
import { BoundaryError, type EventListener, EventStream, InterruptedError, type Recipe } from "../core/index.js";
import { isFinished, readHistory } from "../evaluation/index.js";
import { absolutePolicy } from "../policies/index.js";
import { otherMaker, type RecipeChange, RunFolder } from "../store/index.js";
import { absoluteTrainer } from "../trainers/index.js";
import { absoluteBase, checkedBaseHash } from "./base-checkpoint.js";
import { closedLoop } from "./closed-loop.js";
import { checkEngine } from "./engine-python.js";
import { engineerSourceHash, type PolicyOpener, policySourceHash } from "./engineering.js";
import { checkRecipe, openWorkbench } from "./workbench.js";

export interface RunOptions {
  /** Stops the run between two steps; what is done is kept. */
  signal?: AbortSignal;
  onEvent?: EventListener;
  now?: () => Date;
  /** Set on resume: engine workers of this machine. Results do not depend on it. */
  workers?: number;
  /** Opens the policy of the engineer `llm`. */
  openPolicy?: PolicyOpener;
  /** Folders of runs whose finished stages are copied where this run would make the same bytes. */
  reuse?: readonly string[];
}

export interface StartOptions extends RunOptions {
  recipe: Recipe;
  /** Folder that relative paths of the recipe start from. */
  recipeDir: string;
  out: string;
  seed?: number;
}

/** Runs a recipe in a new folder. @throws {InputError} before anything is written, when recipe or base are wrong. */
export async function runLoop(options: StartOptions): Promise<RunFolder> {
  const recipe = withAbsolutePaths(options.recipe, options.recipeDir);
  checkRecipe(recipe);
  await checkEngine(recipe, options.signal);
  const base_sha256 = await checkedBaseHash(recipe);
  const engineer_sha256 = await engineerSourceHash(recipe.engineer);
  const policy_sha256 = await policySourceHash(recipe.engineer);
  const folder = await RunFolder.create(options.out, {
    recipe,
    ...(base_sha256 === undefined ? {} : { base_sha256 }),
    ...(engineer_sha256 === undefined ? {} : { engineer_sha256 }),
    ...(policy_sha256 === undefined ? {} : { policy_sha256 }),
    ...(options.seed === undefined ? {} : { seed: options.seed }),
  });
  return inFolder(folder, options, false);
}

/** Goes on with a run that was interrupted or killed, with other settings of the machine where `change` says so; a finished run is left as it is. */
export async function resumeLoop(dir: string, options: RunOptions & { change?: RecipeChange } = {}): Promise<RunFolder> {
  const readable = await RunFolder.open(dir);
  const history = await readHistory(readable);
  if (isFinished(history)) return readable;
  const { change, signal } = options;
  const { recipe } = change ?? readable.record;
  if (change !== undefined) checkRecipe(recipe);
  // Where nothing is left to train nobody needs its engine.
  if (history.stages.filter((stage) => stage.training !== undefined).length < recipe.stages)
    await checkEngine({ trainer: recipe.trainer }, signal);
  return inFolder(await RunFolder.resume(dir, change), options, true, change?.set);
}

async function inFolder(folder: RunFolder, options: RunOptions, resumed: boolean, changed: readonly string[] = []): Promise<RunFolder> {
  const started = performance.now();
  const events = new EventStream(options.now ?? (() => new Date()));
  events.subscribe((event) => {
    // Progress is for who watches; in the log it would drown the rest.
    if (event.type !== "progress") folder.appendEvent(event);
  });
  if (options.onEvent !== undefined) events.subscribe(options.onEvent);
  try {
    const { signal, workers, openPolicy, reuse } = options;
    const bench = await openWorkbench({ folder, events, signal, workers, openPolicy, reuse });
    try {
      const { recipe } = bench;
      events.emit({
        type: "run-started",
        name: recipe.name,
        stages: recipe.stages,
        steps_per_stage: bench.trainer.stepsPerStage,
        engineer: recipe.engineer.name,
        variant: recipe.engineer.variant,
        stratum: bench.family.stratumLabel,
        resumed,
        pid: process.pid,
      });
      const other = resumed ? otherMaker(folder.record) : undefined;
      if (other !== undefined) {
        events.emit({ type: "warning", message: `the run goes on, though ${other}: what is made from here on may be of other bytes` });
      }
      if (changed.length > 0) events.emit({ type: "warning", message: `the run goes on with ${changed.join(", ")}` });
      await closedLoop(bench);
      await bench.checkpoints.close();
      events.emit({ type: "run-finished", seconds: (performance.now() - started) / 1000 });
    } finally {
      await bench.close();
    }
  } catch (error) {
    if (error instanceof InterruptedError) events.emit({ type: "run-interrupted", resume: `envwright run --resume ${folder.dir}` });
    else
      events.emit({
        type: "run-failed",
        message: (error as Error).message,
        boundary: error instanceof BoundaryError ? error.boundary : "program",
      });
    throw error;
  } finally {
    folder.close();
  }
  return folder;
}

/** Paths of a recipe are relative to its file; in run.json they are absolute, so that a run can be resumed from anywhere. */
export function withAbsolutePaths(recipe: Recipe, dir: string): Recipe {
  const { from, policy } = recipe.engineer;
  return {
    ...recipe,
    base: absoluteBase(recipe, dir),
    trainer: absoluteTrainer(recipe.trainer, dir),
    engineer: {
      ...recipe.engineer,
      ...(from === undefined ? {} : { from: resolve(dir, from) }),
      ...(policy === undefined ? {} : { policy: absolutePolicy(policy, dir) }),
    },
  };
}
