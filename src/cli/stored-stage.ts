/** A stage of a run by the path of its folder, and the policies that an engineer of it may ask: what `propose` and `branch` begin with. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import {
  type EngineerOptions,
  InputError,
  InterruptedError,
  type Policy,
  type Proposal,
  proposalSchema,
  RunFolderError,
  Seed,
  stageConfigSchema,
} from "../core/index.js";
import { type EngineerContext, parseVariant, proposeNext, VARIANTS, type Variant, variantNamed } from "../engineers/index.js";
import { type AnyFamily, familyByName } from "../environments/index.js";
import {
  type EngineerPolicies,
  engineerFor,
  openLanguageModel,
  type PolicyOpener,
  servedPolicies,
  usesEngine,
  workerCount,
} from "../loop/index.js";
import { Engine, readCheckpoint } from "../nn/index.js";
import { EmbeddedPolicy } from "../policies/index.js";
import { lockHolder, RunFolder } from "../store/index.js";
import { closingAfter } from "./closing-after.js";
import { note } from "./notes.js";
import { openPolicy } from "./policy-spec.js";
import { readYaml } from "./recipes.js";

/** @throws {InputError} a path of something else, or a stage that is not evaluated yet. */
export async function openStage(path: string): Promise<{ folder: RunFolder; stage: number }> {
  const absolute = resolve(path);
  const name = basename(absolute);
  if (basename(dirname(absolute)) !== "stages" || !/^\d+$/.test(name)) {
    throw new InputError({
      message: `${path} is not the folder of a stage`,
      value: path,
      expected: "a path like runs/tiny/stages/03",
      remedy: "give the folder of the stage, not that of the run",
    });
  }
  const folder = await RunFolder.open(dirname(dirname(absolute)));
  const stage = Number(name);
  if (await folder.has(stage, "failures.json")) return { folder, stage };
  const begun = await folder.stages();
  const evaluated: number[] = [];
  for (const other of begun) if (await folder.has(other, "failures.json")) evaluated.push(other);
  const isFinished = evaluated.length === folder.record.recipe.stages;
  throw new InputError({
    message:
      begun.includes(stage) || !isFinished
        ? `stage ${stage} of ${folder.dir} is not finished: it has no failures to show an engineer`
        : `${folder.dir} has no stage ${stage}`,
    value: path,
    expected: evaluated.length === 0 ? "an evaluated stage; there is none yet" : `an evaluated stage: ${evaluated.join(", ")}`,
    remedy: isFinished ? "name one of these" : `go on with the run first: envwright run --resume ${folder.dir}`,
  });
}

/** The proposal that the run made after a stage, if it made one, and whether the next stage trained on it: a rollback sets it aside. */
export async function madeProposal(folder: RunFolder, stage: number): Promise<{ config: unknown; setAside: boolean } | undefined> {
  if (!(await folder.has(stage, "proposal.json"))) return undefined;
  const { config } = await folder.readRecord(stage, "proposal.json", proposalSchema);
  const next = (await folder.has(stage + 1, "config.json"))
    ? await folder.readRecord(stage + 1, "config.json", stageConfigSchema)
    : undefined;
  return { config, setAside: next?.provenance.source === "rollback" };
}

/**
 * Opens an engine, or the run's model server, only when a policy is asked for, and closes what it opened when the task ends.
 * @throws {RunFolderError} when a server is asked for while the run itself goes on
 */
export async function withPolicies<T>(
  folder: RunFolder,
  stage: number,
  options: EngineerOptions,
  task: (policies: EngineerPolicies) => Promise<T>,
): Promise<T> {
  const { recipe, seed } = folder.record;
  const family = familyByName(recipe.family);
  const objective = family.objective(family.configSchema.parse(recipe.config));
  return closingAfter(async (opened) => {
    const embedded = async (name: string, dir: string): Promise<Policy> => {
      const { config, tokenizer, parameters } = await readCheckpoint(dir);
      return new EmbeddedPolicy(name, opened(await Engine.start({ config, workers: workerCount(1) })), tokenizer, parameters);
    };
    /** The run's folder is only read here: the logs of its servers lie elsewhere, and stay where one may be needed. */
    const logs: string[] = [];
    const checkpoint = (name: string, number: number, dir: () => Promise<string>): Promise<Policy> => {
      const { serving } = recipe;
      if (serving === undefined || usesEngine(recipe)) return dir().then((path) => embedded(name, path));
      refuseBeside(folder);
      const place = mkdtempSync(join(tmpdir(), "envwright-serving-"));
      logs.push(place);
      const log = join(place, "serving.log");
      note(`the server of the run's checkpoints is started; its log is ${log}`);
      const events = { emit: (event: { type: string; message?: string }) => event.message !== undefined && note(event.message) };
      const served = servedPolicies({ recipe: { ...recipe, serving }, folder, seed: Seed.root("run").child(seed), events, log });
      return opened(served).open(name, number, stage);
    };
    let isLogWanted = false;
    // Opened before the servers, so closed when they have written their last.
    opened({
      close() {
        if (!isLogWanted) for (const place of logs) rmSync(place, { recursive: true, force: true });
      },
    });
    try {
      return await task({
        self: () => checkpoint("self", stage + 1, () => folder.verified(stage, "checkpoint")),
        base: () => checkpoint("base", 0, async () => recipe.base),
        llm: async () => {
          const open: PolicyOpener = (spec, purpose) => openPolicy({ spec, instances: [], note, ...purpose });
          return opened(await openLanguageModel(options, open, { family, objective, workers: 1 }));
        },
      });
    } catch (error) {
      isLogWanted = !(error instanceof InterruptedError);
      throw error;
    }
  });
}

/** The run that is going on has its server, or its training, on the GPUs that another server would take. */
function refuseBeside(folder: RunFolder): void {
  const holder = lockHolder(folder.dir);
  if (holder === undefined) return;
  throw new RunFolderError({
    message: `${folder.dir} is going on in process ${holder}: a second server of its checkpoints would take the GPUs that it works on`,
    value: folder.dir,
    expected: "a run that has stopped, or an engineer that needs no checkpoint",
    remedy: `wait for process ${holder} or stop it (it can be resumed), or ask another engineer: rule, or llm with a model of its own`,
  });
}

/**
 * The run's options for another engineer. What the run's own engineer reads (`from`) is not the other's to read.
 * @throws {InputError} an engineer that cannot be asked about a stored stage.
 */
export function optionsFor(name: string, own: EngineerOptions, model: string | undefined): EngineerOptions {
  const { from, ...rest } = own;
  const options = {
    ...rest,
    ...(from === undefined || name !== own.name ? {} : { from }),
    ...(model === undefined ? {} : { policy: model }),
  };
  const refused = (message: string, remedy: string) =>
    new InputError({ message, value: name, expected: "an engineer that can answer from the stage's records, or a model to ask", remedy });
  if (name === "human") throw refused("a person is asked in a run, not here", "write the config into a file: envwright branch --help");
  if (name === "replay" && options.from === undefined) {
    throw refused("replay repeats an earlier run, and this run names none", "look at that run's stages/NN/proposal.json");
  }
  if (name === "llm" && options.policy === undefined) {
    throw refused(
      'the engineer "llm" has no language model to ask',
      "--model openai:MODEL@BASE_URL, or another policy as for `envwright eval`",
    );
  }
  return { ...options, name };
}

export interface StageQuestion {
  folder: RunFolder;
  stage: number;
  family: AnyFamily;
  context: EngineerContext;
  options: EngineerOptions;
  variants: readonly Variant[];
  samples: number;
  signal: AbortSignal;
}

/** What an engineer proposes for the stage under each variant, `samples` times. Writes nothing. */
export async function askStage({ folder, stage, family, context, options, variants, samples, signal }: StageQuestion): Promise<Proposal[]> {
  // The first sample at the run's own settings is the run's own answer.
  const root = Seed.root("run").child(folder.record.seed).child("stage", stage, "proposal");
  return withPolicies(folder, stage, options, async (policies) => {
    const engineer = await engineerFor(options, family, policies);
    const proposals: Proposal[] = [];
    for (const variant of variants) {
      for (let sample = 0; sample < samples; sample++) {
        const seed = sample === 0 ? root : root.child("sample", sample);
        proposals.push(await proposeNext({ engineer, context, variant, family, options, seed, signal }));
      }
    }
    return proposals;
  });
}

/** A variant by its name, built in or of the recipe, or from the file that holds it. */
export function variantOf(nameOrFile: string, own: readonly Variant[]): Variant {
  if (VARIANTS.some((v) => v.name === nameOrFile) || own.some((v) => v.name === nameOrFile) || !/[./\\]/.test(nameOrFile))
    return variantNamed(nameOrFile, own);
  return parseVariant(readYaml(nameOrFile), nameOrFile);
}
