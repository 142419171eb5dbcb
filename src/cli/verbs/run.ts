/** `envwright run`: the closed loop of a recipe in a new folder, or an interrupted run taken up again. Ends with its report. */
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { InputError, InterruptedError, isMachineSetting, MACHINE_SETTINGS, type Recipe, toldSetting } from "../../core/index.js";
import { isFinished, readHistory } from "../../evaluation/index.js";
import { checkRecipe, resumeLoop, runLoop, withAbsolutePaths } from "../../loop/index.js";
import { type RecipeChange, RUN_FILE, RunFolder } from "../../store/index.js";
import { requireFolders } from "../child-cell.js";
import { closingAfter } from "../closing-after.js";
import { serveBeside } from "../dashboard.js";
import { defineVerb } from "../define-verb.js";
import { openEngineerPolicy } from "../engineer-policy.js";
import { loadReport, renderReport } from "../load-report.js";
import { loadRecipe, resolveRecipe } from "../recipes.js";
import { tellRepairs } from "../tell-repairs.js";
import { verlPlan, verlPlanText } from "../verl-plan.js";
import { openRunView } from "../view/terminal.js";

/** Folder of the engineer's recorded calls inside of a run's. */
const ENGINEER_CALLS = "engineer-calls";

export default defineVerb({
  name: "run",
  description: "Run the closed loop of a recipe, or go on with an interrupted run",
  options: {
    recipe: { type: "positional", hint: "RECIPE", description: "Name of a shipped recipe (tiny) or the path of one" },
    out: { type: "text", hint: "DIR", description: "Folder of the new run; runs/<recipe> unless given" },
    seed: { type: "integer", hint: "N", least: 0, description: "Seed of the run, instead of the recipe's" },
    engineer: { type: "text", hint: "NAME", description: "Engineer of the run, as --set engineer.name=NAME" },
    model: {
      type: "text",
      hint: "SPEC",
      description: "Policy that the engineer llm asks, e.g. openai:MODEL@BASE_URL; brings that engineer",
    },
    set: {
      type: "list",
      hint: "PATH=VALUE",
      description:
        "Change a value of the recipe, e.g. trainer.grpo.steps=10; with --resume one that says where it runs, e.g. trainer.python",
    },
    resume: { type: "text", hint: "DIR", description: "Go on with the run in this folder" },
    "reuse-stages": {
      type: "list",
      hint: "DIR",
      description: "Copy a stage that a run in this folder has finished, where this one would make the same bytes",
    },
    workers: { type: "integer", hint: "N", least: 0, description: "Engine workers; 0: one per core. Results do not depend on it" },
    "dry-run": { type: "flag", description: "For the trainer verl: show its command, files, steps and known traps, and start nothing" },
    json: { type: "flag", description: "The report as one JSON document on stdout" },
    quiet: { type: "flag", description: "No progress on stderr" },
    ui: { type: "flag", description: "Serve the dashboard on this machine while the run goes on" },
  },
  examples: [
    ["envwright run tiny", "the closed loop on two CPU cores"],
    ["envwright run tiny --seed 2 --engineer rule", "another seed, the rule as engineer"],
    ["envwright run tiny --engineer llm --model ollama:qwen3:4b", "a language model as engineer"],
    ["envwright run --resume runs/tiny", "go on with a run that was stopped or killed"],
    ["envwright run --resume runs/paper-verl --set trainer.micro_batch=2", "after memory ran out"],
  ],
  interruptible: "resumable",
  async run(values, { signal, print, printJson, note }) {
    const { recipe: name, resume, json, quiet, workers } = values;
    if ((name === undefined) === (resume === undefined)) {
      throw new InputError({
        message: name === undefined ? "RECIPE is missing" : "a recipe and --resume exclude each other",
        expected: "a recipe for a new run, or --resume DIR for an old one",
        remedy: "envwright run tiny, or envwright run --resume runs/tiny",
      });
    }
    if (resume !== undefined) refuseOnResume(values);
    requireFolders("--reuse-stages", values["reuse-stages"]);
    const earlier = resume === undefined ? undefined : await RunFolder.open(resume);
    const past = (await earlier?.readEvents()) ?? [];
    const loaded = name === undefined ? undefined : loadRecipe(name, [...values.set, ...engineerOverrides(values)]);
    const found = loaded === undefined ? undefined : { ...loaded, recipe: withAbsolutePaths(loaded.recipe, loaded.dir) };
    if (loaded !== undefined && values["dry-run"]) {
      const plan = await verlPlan(found!.recipe, values.out ?? join("runs", loaded.recipe.name));
      if (json) printJson(plan);
      else print(verlPlanText(plan));
      return;
    }
    if (found !== undefined) tellOfConfig(found.recipe, values.set, note);
    const out = resume ?? values.out ?? freeFolder(found!.recipe, note);
    // A finished run asks nobody any more.
    const over = earlier !== undefined && isFinished(await readHistory(earlier));
    const change = earlier === undefined || values.set.length === 0 ? undefined : machineChange(earlier.record.recipe, values.set, over);
    const folder = await closingAfter(async (opened) => {
      const asked = (change ?? earlier?.record ?? found!).recipe;
      const engineer = over ? undefined : opened(await openEngineerPolicy(asked, join(out, ENGINEER_CALLS), workers));
      if (values.ui) opened(await serveBeside(out, note));
      const view = opened(openRunView({ quiet: quiet || (json && process.stderr.isTTY !== true), past }));
      const common = {
        signal,
        onEvent: view.onEvent,
        reuse: values["reuse-stages"],
        ...(engineer?.opener === undefined ? {} : { openPolicy: engineer.opener }),
        ...(workers === undefined ? {} : { workers }),
      };
      try {
        if (found === undefined) return await resumeLoop(out, { ...common, ...(change === undefined ? {} : { change }) });
        const { recipe, dir: recipeDir } = found;
        return await runLoop({ ...common, recipe, recipeDir, out, ...(values.seed === undefined ? {} : { seed: values.seed }) });
      } catch (error) {
        if (!(error instanceof InterruptedError)) throw error;
        throw new InterruptedError({ message: error.message, remedy: `go on with: envwright run --resume ${shown(out)}` });
      }
    });
    const { report } = await loadReport(folder.dir);
    if (json) printJson(report);
    else
      print(
        `${renderReport(report, false)}\n\nEverything is in ${shown(folder.dir)}; a figure: envwright report ${shown(folder.dir)} --plot figure.png; the page: envwright ui ${shown(folder.dir)}`,
      );
  },
});

/** Checks the recipe, and says what of its config is changed or without effect. @throws {ConfigError} @throws {InfeasibleError} */
function tellOfConfig(recipe: Recipe, set: readonly string[], note: (text: string) => void): void {
  const { family } = checkRecipe(recipe);
  if (recipe.initial === "given") {
    tellRepairs(family.normalise(family.configSchema.parse(recipe.config)).repairs, note);
    return;
  }
  const knobs = set.map((s) => s.split("=", 1)[0]!).filter((path) => family.knobs.some(({ name }) => path.startsWith("config.") && path.endsWith(`.${name}`))); // biome-ignore format: one list
  if (knobs.length > 0)
    note(`${knobs.join(", ")}: without effect, the first config is drawn at random; --set initial=given starts from the recipe's`);
}

/** `--engineer` and `--model` as changes of the recipe. @throws {InputError} a model that the engineer would not ask */
function engineerOverrides({ engineer, model }: { engineer: string | undefined; model: string | undefined }): string[] {
  const name = engineer ?? (model === undefined ? undefined : "llm");
  if (model !== undefined && name !== "llm") {
    throw new InputError({
      message: `--model ${model}: the engineer ${name} asks no language model`,
      value: name,
      expected: "--engineer llm, or --model alone",
      remedy: "leave --model or --engineer out",
    });
  }
  return [...(name === undefined ? [] : [`engineer.name=${name}`]), ...(model === undefined ? [] : [`engineer.policy=${model}`])];
}

/** Everything but where to look and how to show it stands in run.json. */
function refuseOnResume(values: {
  out: string | undefined;
  seed: number | undefined;
  engineer: string | undefined;
  model: string | undefined;
  set: string[];
}): void {
  const given = [
    values.out !== undefined ? "--out" : "",
    values.seed !== undefined ? "--seed" : "",
    values.engineer !== undefined ? "--engineer" : "",
    values.model !== undefined ? "--model" : "",
    ...values.set
      .map((s) => s.split("=", 1)[0]!)
      .filter((path) => !isMachineSetting(path))
      .map((path) => `--set ${path}`),
  ].filter(Boolean);
  if (given.length === 0) return;
  throw new InputError({
    message: `--resume takes recipe, seed, engineer and folder from the run; ${given.join(", ")} cannot change them`,
    value: given,
    expected: `--resume DIR, with --set for the machine at most: ${MACHINE_SETTINGS.join(", ")}`,
    remedy: "leave the others out, or start a new run",
  });
}

/** The run's recipe with other settings of the machine. @throws {InputError} for a run that has nothing left to do with them. */
function machineChange(recipe: Recipe, set: readonly string[], over: boolean): RecipeChange {
  if (over) {
    throw new InputError({
      message: "the run is finished, so --set would change nothing",
      value: set,
      expected: "--resume DIR alone",
      remedy: "leave --set out, or start a new run",
    });
  }
  return { recipe: withAbsolutePaths(resolveRecipe(recipe, set, "the run's recipe"), process.cwd()), set: set.map(toldSetting) };
}

/** runs/<name>, or the first of runs/<name>-2, -3, … that is free. */
function freeFolder(recipe: Recipe, note: (text: string) => void): string {
  const first = join("runs", recipe.name);
  if (!existsSync(first)) return first;
  let number = 2;
  while (existsSync(`${first}-${number}`)) number += 1;
  const free = `${first}-${number}`;
  if (existsSync(join(first, RUN_FILE))) {
    note(`${first} already holds a run (envwright run --resume ${first} goes on with it); this new one is in ${free}`);
  }
  return free;
}

function shown(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith("..") || short === "" ? path : short;
}
