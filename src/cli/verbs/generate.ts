/** `envwright generate`: a config → instances in a file, with a manifest of what was asked and made beside it. */
import { dirname } from "node:path";
import {
  ConfigError,
  counted,
  type DatasetManifest,
  type GenerateOptions,
  InfeasibleError,
  type InstanceBase,
  InterruptedError,
  parseWith,
  Seed,
  type StreamedInstances,
  TextIndex,
} from "../../core/index.js";
import { type AnyFamily, familyByName } from "../../environments/index.js";
import { requireRowFormat, ScratchFile, writeFileAtomic, writeRows } from "../../store/index.js";
import { setsIn } from "../audit-sets.js";
import { defineVerb } from "../define-verb.js";
import { readBoards } from "../instance-sets.js";
import { FORCE_OPTION, requireNewFile } from "../new-file.js";
import { readYaml } from "../recipes.js";
import { tellRepairs } from "../tell-repairs.js";
import { openProgress } from "../view/progress.js";

export default defineVerb({
  name: "generate",
  description: "Generate instances under a config",
  options: {
    config: { type: "text", hint: "FILE", required: true, description: "Config of the environment, YAML or JSON" },
    count: { type: "integer", hint: "N", required: true, least: 1, description: "Number of instances" },
    seed: { type: "integer", hint: "S", required: true, least: 0, description: "Seed; the same seed gives the same instances" },
    out: { type: "text", hint: "FILE.jsonl|.parquet", required: true, description: "File to write" },
    force: FORCE_OPTION,
    workers: { type: "integer", hint: "W", default: 1, least: 1, description: "Worker threads; the result does not depend on it" },
    exclude: { type: "list", hint: "SET", description: "Leave out boards of this file, benchmark set or run folder, under any symmetry" },
    "allow-repeats": { type: "flag", description: "Take boards again where a size has too few different ones; the manifest counts them" },
    family: { type: "text", hint: "NAME", default: "mapf-frozenlake", description: "Environment family" },
    json: { type: "flag", description: "The manifest as one JSON document on stdout" },
    quiet: { type: "flag", description: "No progress on stderr" },
  },
  examples: [
    ["envwright generate --config c.yaml --count 4000 --seed 1 --out train.parquet", "a stage's worth of instances"],
    ["envwright generate --config c.yaml --count 100 --seed 2 --out held.jsonl --exclude train.parquet", "none of them again"],
  ],
  interruptible: true,
  async run(values, { signal, print, printJson, note }) {
    requireRowFormat(values.out);
    requireNewFile(values.out, values.force);
    const family = familyByName(values.family);
    const knobs = family.knobs.map(({ name }) => name).join(", ");
    const expected = `a config of ${family.name}: ${knobs} for each ${family.stratumLabel} (docs/${family.name}.md)`;
    const given = parseWith(family.configSchema, readYaml(values.config), `config ${values.config}`, ConfigError, expected);
    const { config, repairs } = family.normalise(given);
    tellRepairs(repairs, note);
    const problems = family.infeasible(config);
    if (problems.length > 0) {
      throw new InfeasibleError({
        message: problems.map((p) => `${family.stratumLabel} ${p.stratum}: ${p.problem}`).join("; "),
        value: given,
        expected: "a config whose every cell can be generated",
        remedy: problems.map((p) => p.nearest).join("; "),
      });
    }
    const exclude = new TextIndex();
    for (const [, source] of values.exclude.flatMap(setsIn)) {
      for await (const batch of readBoards(source, family)) for (const { board } of batch) exclude.add(board.hash);
    }
    const progress = openProgress({ quiet: values.quiet || (values.json && process.stderr.isTTY !== true) });
    progress.start("instances");
    const started = performance.now();
    const scratch = new ScratchFile(dirname(values.out));
    const options: GenerateOptions = {
      count: values.count,
      seed: Seed.root("generate").child(values.seed),
      exclude,
      repeats: values["allow-repeats"] ? "allow" : "refuse",
      workers: values.workers,
      signal,
      onProgress: (done, total) => progress.update(done, total),
      scratch,
    };
    let manifest: DatasetManifest;
    try {
      const made = await (family.generateStreamed === undefined
        ? wholeSet(family, config, options)
        : family.generateStreamed(config, options)
      ).finally(() => progress.close());
      await writeRows(values.out, family.instanceSchema, inRow(made.batches(), signal));
      manifest = made.manifest();
    } finally {
      scratch.close();
    }
    const beside = `${values.out}.manifest.json`;
    // What was asked for, before anything was repaired.
    const document = { ...manifest, config: given, repeats: options.repeats, exclude: values.exclude };
    await writeFileAtomic(beside, `${JSON.stringify(document, undefined, 2)}\n`);
    if (values.json) return printJson(document);
    const seconds = (performance.now() - started) / 1000;
    print(`${counted(manifest.count, "instance")} in ${values.out} (${seconds.toFixed(1)} s), manifest in ${beside}`);
    for (const [stratum, cell] of Object.entries(manifest.strata)) {
      const knobs = Object.entries(cell.requested).map(
        ([knob, asked]) => `${knob} ${asked.toFixed(3)} → ${cell.realised[knob]?.toFixed(3) ?? "none"}`,
      );
      print(`  ${family.stratumLabel} ${stratum}: ${counted(cell.count, "instance")}, ${knobs.join(", ")}`);
    }
  },
});

async function wholeSet(family: AnyFamily, config: unknown, options: GenerateOptions): Promise<StreamedInstances<InstanceBase>> {
  const { instances, manifest } = await family.generate(config, options);
  return { batches: () => [instances], manifest: () => manifest };
}

/** One instance after the other, with a turn for signals between batches. */
async function* inRow(batches: Iterable<InstanceBase[]>, signal: AbortSignal): AsyncGenerator<InstanceBase> {
  for (const batch of batches) {
    yield* batch;
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted)
      throw new InterruptedError({ message: "writing was interrupted", remedy: "start it again; the same seed gives the same set" });
  }
}
