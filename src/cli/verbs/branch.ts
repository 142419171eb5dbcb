/**
 * `envwright branch`: what would another proposal have brought? Every branch trains from the stage's checkpoint, trainer state included,
 * until it has sampled the same number of tokens, and is evaluated on the same boards. A branch is a run of one stage in its own folder and
 * process: finished ones are kept, an interrupted one is taken up. Long because the verb, what it plans and what it reports are one story.
 */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, extname, join } from "node:path";
import { z } from "zod";
import {
  BoundaryError,
  ConfigError,
  CorruptFileError,
  canonicalJson,
  type EngineerOptions,
  InfeasibleError,
  InputError,
  InterruptedError,
  parseJsonWith,
  parseWith,
  type Recipe,
  trainingSummarySchema,
} from "../../core/index.js";
import { ENGINEERS, type Variant } from "../../engineers/index.js";
import { type AnyFamily, familyByName } from "../../environments/index.js";
import { isFinished, readHistory, terminalTable } from "../../evaluation/index.js";
import { type BranchRun, branchMarkdown, branchReport, branchTable, regretSentence, runMatrix } from "../../experiments/index.js";
import { contextOfStage } from "../../loop/index.js";
import { RUN_FILE, RunFolder, writeFileAtomic } from "../../store/index.js";
import { runCell } from "../child-cell.js";
import { defineVerb } from "../define-verb.js";
import { readYaml } from "../recipes.js";
import { askStage, madeProposal, openStage, optionsFor, variantOf } from "../stored-stage.js";

/** Steps that a branch may take at most, in multiples of those asked for: short answers need more of them for the same tokens. */
const MOST_STEPS = 10;
/** The run's own proposal: the next stage trained on it, or a rollback set it aside. */
const TAKEN = "taken";
const SET_ASIDE = "set-aside";
const UNNAMED = [TAKEN, SET_ASIDE];
const KEEP = "keep";

export default defineVerb({
  name: "branch",
  description: "Train a stored stage on under several proposals at equal tokens, and measure the regret of the one that was taken",
  options: {
    from: { type: "text", hint: "RUN/stages/NN", required: true, description: "The stage whose checkpoint every branch starts from" },
    proposals: {
      type: "list",
      hint: "A,B,…",
      description: "Engineers, keep (the stage's own config) or config files, by commas; the run's own is always one of them",
    },
    steps: {
      type: "integer",
      hint: "N",
      least: 1,
      required: true,
      description: "Length of a branch, in steps at the stage's mean tokens a step",
    },
    seeds: {
      type: "integer",
      hint: "K",
      default: 1,
      least: 1,
      description: "Times that every branch is trained, each with a seed of its own",
    },
    variant: { type: "text", hint: "NAME|FILE", description: "Context variant of engineers that are models, instead of the run's" },
    model: { type: "text", hint: "SPEC", description: "Policy that the engineer llm asks" },
    out: { type: "text", hint: "DIR", description: "Folder of the branches; RUN-branch-NN unless given" },
    resume: { type: "flag", description: "Go on in a folder that exists" },
    parallel: { type: "integer", hint: "P", default: 1, least: 1, description: "Branches at a time" },
    json: { type: "flag", description: "The report as one JSON document on stdout" },
  },
  examples: [
    ["envwright branch --from runs/tiny/stages/03 --proposals rule,self,keep --steps 20", "was the proposal after stage 3 a good one?"],
    [
      "envwright branch --from runs/tiny/stages/03 --proposals rule,mine.yaml --steps 20 --seeds 3 --parallel 2",
      "with a config of one's own, three seeds",
    ],
    ["envwright branch --from runs/tiny/stages/03 --proposals rule,self,keep --steps 20 --resume", "go on after an interruption"],
  ],
  interruptible: "resumable",
  async run(values, { signal, print, printJson, note }) {
    const { folder, stage } = await openStage(values.from);
    const { recipe } = folder.record;
    if (recipe.trainer.kind !== "embedded") {
      throw new ConfigError({
        message: `${folder.dir} was trained by ${recipe.trainer.kind}, whose stages cannot be branched`,
        value: recipe.trainer.kind,
        expected: "a run of the trainer embedded: a branch needs its checkpoints, its state and its count of tokens",
        remedy: "branch a run of the embedded trainer",
      });
    }
    const family = familyByName(recipe.family);
    const out = values.out ?? `${folder.dir}-branch-${String(stage).padStart(2, "0")}`;
    if (!values.resume && existsSync(out) && (await readdir(out)).length > 0) {
      throw new InputError({ message: `${out} is not empty`, value: out, expected: "a new folder", remedy: "add --resume to go on in it, or choose another --out" }); // biome-ignore format: one call
    }
    const names = values.proposals
      .flatMap((list) => list.split(","))
      .map((name) => name.trim())
      .filter(Boolean);
    const optionsOf = (name: string) => optionsFor(name, recipe.engineer, values.model);
    const variant = variantOf(values.variant ?? recipe.engineer.variant, recipe.engineer.variants);
    const stored = await storedBranches(out);
    const { branches, taken } = stored ?? distinct(await proposedConfigs({ folder, stage, family, names, optionsOf, variant, signal }));
    const training = await folder.readRecord(stage, "training.json", trainingSummarySchema);
    const tokens = Math.max(1, Math.round((values.steps * training.completion_tokens) / Math.max(1, training.steps)));
    for (const { name, config } of branches) refuseInfeasible(family, name, config);

    const plan = {
      run: folder.dir,
      stage,
      checkpoint: await folder.verified(stage, "checkpoint"),
      tokens,
      seeds: Array.from({ length: values.seeds }, (_, i) => i + 1),
      taken,
      branches: branches.map(({ name, proposals, config }) => ({ name, proposals, config })),
    };
    const written = `${canonicalJson(plan, 2)}\n`;
    const planFile = join(out, PLAN);
    const isOther = stored !== undefined && (canonicalJson(stored, 2) !== canonicalJson(plan, 2) || !isSameAsked(names, branches));
    if (isOther) {
      throw new InputError({ message: `${out} holds other branches than are asked for`, value: out, expected: "the same stage, proposals, steps and seeds", remedy: "choose another --out, or ask as before" }); // biome-ignore format: one call
    }
    await writeFileAtomic(planFile, written);
    for (const { name, config } of branches) {
      const own = branchRecipe(recipe, { base: plan.checkpoint, name, config, steps: MOST_STEPS * values.steps, tokens });
      await writeFileAtomic(join(out, "recipes", `${name}.json`), `${canonicalJson(own, 2)}\n`);
    }
    const workers = Math.max(1, Math.floor(availableParallelism() / values.parallel));
    const matrix = { seeds: plan.seeds, arms: Object.fromEntries(branches.map((b) => [b.name, {}])), set: {} };
    const outcomes = await runMatrix(matrix, {
      parallel: values.parallel,
      signal,
      onCell: (cell, state, done, total) => note(`branch ${cell.arm}, seed ${cell.seed}: ${state} (${done}/${total})`),
      runCell: (cell) =>
        runCell(
          { dir: join(out, cell.folder), recipe: join(out, "recipes", `${cell.arm}.json`), overrides: [], seed: cell.seed, workers },
          signal,
          note,
        ),
    });
    const again = `${values.proposals.map((p) => `--proposals ${p} `).join("")}--steps ${values.steps} --seeds ${values.seeds} --out ${out} --resume`;
    const resume = `envwright branch --from ${values.from} ${again}`;
    const report = branchReport({
      branches: Object.fromEntries(branches.map((b) => [b.name, b.proposals])),
      taken,
      runs: await readRuns(
        out,
        outcomes.map((o) => ({ folder: o.cell.folder, branch: o.cell.arm, seed: o.cell.seed })),
      ),
    });
    const document = { ...plan, cells: outcomes.map(({ cell, ...rest }) => ({ branch: cell.arm, seed: cell.seed, ...rest })), report };
    const title = `Branches of stage ${stage} of ${basename(folder.dir)}`;
    const how = `From one checkpoint, each until it had sampled ${tokens} completion tokens (to the end of that step).`;
    await writeFileAtomic(join(out, "results.json"), `${JSON.stringify(document, undefined, 2)}\n`);
    await writeFileAtomic(join(out, "report.md"), `# ${title}\n\n${how}\n\n${branchMarkdown(report)}\n`);
    if (values.json) printJson(document);
    else print(`${title}. ${how}\n${terminalTable(branchTable(report))}\n\n${regretSentence(report)}\nEverything is in ${out}`);
    if (signal.aborted) throw new InterruptedError({ message: "interrupted", remedy: `go on with: ${resume}` });
    const failed = outcomes.filter((o) => o.state === "failed");
    if (failed.length > 0) {
      throw new BoundaryError({
        boundary: "child run",
        message: `${failed.length} of ${outcomes.length} branches failed: ${failed.map((f) => `${f.cell.folder}: ${f.message}`).join("; ")}`,
        remedy: `mend the cause, then: ${resume}`,
      });
    }
  },
});

/** branch.json: what was asked for, with the configs that were proposed. They are asked for once: an engineer may say something else the next time. */
const planSchema = z.strictObject({
  run: z.string(),
  stage: z.int(),
  checkpoint: z.string(),
  tokens: z.int(),
  seeds: z.array(z.int()),
  taken: z.string().optional(),
  branches: z.array(z.strictObject({ name: z.string(), proposals: z.array(z.string()), config: z.unknown() })).min(1),
});
const PLAN = "branch.json";

async function storedBranches(out: string): Promise<z.infer<typeof planSchema> | undefined> {
  const file = join(out, PLAN);
  return existsSync(file) ? parseJsonWith(planSchema, await readFile(file, "utf8"), file, CorruptFileError) : undefined;
}

/** The same proposals by name, in any order; the run's own is one of them unnamed. */
function isSameAsked(names: readonly string[], branches: readonly { proposals: readonly string[] }[]): boolean {
  const asked = new Set(names.map((name) => (name === KEEP || ENGINEERS.includes(name) ? name : basename(name, extname(name)))));
  const held = new Set(branches.flatMap((b) => b.proposals));
  for (const set of [asked, held]) for (const name of UNNAMED) set.delete(name);
  return asked.size === held.size && [...asked].every((name) => held.has(name));
}

interface ProposedConfig {
  name: string;
  config: unknown;
}

interface Asking {
  folder: RunFolder;
  stage: number;
  family: AnyFamily;
  names: readonly string[];
  /** @throws {InputError} an engineer that cannot be asked here. */
  optionsOf: (engineer: string) => EngineerOptions;
  variant: Variant;
  signal: AbortSignal;
}

/** The run's own proposal, where it made one, and every config that was named, normalised. */
async function proposedConfigs({ folder, stage, family, names, optionsOf, variant, signal }: Asking): Promise<ProposedConfig[]> {
  const context = await contextOfStage(folder, stage, family);
  const configs: ProposedConfig[] = [];
  const add = (name: string, config: unknown, what: string) =>
    configs.push({ name, config: family.normalise(parseWith(family.configSchema, config, what)).config });
  const made = await madeProposal(folder, stage);
  if (made !== undefined) add(made.setAside ? SET_ASIDE : TAKEN, made.config, "the proposal of the run");
  for (const name of names) {
    if (UNNAMED.includes(name)) continue;
    if (name === KEEP) add(KEEP, context.config, "the stage's config");
    else if (ENGINEERS.includes(name) && name !== "human") {
      const options = optionsOf(name);
      const [proposal] = await askStage({ folder, stage, family, context, options, variants: [variant], samples: 1, signal });
      add(name, proposal!.config, `the proposal of ${name}`);
    } else if (existsSync(name)) add(basename(name, extname(name)), configIn(readYaml(name)), name);
    else {
      throw new InputError({
        message: `--proposals: "${name}" is neither an engineer nor a file`,
        value: name,
        expected: `${KEEP}, a config file, or one of ${ENGINEERS.filter((e) => e !== "human").join(", ")}`,
        remedy: "check the name or the path",
      });
    }
  }
  if (configs.length > 0) return configs;
  throw new InputError({
    message: "there is nothing to branch into: the run made no proposal after this stage, and --proposals names none",
    expected: "--proposals with engineers, keep, or config files",
    remedy: "--proposals rule,keep",
  });
}

/** A config, or a proposal or stage record that holds one. */
function configIn(value: unknown): unknown {
  const record = value as { config?: unknown } | null;
  return typeof value === "object" && record !== null && record.config !== undefined ? record.config : value;
}

/** Proposals that came to the same config share a branch: training it twice would give the same bytes. */
function distinct(configs: readonly ProposedConfig[]): {
  branches: (ProposedConfig & { proposals: string[] })[];
  taken: string | undefined;
} {
  const branches: (ProposedConfig & { proposals: string[] })[] = [];
  for (const { name, config } of configs) {
    const same = branches.find((b) => canonicalJson(b.config) === canonicalJson(config));
    if (same !== undefined) {
      if (!same.proposals.includes(name)) same.proposals.push(name);
      continue;
    }
    if (!/^[\w][\w.-]*$/.test(name) || branches.some((b) => b.name === name)) {
      throw new ConfigError({ message: `"${name}" cannot name a branch, or names two of them`, value: name, expected: "letters, digits, dots, dashes; each once", remedy: "rename the file" }); // biome-ignore format: one call
    }
    branches.push({ name, config, proposals: [name] });
  }
  return { branches, taken: branches.find((b) => b.proposals.includes(TAKEN))?.name };
}

function refuseInfeasible(family: AnyFamily, name: string, config: unknown): void {
  const problems = family.infeasible(config);
  if (problems.length === 0) return;
  throw new InfeasibleError({
    message: `${name}: ${problems.map((p) => `${family.stratumLabel} ${p.stratum}: ${p.problem}`).join("; ")}`,
    value: config,
    expected: "a config that can be generated",
    remedy: problems.map((p) => p.nearest).join("; "),
  });
}

/** A run of one stage from the checkpoint. Engineer `fixed`: nobody is asked after the only stage. */
function branchRecipe(recipe: Recipe, own: { base: string; name: string; config: unknown; steps: number; tokens: number }): Recipe {
  const { pretrain: _pretrain, ...rest } = recipe;
  const { grpo } = recipe.trainer;
  const { from: _from, ...engineer } = recipe.engineer;
  return {
    ...rest,
    name: `branch-${own.name}`,
    description: "",
    base: own.base,
    stages: 1,
    initial: "given",
    config: own.config,
    trainer: { ...recipe.trainer, grpo: { ...grpo, steps: own.steps, tokens: own.tokens } },
    engineer: { ...engineer, name: "fixed", approve: false },
  };
}

async function readRuns(out: string, cells: readonly { folder: string; branch: string; seed: number }[]): Promise<BranchRun[]> {
  const runs: BranchRun[] = [];
  for (const { folder, branch, seed } of cells) {
    const dir = join(out, folder);
    if (!existsSync(join(dir, RUN_FILE))) continue;
    const history = await readHistory(await RunFolder.open(dir));
    const [stage] = history.stages;
    if (!isFinished(history) || stage?.training === undefined || stage.validation === undefined || history.base === undefined) continue;
    runs.push({
      branch,
      seed,
      steps: stage.training.steps,
      tokens: stage.training.completion_tokens,
      validation: { before: history.base, after: stage.validation },
      ...(history.heldOut === undefined ? {} : { heldOut: { before: history.heldOut.base, after: history.heldOut.last } }),
    });
  }
  return runs;
}
