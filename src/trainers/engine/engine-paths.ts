/**
 * Paths in a trainer's options. An engine is started in its stage's folder, so what a recipe or a command line names by a relative path is made
 * absolute when the recipe is opened. Names that are looked for on the PATH, and what is no file here, stay as they are.
 */
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { TrainerOptions, TrlTrainerOptions } from "../../core/index.js";

/** @param dir folder that relative paths start from. */
export function absoluteTrainer(trainer: TrainerOptions, dir: string): TrainerOptions {
  switch (trainer.kind) {
    case "embedded":
      return trainer;
    case "trl":
      return { ...trainer, python: absoluteProgram(trainer.python, dir), launch: absoluteLaunch(trainer.launch, dir) };
    case "verl":
      // A cluster's Python is a path of its machines.
      return trainer.ray === undefined ? { ...trainer, python: absoluteProgram(trainer.python, dir) } : trainer;
  }
}

/** A program named by a path. */
export function absoluteProgram(program: string, dir: string): string {
  return isPath(program) ? absoluteFile(program, dir) : program;
}

/** A launcher and its arguments, of which some name files, alone or as `--option=FILE`. */
export function absoluteLaunch([launcher, ...rest]: readonly string[], dir: string): string[] {
  if (launcher === undefined) return [];
  return [absoluteProgram(launcher, dir), ...rest.map((argument, i) => absoluteArgument(argument, dir, rest[i - 1]))];
}

/** A bare word is a subcommand, unless an option `before` it takes it. */
export function absoluteArgument(argument: string, dir: string, before = ""): string {
  if (!/[./]/.test(argument) && !/^--?[\w-]+$/.test(before)) return argument;
  const [, option = "", value = argument] = /^(--?[\w-]+=)(.*)$/s.exec(argument) ?? [];
  return `${option}${absoluteFile(value, dir)}`;
}

/** The program that starts the script; undefined where that is Python itself. One named alone is that of the engine's Python where it has one, so that its environment need not be activated. */
export function launcherOf({ launch, python }: Pick<TrlTrainerOptions, "launch" | "python">): string | undefined {
  const [launcher] = launch;
  if (launcher === undefined || isPath(launcher) || !isPath(python)) return launcher;
  const beside = join(dirname(python), launcher);
  return existsSync(beside) ? beside : launcher;
}

function absoluteFile(text: string, dir: string): string {
  const path = resolve(dir, text);
  return text !== "" && statSync(path, { throwIfNoEntry: false })?.isFile() === true ? path : text;
}

function isPath(program: string): boolean {
  return program.includes("/");
}
