/**
 * The steps of the closed loop, in its order. Each reads its record back when the run folder has it, and else does the work, tells the
 * event stream when it starts and ends, and writes the record last: a step that was killed is done again from its beginning.
 * One file, though a long one: it is read beside closed-loop.ts, arrow by arrow.
 */
import { rm } from "node:fs/promises";
import {
  type DatasetManifest,
  datasetManifestSchema,
  type FailureSummary,
  failureSummarySchema,
  InfeasibleError,
  type InstanceBase,
  type KnobTable,
  type Metrics,
  type Phase,
  type Policy,
  type Proposal,
  proposalSchema,
  type Rollout,
  rolloutSchema,
  SCHEMA_VERSION,
  type StageConfig,
  setHash,
  stageConfigSchema,
  type TrainingSummary,
  trainingSummarySchema,
  type ValidationReport,
  validationReportSchema,
} from "../core/index.js";
import { failureSummary, TrainingAccumulator, validationReport } from "../diagnosis/index.js";
import { humanEngineer, proposeNext, sameKnobs, shouldRollback } from "../engineers/index.js";
import { readCheckpoint } from "../nn/index.js";
import { EmbeddedPolicy } from "../policies/index.js";
import { ParquetWriter, readParquet, writeParquet } from "../store/index.js";
import { contextOfStage, contextText, type EngineerPolicies, engineerFor, openLanguageModel } from "./engineering.js";
import { evaluatePolicy } from "./evaluate.js";
import { type EvaluationSet, hashesApart, makeEvaluationSets } from "./evaluation-sets.js";
import { humanDesk } from "./human-desk.js";
import type { Workbench } from "./workbench.js";

// ---------------------------------------------------------------- before the first stage

/** The recipe's validation and held-out sets, `<name>.parquet` with its manifest `<name>.json` in the run's root. */
export async function evaluationSets<I extends InstanceBase>(
  bench: Workbench<I>,
): Promise<{ validation: EvaluationSet<I>; heldOut: EvaluationSet<I> }> {
  const { folder, family, recipe } = bench;
  const names = recipe.held_out.count === 0 ? (["validation"] as const) : (["validation", "held-out"] as const);
  const known = await Promise.all(names.map((name) => folder.has("run", `${name}.json`)));
  if (!known.every(Boolean)) {
    const made = await inPhase(bench, 0, "generate", (progress) =>
      makeEvaluationSets(family, recipe, bench.template, { workers: bench.workers, onProgress: progress, ...signalOf(bench) }),
    );
    for (const name of names) {
      await folder.writeFile("run", `${name}.parquet`, (path) => writeParquet(path, family.instanceSchema, made[name].instances));
      await folder.writeRecord("run", `${name}.json`, datasetManifestSchema, made[name].manifest!);
    }
  }
  const read = async (name: "validation" | "held-out"): Promise<EvaluationSet<I>> => {
    const there = (names as readonly string[]).includes(name);
    const instances = there ? await readParquet(await folder.verified("run", `${name}.parquet`), family.instanceSchema) : [];
    return { instances, sha256: setHash(instances) };
  };
  return { validation: await read("validation"), heldOut: await read("held-out") };
}

export async function evaluateBase<I extends InstanceBase>(bench: Workbench<I>, set: EvaluationSet<I>): Promise<ValidationReport> {
  const { folder } = bench;
  if (await folder.has("run", "base-validation.json")) return folder.readRecord("run", "base-validation.json", validationReportSchema);
  const { report } = await validate(bench, 0, set, bench.base.parameters);
  await folder.writeRecord("run", "base-validation.json", validationReportSchema, report);
  announce(bench, 0, report);
  return report;
}

// ---------------------------------------------------------------- config → instances

/** The stage's config: random or given for the first, then the last proposal's, or that of the checkpoint that is returned to. */
export async function settleConfig<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  reports: readonly ValidationReport[],
): Promise<StageConfig> {
  const { folder, family, recipe, seed } = bench;
  if (await folder.has(stage, "config.json")) return folder.readRecord(stage, "config.json", stageConfigSchema);
  let settled: Pick<StageConfig, "requested" | "provenance" | "from_checkpoint">;
  if (stage === 0) {
    const requested = recipe.initial === "random" ? family.randomConfig(bench.template, seed.child("first-config").at(0)) : bench.template;
    settled = { requested, provenance: { source: "initial" }, from_checkpoint: 0 };
  } else {
    const proposal = await folder.readRecord(stage - 1, "proposal.json", proposalSchema);
    settled = { requested: proposal.config, provenance: proposal.provenance, from_checkpoint: stage };
    const rollback = recipe.engineer.guardrails.rollback ? shouldRollback(reports) : undefined;
    if (rollback !== undefined) {
      bench.events.emit({ type: "warning", stage, message: `returning to checkpoint ${rollback.to}: ${rollback.reason}` });
      settled = { ...settled, provenance: { ...proposal.provenance, source: "rollback" }, from_checkpoint: rollback.to };
      // The base checkpoint was trained under no config of this run: the proposal stands.
      if (rollback.to > 0) settled.requested = (await folder.readRecord(rollback.to - 1, "config.json", stageConfigSchema)).normalised;
    }
  }
  const { config, repairs } = family.normalise(family.configSchema.parse(settled.requested));
  const record: StageConfig = { schema_version: SCHEMA_VERSION, stage, normalised: config, repairs, ...settled };
  await folder.writeRecord(stage, "config.json", stageConfigSchema, record);
  return record;
}

/** Instances of the stage: never one that is in an evaluation set (`apart`) or a benchmark set, under any symmetry. */
export async function generateStage<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  config: StageConfig,
  apart: readonly EvaluationSet<I>[],
): Promise<{ instances: I[]; manifest: DatasetManifest }> {
  const { folder, family, recipe, seed } = bench;
  if (await folder.has(stage, "dataset.json")) {
    const manifest = await folder.readRecord(stage, "dataset.json", datasetManifestSchema);
    return { manifest, instances: await readParquet(await folder.verified(stage, "train.parquet"), family.instanceSchema) };
  }
  const exclude = await hashesApart(family, apart);
  const generate = (from: unknown) =>
    inPhase(bench, stage, "generate", (progress) =>
      family.generate(from, {
        count: recipe.instances,
        seed: seed.child("stage", stage, "instances"),
        exclude,
        repeats: "allow",
        workers: bench.workers,
        onProgress: progress,
        ...signalOf(bench),
      }),
    );
  let made: Awaited<ReturnType<typeof generate>>;
  try {
    made = await generate(config.normalised);
  } catch (error) {
    // Feasibility is checked when a config is proposed, but some classes turn out empty only when they are drawn. A proposal never stops a run.
    if (!(error instanceof InfeasibleError) || config.provenance.source !== "proposal") throw error;
    const previous = await folder.readRecord(stage - 1, "config.json", stageConfigSchema);
    bench.events.emit({
      type: "warning",
      stage,
      message: `the proposed config cannot be generated, the previous one stays: ${error.message}`,
    });
    const kept: StageConfig = { ...config, normalised: previous.normalised, provenance: { ...config.provenance, source: "previous" } };
    await folder.writeRecord(stage, "config.json", stageConfigSchema, kept);
    made = await generate(kept.normalised);
  }
  await folder.writeFile(stage, "train.parquet", (path) => writeParquet(path, family.instanceSchema, made.instances));
  await folder.writeRecord(stage, "dataset.json", datasetManifestSchema, made.manifest);
  return made;
}

// ---------------------------------------------------------------- prompts → rollouts → verdicts → rewards → training

export async function trainStage<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  config: StageConfig,
  instances: I[],
): Promise<TrainingSummary> {
  const { folder, family, trainer } = bench;
  if (await folder.has(stage, "training.json")) return folder.readRecord(stage, "training.json", trainingSummarySchema);
  await folder.truncateMetrics(stage);
  const accumulator = new TrainingAccumulator();
  const from = config.from_checkpoint === 0 ? bench.baseFolder : await folder.verified(config.from_checkpoint - 1, "checkpoint");
  const to = folder.path(stage, "checkpoint");
  await rm(to, { recursive: true, force: true });
  await inPhase(bench, stage, "train", (progress) =>
    folder.writeFile(stage, "rollouts.parquet", async (path) => {
      const rollouts = await ParquetWriter.open(path, rolloutSchema);
      let done = 0;
      try {
        await trainer.trainStage({
          stage,
          seed: bench.seed.child("stage", stage, "train"),
          instances,
          prompt: (instance) => family.prompt(instance, bench.recipe.rendering),
          stratum: (instance) => family.stratum(instance),
          scorer: bench.newScorer(),
          from,
          to,
          ...signalOf(bench),
          onStep: (metrics: Metrics, seconds: number) => {
            folder.appendMetrics(metrics);
            const { stage: _, step, ...values } = metrics;
            bench.events.emit({ type: "step", stage, step, metrics: values, seconds });
            progress(++done, trainer.stepsPerStage);
          },
          onLog: (line) => bench.events.emit({ type: "log", stage, source: trainer.kind, line }),
          onRestart: async (message) => {
            bench.events.emit({ type: "warning", stage, message });
            await folder.truncateMetrics(stage);
            done = 0;
          },
          onRollouts: async (groups) => {
            for (const group of groups) accumulator.add(group);
            await rollouts.append(groups.flat());
          },
        });
        await rollouts.close();
      } catch (error) {
        await rollouts.abort();
        throw error;
      }
    }),
  );
  await folder.register(stage, "checkpoint");
  const summary = accumulator.summary();
  await folder.writeRecord(stage, "training.json", trainingSummarySchema, summary);
  return summary;
}

// ---------------------------------------------------------------- evaluation → failures

export async function evaluateStage<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  set: EvaluationSet<I>,
): Promise<ValidationReport> {
  const { folder } = bench;
  if (await folder.has(stage, "validation.json")) return folder.readRecord(stage, "validation.json", validationReportSchema);
  const { parameters } = await readCheckpoint(await folder.verified(stage, "checkpoint"));
  const { report, rollouts } = await validate(bench, stage, set, parameters);
  await folder.writeFile(stage, "validation-rollouts.parquet", (path) => writeParquet(path, rolloutSchema, rollouts));
  await folder.writeRecord(stage, "validation.json", validationReportSchema, report);
  announce(bench, stage + 1, report);
  return report;
}

/** Verdicts → what the engineer is told. */
export async function diagnose<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  evidence: { report: ValidationReport; training: TrainingSummary; manifest: DatasetManifest; set: EvaluationSet<I> },
): Promise<FailureSummary> {
  const { folder, family, recipe } = bench;
  if (await folder.has(stage, "failures.json")) return folder.readRecord(stage, "failures.json", failureSummarySchema);
  const summary = await inPhase(bench, stage, "diagnose", async () => {
    const { report, training, manifest, set } = evidence;
    const knobs = (which: "requested" | "realised"): KnobTable =>
      Object.fromEntries(Object.entries(manifest.strata).map(([stratum, cell]) => [stratum, cell[which]]));
    const count = recipe.engineer.examples;
    // People and language models read boards as text, whatever the policy reads.
    const readsText = ["llm", "human"].includes(recipe.engineer.name) || recipe.engineer.approve;
    const rollouts = count === 0 ? [] : await readParquet(await folder.verified(stage, "validation-rollouts.parquet"), rolloutSchema);
    return failureSummary({
      stage,
      report,
      training,
      environment: { requested: knobs("requested"), realised: knobs("realised") },
      examples: {
        count,
        seed: bench.seed.child("stage", stage, "examples"),
        candidates: rollouts.flatMap(({ stratum, completion, verdict }, i) =>
          verdict === undefined || verdict.ok
            ? []
            : [
                {
                  stratum,
                  code: verdict.code,
                  prompt: family.prompt(set.instances[i]!, readsText ? "chat" : recipe.rendering),
                  completion,
                  reason: verdict.reason,
                },
              ],
        ),
      },
    });
  });
  await folder.writeRecord(stage, "failures.json", failureSummarySchema, summary);
  return summary;
}

// ---------------------------------------------------------------- proposal

/** Asks the engineer for the next config and stores what it was shown, what it said and what became of it. */
export async function propose<I extends InstanceBase>(bench: Workbench<I>, stage: number): Promise<Proposal> {
  const { folder, recipe, variant, family } = bench;
  if (await folder.has(stage, "proposal.json")) return folder.readRecord(stage, "proposal.json", proposalSchema);
  const proposal = await inPhase(bench, stage, "propose", async () => {
    const context = await contextOfStage(folder, stage, family);
    const asked = { context, variant, family, seed: bench.seed.child("stage", stage, "proposal"), ...signalOf(bench) };
    const options = recipe.engineer;
    // A person is asked until the answer can be used.
    const patient = { ...options, attempts: Number.POSITIVE_INFINITY };
    const desk = humanDesk({ folder, stage, events: bench.events });
    const opened: Policy[] = [];
    const policy = (name: string, parameters: Float32Array) => new EmbeddedPolicy(name, bench.engine, bench.base.tokenizer, parameters);
    const policies: EngineerPolicies = {
      self: async () => policy("self", (await readCheckpoint(await folder.verified(stage, "checkpoint"))).parameters),
      base: async () => policy("base", bench.base.parameters),
      llm: async () => {
        const model = await openLanguageModel(options, bench.openPolicy, { family, objective: bench.objective, workers: bench.workers });
        opened.push(model);
        return model;
      },
    };
    try {
      const engineer = await engineerFor(options, family, policies, desk);
      const rendering = engineer.rendering ?? (options.approve ? "chat" : recipe.rendering);
      await folder.writeText(stage, "context.md", contextText(context, variant, family, rendering, options));
      if (options.name === "human") return await proposeNext({ engineer, options: patient, ...asked });
      if (!options.approve) return await proposeNext({ engineer, options, ...asked });
      const draft = (await folder.has(stage, "draft.json"))
        ? await folder.readRecord(stage, "draft.json", proposalSchema)
        : await proposeNext({ engineer, options, ...asked });
      await folder.writeRecord(stage, "draft.json", proposalSchema, draft);
      const settled = await proposeNext({ engineer: humanEngineer(desk, draft), options: patient, ...asked });
      const table = (p: Proposal) => family.knobTable(family.configSchema.parse(p.config));
      return sameKnobs(table(draft), table(settled)) ? draft : settled;
    } finally {
      for (const model of opened) await model.close();
    }
  });
  await folder.writeRecord(stage, "proposal.json", proposalSchema, proposal);
  const { engineer, outcome, reasons, config } = proposal;
  bench.events.emit({ type: "proposal", stage, engineer, variant: variant.name, outcome, reasons, config });
  return proposal;
}

// ---------------------------------------------------------------- after the last stage

/** Base and last checkpoint on boards that no engineer was told about: the gain that is reported is not the one that was steered by. */
export async function evaluateHeldOut<I extends InstanceBase>(bench: Workbench<I>, set: EvaluationSet<I>): Promise<void> {
  const { folder, recipe } = bench;
  if (set.instances.length === 0) return;
  const last = recipe.stages - 1;
  const parameters = {
    "held-out-base.json": async () => bench.base.parameters,
    "held-out-last.json": async () => (await readCheckpoint(await folder.verified(last, "checkpoint"))).parameters,
  };
  for (const [name, read] of Object.entries(parameters)) {
    if (await folder.has("run", name)) continue;
    const { report } = await validate(bench, last, set, await read());
    await folder.writeRecord("run", name, validationReportSchema, report);
  }
}

// ---------------------------------------------------------------- shared by the steps

async function validate<I extends InstanceBase>(
  bench: Workbench<I>,
  stage: number,
  set: EvaluationSet<I>,
  parameters: Float32Array,
): Promise<{ report: ValidationReport; rollouts: Rollout[] }> {
  const { family, recipe, objective } = bench;
  return inPhase(bench, stage, "evaluate", async (progress) => {
    const items = await evaluatePolicy({
      policy: new EmbeddedPolicy("embedded", bench.engine, bench.base.tokenizer, parameters),
      family,
      instances: set.instances,
      // One stream for all checkpoints: sampled validations differ by the policy alone.
      seed: bench.seed.child("validation"),
      temperature: recipe.validation.temperature,
      maxTokens: recipe.validation.max_tokens,
      onProgress: progress,
      ...signalOf(bench),
    });
    const report = validationReport({
      stage,
      objective,
      setSha256: set.sha256,
      items: items.map(({ instance, verdict, tokens }) => ({
        stratum: family.stratum(instance),
        tags: family.tags(instance),
        verdict,
        tokens,
      })),
    });
    const rollouts = items.map(({ instance, completion, tokens, finishReason, verdict, failure }, i) => ({
      id: `${stage}/validation/0/${i}/0`,
      instance: instance.id,
      stratum: family.stratum(instance),
      stage,
      step: 0,
      sample: 0,
      completion,
      tokens,
      finish_reason: finishReason,
      ...(verdict === undefined ? {} : { verdict }),
      ...(failure === undefined ? {} : { failure }),
    }));
    return { report, rollouts };
  });
}

function announce(bench: Pick<Workbench, "events">, checkpoint: number, report: ValidationReport): void {
  bench.events.emit({ type: "validation", checkpoint, total: report.total, by_stratum: report.by_stratum });
}

/** Runs one phase between its two events; progress is told at most ten times a second. */
async function inPhase<T>(
  bench: Pick<Workbench, "events">,
  stage: number,
  phase: Phase,
  work: (progress: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  const started = performance.now();
  let told = 0;
  bench.events.emit({ type: "phase-started", stage, phase });
  const result = await work((done, total) => {
    const now = performance.now();
    if (now - told < 100 && done < total) return;
    told = now;
    bench.events.emit({ type: "progress", stage, phase, done, total });
  });
  bench.events.emit({ type: "phase-finished", stage, phase, seconds: (performance.now() - started) / 1000 });
  return result;
}

function signalOf(bench: Pick<Workbench, "signal">): { signal?: AbortSignal } {
  return bench.signal === undefined ? {} : { signal: bench.signal };
}
