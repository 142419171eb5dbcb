/** `envwright experiment`: a matrix of runs, each in its own folder and process; finished cells are kept, a failed one loses no other. */
import { existsSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import { BoundaryError, ConfigError, canonicalJson, InputError, InterruptedError, type Recipe } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { isFinished, readHistory } from "../../evaluation/index.js";
import {
  armsMarkdown,
  type Cell,
  type CellResult,
  cells,
  type Matrix,
  measureEngineer,
  parseMatrix,
  plotExperiment,
  runMatrix,
  summariseArms,
} from "../../experiments/index.js";
import { checkedBaseHash, checkRecipe, evaluationSetSource, withAbsolutePaths } from "../../loop/index.js";
import { RUN_FILE, RunFolder, writeFileAtomic } from "../../store/index.js";
import { requireFolders, runCell } from "../child-cell.js";
import { defineVerb } from "../define-verb.js";
import { loadRecipe, readYaml } from "../recipes.js";

export default defineVerb({
  name: "experiment",
  description: "Run a matrix of runs (arms × seeds) and compare them",
  options: {
    matrix: {
      type: "positional",
      hint: "MATRIX",
      required: true,
      description: "YAML or JSON file: recipe, arms with their overrides, seeds, reference",
    },
    out: { type: "text", hint: "DIR", description: "Folder of the experiment; runs/<name of the matrix> unless given" },
    resume: { type: "flag", description: "Go on in a folder that exists: finished runs are kept, interrupted ones taken up" },
    reuse: { type: "list", hint: "DIR", description: "Take a finished run from this experiment where it is the same run" },
    "train-all": { type: "flag", description: "Make every stage in every run, also where another run has made the same one" },
    parallel: { type: "integer", hint: "N", default: 1, least: 1, description: "Runs at a time" },
    json: { type: "flag", description: "The summary as one JSON document on stdout" },
  },
  examples: [
    ["envwright experiment matrix.yaml --parallel 2", "every arm with every seed, two at a time"],
    ["envwright experiment matrix.yaml --resume", "go on after an interruption"],
    ["envwright experiment more.yaml --reuse runs/engineers", "copy the cells that are finished there, run the others"],
  ],
  interruptible: "resumable",
  async run(values, { signal, print, printJson, note }) {
    const matrix = parseMatrix(readYaml(values.matrix), `matrix ${values.matrix}`);
    const beside = resolve(dirname(values.matrix), matrix.recipe);
    const recipe = statSync(beside, { throwIfNoEntry: false })?.isFile() === true ? beside : matrix.recipe;
    const out = values.out ?? join("runs", matrix.name);
    // Every cell's recipe is checked before the first cell starts.
    const planned = cells(matrix).map((cell): PlannedCell => {
      const found = loadRecipe(recipe, overridesOf(cell, out));
      const awaited = cell.replays === undefined ? undefined : resolve(out, cell.replays);
      const absolute = withAbsolutePaths(found.recipe, found.dir);
      checkRecipe(absolute, (path) => path === awaited || existsSync(path));
      return { cell, recipe: absolute };
    });
    if (!values.resume && existsSync(out) && (await readdir(out)).length > 0) {
      throw new InputError({ message: `${out} is not empty`, value: out, expected: "a new folder", remedy: "add --resume to go on in it, or choose another --out" }); // biome-ignore format: one call
    }
    requireFolders("--reuse", values.reuse);
    requireSameBoards(matrix, planned);
    await requireBases(planned);
    await writeFileAtomic(join(out, "matrix.json"), `${canonicalJson(matrix, 2)}\n`);
    const cores = availableParallelism();
    const workers = Math.max(1, Math.floor(cores / values.parallel));
    if (values.parallel > cores) note(`${values.parallel} runs at a time share ${cores} cores: no faster than --parallel ${cores}.`);
    // What is said of one cell alone names it; what is the same for all is said once.
    const said = new Set<string>();
    const noteOnce = (text: string) => {
      if (said.has(text)) return;
      said.add(text);
      note(text);
    };
    const outcomes = await runMatrix(matrix, {
      parallel: values.parallel,
      signal,
      onCell: (cell, state, done, total) => note(`${cell.arm}, seed ${cell.seed}: ${state} (${done}/${total})`),
      runCell: (cell) =>
        runCell(
          {
            dir: join(out, cell.folder),
            recipe,
            overrides: overridesOf(cell, out),
            seed: cell.seed,
            workers,
            reuse: values.reuse,
            reuseStages: values["train-all"] ? [] : [out, ...values.reuse],
          },
          signal,
          noteOnce,
        ),
    });
    const failed = outcomes.filter((o) => o.state === "failed");
    const results = await readResults(out, matrix, new Set(failed.map((o) => o.cell.folder)));
    const summary = {
      name: matrix.name,
      reference: matrix.reference,
      cells: outcomes.map(({ cell, ...rest }) => ({ arm: cell.arm, seed: cell.seed, ...rest })),
      arms: summariseArms(results, matrix.reference),
    };
    const markdown = armsMarkdown(summary.arms, matrix.reference);
    await writeFileAtomic(join(out, "results.json"), `${JSON.stringify(summary, undefined, 2)}\n`);
    await writeFileAtomic(
      join(out, "report.md"),
      `# ${matrix.name}\n\n${matrix.description === "" ? "" : `${matrix.description}\n\n`}${markdown}\n`,
    );
    if (results.length > 0)
      await writeFileAtomic(join(out, "figure.svg"), plotExperiment(matrix.name, matrix.reference, summary.arms, results));
    if (values.json) printJson(summary);
    else print(markdown);
    if (signal.aborted)
      throw new InterruptedError({
        message: "interrupted",
        remedy: `go on with: envwright experiment ${values.matrix} --out ${out} --resume`,
      });
    if (failed.length > 0) {
      throw new BoundaryError({
        boundary: "child run",
        message: `${failed.length} of ${outcomes.length} runs failed: ${failed.map((f) => `${f.cell.folder}: ${f.message}`).join("; ")}`,
        remedy: `mend the cause, then: envwright experiment ${values.matrix} --out ${out} --resume`,
      });
    }
  },
});

/** A cell with its recipe, whose paths are absolute. */
interface PlannedCell {
  cell: Cell;
  recipe: Recipe;
}

/** @throws {InputError} a base that the cells could not start from, each looked at once. */
async function requireBases(planned: readonly PlannedCell[]): Promise<void> {
  const bases = new Map<string, PlannedCell>();
  for (const { cell, recipe } of planned) {
    const { base, trainer, serving } = recipe;
    const seen = canonicalJson({ base, trainer: trainer.kind, served: serving !== undefined });
    if (!bases.has(seen)) bases.set(seen, { cell, recipe });
  }
  for (const { cell, recipe } of bases.values()) {
    try {
      await checkedBaseHash(recipe);
    } catch (cause) {
      if (!(cause instanceof InputError)) throw cause;
      throw new InputError({
        message: `no cell can start: the base of ${cell.folder}: ${cause.message}`,
        value: recipe.base,
        expected: cause.expected ?? "a checkpoint that the runs can start from",
        remedy: `make it first (envwright pretrain --help; the matrix's description may say how), or name another; in "set" and "arms" a relative path starts from where the experiment is started`,
        cause,
      });
    }
  }
}

/** @throws {ConfigError} an arm that would be evaluated on other boards than the reference: rates on two sets cannot be compared. */
function requireSameBoards(matrix: Matrix, planned: readonly PlannedCell[]): void {
  const arms = new Map(planned.map(({ cell, recipe }) => [cell.arm, recipe]));
  const reference = arms.get(matrix.reference)!;
  const family = familyByName(reference.family);
  const wanted = evaluationSetSource(family, reference, reference);
  for (const [arm, recipe] of arms) {
    const given = evaluationSetSource(family, recipe, reference);
    const other = Object.keys(wanted).filter((key) => canonicalJson(given[key] ?? null) !== canonicalJson(wanted[key]));
    if (other.length === 0) continue;
    throw new ConfigError({
      message: `arms.${arm}: its ${other.join(" and ")} make${other.length > 1 ? "" : "s"} other evaluation sets than those of ${matrix.reference}`,
      value: matrix.arms[arm],
      expected: "arms with the same evaluation sets, so that their rates can be compared",
      remedy: "put the change into set, where it is every arm's, or make two experiments",
    });
  }
}

function overridesOf({ overrides, replays }: Cell, out: string): string[] {
  const own = Object.entries(overrides).map(([path, value]) => `${path}=${value}`);
  return replays === undefined ? own : [...own, `engineer.from=${resolve(out, replays)}`];
}

/** Of the finished cells but the failed ones, in whose folders another run may lie. */
async function readResults(out: string, matrix: Matrix, failed: ReadonlySet<string>): Promise<CellResult[]> {
  const results: CellResult[] = [];
  for (const cell of cells(matrix)) {
    const dir = join(out, cell.folder);
    if (failed.has(cell.folder) || !existsSync(join(dir, RUN_FILE))) continue;
    const folder = await RunFolder.open(dir);
    const history = await readHistory(folder);
    if (!isFinished(history)) continue;
    const measures = await measureEngineer(folder, history);
    const { base, stages, heldOut } = history;
    results.push({
      arm: cell.arm,
      seed: cell.seed,
      reports: [base, ...stages.map((s) => s.validation)].flatMap((report) => report ?? []),
      tokens: stages.map((s) => s.training?.completion_tokens ?? 0),
      proposals: stages.flatMap((s) => s.proposal?.outcome ?? []),
      ...(heldOut === undefined ? {} : { heldOut }),
      ...(measures === undefined ? {} : { measures }),
    });
  }
  return results;
}
