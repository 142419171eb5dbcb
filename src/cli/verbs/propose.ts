/** `envwright propose`: any stored stage asked again, with another engineer, variant or temperature, without training and without writing. */
import { basename, dirname, resolve } from "node:path";
import { type EngineerOptions, InputError, type KnobTable, type Policy, type Proposal, Seed } from "../../core/index.js";
import { ENGINEERS, proposeNext, VARIANTS, variantNamed } from "../../engineers/index.js";
import { type AnyFamily, familyByName } from "../../environments/index.js";
import { terminalTable } from "../../evaluation/index.js";
import { contextOfStage, contextText, engineerFor, workerCount } from "../../loop/index.js";
import { Engine, readCheckpoint } from "../../nn/index.js";
import { EmbeddedPolicy } from "../../policies/index.js";
import { RunFolder } from "../../store/index.js";
import { defineVerb } from "../define-verb.js";

export default defineVerb({
  name: "propose",
  description: "Ask an engineer again about a stored stage, without training",
  options: {
    from: { type: "text", hint: "RUN/stages/NN", required: true, description: "The stage whose failures are shown to the engineer" },
    engineer: { type: "choice", of: ENGINEERS, description: "Instead of the run's engineer" },
    variant: { type: "choice", of: VARIANTS.map((v) => v.name), description: "Context variant, instead of the run's" },
    samples: { type: "integer", hint: "K", default: 1, least: 1, description: "Number of proposals, each with a seed of its own" },
    temperature: { type: "number", hint: "T", least: 0, description: "Of the answer; the run's unless given, or 1 for several samples" },
    context: { type: "flag", description: "Print the exact text the engineer is given, and ask nobody" },
    json: { type: "flag", description: "The proposals as one JSON document on stdout" },
  },
  examples: [
    ["envwright propose --from runs/tiny/stages/03", "the run's own engineer once more"],
    ["envwright propose --from runs/tiny/stages/03 --engineer rule", "what the rule would have done"],
    ["envwright propose --from runs/tiny/stages/03 --samples 5 --json", "five answers of the policy"],
  ],
  interruptible: true,
  async run(values, { signal, print, printJson }) {
    const { folder, stage } = await openStage(values.from);
    const { recipe, seed } = folder.record;
    const family = familyByName(recipe.family);
    const variant = variantNamed(values.variant ?? recipe.engineer.variant);
    const context = await contextOfStage(folder, stage, family);
    if (values.context) return print(contextText(context, variant, family, recipe.rendering).trimEnd());
    const temperature = values.temperature ?? (values.samples > 1 && recipe.engineer.temperature === 0 ? 1 : recipe.engineer.temperature);
    const options: EngineerOptions = { ...recipe.engineer, name: values.engineer ?? recipe.engineer.name, temperature };
    const proposals: Proposal[] = [];
    await withPolicies(folder, stage, async (policies) => {
      const engineer = await engineerFor(options, family, policies);
      for (let sample = 0; sample < values.samples; sample++) {
        // The first sample at the run's own settings is the run's own answer.
        const root = Seed.root("run").child(seed).child("stage", stage, "proposal");
        proposals.push(await proposeNext({ engineer, context, variant, family, options, seed: sample === 0 ? root : root.child("sample", sample), signal })); // biome-ignore format: one call
      }
    });
    if (values.json) printJson({ run: folder.dir, stage, engineer: options.name, variant: variant.name, temperature, proposals });
    else print(sideBySide(family, context.config, proposals));
  },
});

async function openStage(path: string): Promise<{ folder: RunFolder; stage: number }> {
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
  throw new InputError({
    message: `stage ${stage} of ${folder.dir} is not finished: it has no failures to show an engineer`,
    value: path,
    expected: `one of ${(await folder.stages()).join(", ")}, evaluated`,
    remedy: `go on with the run first: envwright run --resume ${folder.dir}`,
  });
}

/** Opens the engine only when a policy is asked for. */
async function withPolicies(
  folder: RunFolder,
  stage: number,
  task: (policies: { self: () => Promise<Policy>; base: () => Promise<Policy> }) => Promise<void>,
): Promise<void> {
  let engine: Engine | undefined;
  const open = async (name: string, dir: string): Promise<Policy> => {
    const { config, tokenizer, parameters } = await readCheckpoint(dir);
    engine = await Engine.start({ config, workers: workerCount(1) });
    return new EmbeddedPolicy(name, engine, tokenizer, parameters);
  };
  try {
    await task({
      self: async () => open("self", await folder.verified(stage, "checkpoint")),
      base: () => open("base", folder.record.recipe.base),
    });
  } finally {
    await engine?.close();
  }
}

/** One row per stratum and knob: the config that failed, then each proposal, in per cent. */
function sideBySide(family: AnyFamily, current: unknown, proposals: readonly Proposal[]): string {
  const tables: KnobTable[] = [current, ...proposals.map((p) => p.config)].map((config) => family.knobTable(config));
  const shown = (x: number | undefined) => (x === undefined ? "" : (100 * x).toFixed(1));
  const rows = family
    .strata(current)
    .flatMap((stratum) => family.knobs.map(({ name }) => [stratum, name, ...tables.map((table) => shown(table[stratum]?.[name]))]));
  const table = terminalTable({
    title: "Knobs in %",
    head: [family.stratumLabel, "knob", "current", ...proposals.map((_, i) => (proposals.length === 1 ? "proposed" : `sample ${i}`))],
    rows,
    left: [0, 1],
  });
  const outcomes = proposals.map((p, i) => {
    const notes = [
      ...p.reasons,
      ...p.repairs.map((r) => `${r.path}: ${r.reason}`),
      ...p.guardrails.map((g) => `${g.guardrail}: ${g.reason}`),
    ];
    return `${proposals.length === 1 ? "" : `sample ${i}: `}${p.outcome} (${p.engineer} ${p.variant}, asked ${p.attempts.length} times)${notes.length > 0 ? `: ${notes.join("; ")}` : ""}${p.rationale === "" ? "" : `\n  ${p.rationale}`}`;
  });
  return [table, ...outcomes].join("\n");
}
