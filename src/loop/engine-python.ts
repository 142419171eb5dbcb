/**
 * What an engine outside of this process lacks on this machine: asked of its Python before a run starts, since the base would be served and validated
 * first. Nothing is imported for it, as that would take seconds, unless names of `grpo_config` have to be looked up. Where a Ray cluster
 * runs the engine nothing is asked: its Python is on other machines.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { ConfigError, InterruptedError, type Recipe, shellWord, type TrlTrainerOptions } from "../core/index.js";
import { PACKAGE_ROOT } from "../store/index.js";
import { launcherOf } from "../trainers/index.js";

/** @throws {ConfigError} what the recipe's engine lacks here, and what to do about it. @throws {InterruptedError} by the signal */
export async function checkEngine({ trainer }: Pick<Recipe, "trainer">, signal?: AbortSignal): Promise<void> {
  const problem = await engineProblem({ trainer }, signal);
  if (signal?.aborted) throw new InterruptedError({ message: `interrupted while ${trainer.kind} was looked for` });
  if (problem !== undefined) throw new ConfigError(problem);
}

export interface EngineProblem {
  message: string;
  value: unknown;
  expected: string;
  remedy: string;
}

/** What a run would be refused for; undefined for the engine of this process. */
export async function engineProblem({ trainer }: Pick<Recipe, "trainer">, signal?: AbortSignal): Promise<EngineProblem | undefined> {
  if (trainer.kind === "embedded" || (trainer.kind === "verl" && trainer.ray !== undefined)) return undefined;
  const { kind, python, environment } = trainer;
  const path = environment.PATH ?? process.env.PATH;
  const launcher = kind === "trl" ? launcherOf(trainer) : undefined;
  if (launcher !== undefined) {
    const program = pathOf(launcher, path);
    if (program === undefined) {
      return {
        message: `there is no ${launcher} here, nor beside ${python} (trainer.launch names another)`,
        value: launcher,
        expected: "a launcher beside trainer.python, on the PATH, or named by its path",
        remedy: "check trainer.launch and trainer.python",
      };
    }
    // Of another Python: what that one has is not known.
    const own = pathOf(python, path);
    if (own === undefined || dirname(program) !== dirname(own)) return undefined;
  }
  const missing = await modulesMissing(python, [kind, "envwright"], "trainer.python", { environment, signal });
  if (missing.length > 0) {
    return {
      message: missing.join("; "),
      value: python,
      expected: `a Python with ${kind} and this project's package`,
      remedy: `${pathOf(python, path) === undefined ? "" : `${shellWord(python)} -m pip install ${PACKAGES[kind]}, or `}name a Python that has them: --set trainer.python=PATH`,
    };
  }
  return kind === "trl" ? unknownArguments(trainer, signal) : undefined;
}

const OURS = join(PACKAGE_ROOT, "python");
/** What pip is to install for each kind. */
const PACKAGES = {
  trl: shellWord(`${OURS}[trl]`),
  verl: `verl==0.9.1 TransferQueue==0.1.8 ${shellWord(OURS)}`,
} as const;

/** The same as sentences, none where nothing is lacking. */
export async function enginesLack({ trainer }: Pick<Recipe, "trainer">): Promise<string[]> {
  const problem = await engineProblem({ trainer });
  return problem === undefined ? [] : [problem.message];
}

/** Where a program is, by itself or on the PATH, or on another one. */
export function pathOf(program: string, path = process.env.PATH): string | undefined {
  const places = program.includes("/") ? [program] : (path ?? "").split(delimiter).map((dir) => join(dir, program));
  return places.find((path) => existsSync(path));
}

interface Asking {
  /** Further variables that Python is started with. */
  environment?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
}

/** An import of TRL takes some seconds, from a slow disk some more. */
const LONGEST = 120_000;

/** @param option of the recipe that names `python`. */
export async function modulesMissing(python: string, modules: readonly string[], option: string, asking: Asking = {}): Promise<string[]> {
  const script = "from importlib.util import find_spec as f; print(*[m for m in sys.argv[1:] if f(m) is None])";
  const asked = await ask(python, script, modules, asking);
  if (asked.failure !== undefined) return [`${python} does not run: ${asked.failure}`];
  const missing = asked.answer.trim();
  return missing === "" ? [] : [`${python} has no ${missing.replace(" ", " and no ")} (${option} names another)`];
}

/** Names in `grpo_config` that the GRPOConfig of that Python does not have. */
async function unknownArguments(
  { python, grpo_config, environment }: TrlTrainerOptions,
  signal?: AbortSignal,
): Promise<EngineProblem | undefined> {
  const names = Object.keys(grpo_config);
  if (names.length === 0) return undefined;
  const script = "from trl import GRPOConfig as c; print(*[n for n in sys.argv[1:] if n not in c.__dataclass_fields__])";
  const { answer = "", failure } = await ask(python, script, names, { environment, signal });
  const expected = "arguments of TRL's GRPOConfig";
  if (failure !== undefined) {
    return { message: `${python} cannot import TRL: ${failure}`, value: python, expected, remedy: "check trainer.python" };
  }
  // Libraries may print before.
  const unknown = answer
    .replace(/\r?\n$/, "")
    .split("\n")
    .at(-1)!;
  if (unknown === "") return undefined;
  return {
    message: `trainer.grpo_config: the GRPOConfig of ${python} has no ${unknown.replaceAll(" ", ", no ")}`,
    value: unknown.split(" "),
    expected,
    remedy: "check the names against TRL's documentation of that version",
  };
}

type Answer = { answer: string; failure?: undefined } | { answer?: undefined; failure: string };

async function ask(python: string, script: string, words: readonly string[], { environment = {}, signal }: Asking): Promise<Answer> {
  // Python looks where it is started first, and an engine is started elsewhere: a folder of that name would be taken for a package.
  const elsewhere = "import sys; sys.path[:] = [p for p in sys.path if p]";
  try {
    const env = { ...process.env, ...environment };
    const options = { env, signal, timeout: LONGEST };
    return { answer: (await promisify(execFile)(python, ["-c", `${elsewhere}; ${script}`, ...words], options)).stdout };
  } catch (error) {
    const { stderr = "", message, killed } = error as Error & { stderr?: string; killed?: boolean };
    if (killed === true && signal?.aborted !== true) return { failure: `it gave no answer in ${LONGEST / 1000} s` };
    return { failure: stderr.trim().split("\n").at(-1) || message.split("\n", 1)[0]! };
  }
}
