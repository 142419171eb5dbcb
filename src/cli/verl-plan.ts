/**
 * `envwright run RECIPE --dry-run` for the trainer `verl`: the command of a stage, its files, its size, the command that serves its
 * checkpoint, and what is known to go wrong. Starts nothing.
 */
import { join, resolve } from "node:path";
import { ConfigError, type Recipe, Seed } from "../core/index.js";
import { engineProblem } from "../loop/index.js";
import { portTrap, serverCommand, servingTraps, staysUp } from "../policies/index.js";
import { entrypointOf, type VerlEstimate, verlArguments, verlEstimate, verlTraps } from "../trainers/index.js";

export interface VerlPlan {
  trainer: "verl";
  submitted_to: string;
  command: string;
  data: { train: string; validation: string; metrics: string; checkpoints: string };
  estimate: VerlEstimate & { stages: number };
  /** How the stage's checkpoint is served for validation and the proposal. */
  serving?: { command: string; during_training: "stopped" | "up" };
  /** Empty: none of the known traps is sprung. */
  traps: string[];
}

/** @throws {ConfigError} for a recipe of another trainer. */
export async function verlPlan(recipe: Recipe, out: string): Promise<VerlPlan> {
  const options = recipe.trainer;
  if (options.kind !== "verl") {
    throw new ConfigError({
      message: `--dry-run shows what verl would be given, and the recipe's trainer is ${options.kind}`,
      value: options.kind,
      expected: "a recipe with trainer.kind verl, e.g. paper-verl",
      remedy: "leave --dry-run out; envwright doctor checks recipes",
    });
  }
  const folder = resolve(
    options.shared === undefined ? "" : "/",
    options.shared ?? "",
    options.shared === undefined ? out : resolve(out).slice(1),
  );
  const work = join(folder, "stages/00/checkpoint.verl");
  const file = (name: string) => join(work, name);
  const paths = { model: recipe.base, train: file("train.jsonl"), validation: file("validation.jsonl"), checkpoints: file("checkpoints") };
  const seed = Seed.root("run")
    .child(recipe.seed)
    .child("stage", 0, "train")
    .child("verl")
    .at(0)
    .below(2 ** 31);
  // The port is chosen when the stage starts.
  const args = verlArguments(options, paths, { url: `http://${options.reward_host}:PORT` }, seed);
  const { serving } = recipe;
  const place = { model: join(resolve(out), "stages/00/checkpoint"), port: serving?.port || "PORT" };
  return {
    trainer: "verl",
    submitted_to: options.ray ?? "this machine",
    command: entrypointOf({ command: options.python, args, cwd: work, env: {} }),
    data: { train: paths.train, validation: paths.validation, metrics: file("metrics.jsonl"), checkpoints: paths.checkpoints },
    estimate: { stages: recipe.stages, ...verlEstimate(options, recipe.instances) },
    ...(serving === undefined
      ? {}
      : { serving: { command: commandLine(serverCommand(serving, place, "")), during_training: staysUp(serving) ? "up" : "stopped" } }),
    traps: [...verlTraps(options, recipe.instances), ...(await servedTraps(recipe)), ...(await engineTraps(recipe))],
  };
}

async function servedTraps(recipe: Recipe): Promise<string[]> {
  if (recipe.serving === undefined) return ["serving is not given: nothing here could answer for verl's checkpoints, and a run is refused"];
  const taken = await portTrap(recipe.serving);
  return [...servingTraps(recipe), ...(taken === undefined ? [] : [taken])];
}

async function engineTraps(recipe: Recipe): Promise<string[]> {
  const problem = await engineProblem(recipe);
  return problem === undefined ? [] : [`${problem.message}, and a run is refused: ${problem.remedy}`];
}

/** As a shell would take it, without the folder that it is started in. */
function commandLine(command: Parameters<typeof entrypointOf>[0]): string {
  return entrypointOf({ ...command, cwd: "/" }).slice("cd / && ".length);
}

export function verlPlanText({ submitted_to, command, data, estimate, serving, traps }: VerlPlan): string {
  const number = (value: number) => value.toLocaleString("en");
  return [
    `submitted to: ${submitted_to}`,
    "",
    command.replaceAll(/ (?='?\+?[a-z_]+\.[^ ]*=)/g, " \\\n    "),
    "",
    ...Object.entries(data).map(([name, path]) => `${name.padEnd(12)}${path}`),
    "",
    ...(serving === undefined
      ? []
      : [
          `served for validation and the proposal, ${serving.during_training === "up" ? "and up" : "and stopped"} while verl trains:`,
          "",
          serving.command.replaceAll(" --", " \\\n    --"),
          "",
        ]),
    `${estimate.stages} stages of ${number(estimate.steps)} steps (${estimate.stepsPerEpoch} an epoch, ${estimate.epochs.toFixed(2)} epochs): ` +
      `${number(estimate.completions)} completions a stage, ${number(estimate.longestTokens)} tokens at most`,
    ...(traps.length === 0 ? ["none of the known traps is sprung"] : traps.map((trap) => `trap: ${trap}`)),
  ].join("\n");
}
