/** `envwright eval`: a policy on a frozen set → rates by size with intervals, in one of several formats; resumable; paired comparison. */
import { InputError, InterruptedError, SCHEMA_VERSION, setHash } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { compareSetReports, renderSetReport } from "../../evaluation/index.js";
import { workerCount } from "../../loop/index.js";
import { defineVerb } from "../define-verb.js";
import { createEvaluation, type EvaluationRequest, openEvaluation, readSetReport, runEvaluation } from "../evaluation-run.js";
import { loadInstanceSet } from "../instance-sets.js";
import { openPolicy } from "../policy-spec.js";
import { openProgress } from "../view/progress.js";

export default defineVerb({
  name: "eval",
  description: "Evaluate a policy on a set of instances",
  options: {
    policy: { type: "text", hint: "SPEC", description: "embedded:DIR (a checkpoint folder), oracle, or random" },
    set: { type: "text", hint: "SET|FILE", description: "bench-3, bench-4, bench-5, or a file of instances" },
    samples: { type: "integer", hint: "K", default: 1, least: 1, description: "Completions of each instance" },
    limit: { type: "integer", hint: "N", least: 1, description: "Only the first N instances" },
    temperature: { type: "number", hint: "T", least: 0, description: "0 (greedy) for one sample, 1 for several, unless given" },
    "max-tokens": { type: "integer", hint: "N", default: 128, least: 1, description: "Longest completion" },
    objective: { type: "text", hint: "NAME", description: "Cost that optimality refers to; the family's first unless given" },
    seed: { type: "integer", hint: "N", default: 1, least: 0, description: "Seed of sampling" },
    workers: { type: "integer", hint: "N", default: 0, least: 0, description: "Engine workers; 0: one per core" },
    family: { type: "text", hint: "NAME", default: "mapf-frozenlake", description: "Environment family" },
    out: { type: "text", hint: "DIR", description: "Keep request, rollouts and report in this new folder" },
    resume: { type: "text", hint: "DIR", description: "Go on with the evaluation in this folder" },
    compare: { type: "text", hint: "DIR", description: "Paired difference against the evaluation in this folder" },
    format: { type: "choice", of: ["table", "markdown", "latex", "csv", "json"], default: "table", description: "Format of the result" },
    json: { type: "flag", description: "The same as --format json" },
    "dry-run": { type: "flag", description: "Say what would be asked, with the first prompt, and ask nobody" },
    quiet: { type: "flag", description: "No progress on stderr" },
  },
  examples: [
    ["envwright eval --policy embedded:runs/tiny/stages/07/checkpoint --set bench-3", "a checkpoint on the benchmark"],
    ["envwright eval --policy oracle --set boards.jsonl --format markdown", "the certified optimum: 100 % by construction"],
    ["envwright eval --policy embedded:DIR --set bench-3 --samples 8 --out evals/a --compare evals/base", "eight samples, kept, compared"],
  ],
  interruptible: true,
  async run(values, { signal, print, printJson }) {
    const format = values.json ? "json" : values.format;
    const settled = values.resume === undefined ? undefined : await openEvaluation(values.resume);
    const { family: familyName, policy: spec, set } = settled ?? asked(values);
    const family = familyByName(familyName);
    const instances = await loadInstanceSet(set, family, settled?.limit ?? values.limit);
    const objective = settled?.objective ?? values.objective ?? family.objectives[0]!;
    if (!family.objectives.includes(objective)) {
      throw new InputError({
        message: `--objective: there is no "${objective}"`,
        value: objective,
        expected: family.objectives.join(" or "),
      });
    }
    const request: EvaluationRequest = settled ?? {
      schema_version: SCHEMA_VERSION,
      policy: spec,
      set,
      set_sha256: setHash(instances),
      family: family.name,
      objective,
      ...(values.limit === undefined ? {} : { limit: values.limit }),
      samples: values.samples,
      temperature: values.temperature ?? (values.samples > 1 ? 1 : 0),
      max_tokens: values["max-tokens"],
      seed: values.seed,
    };
    if (request.set_sha256 !== setHash(instances)) {
      throw new InputError({
        message: `${set} has changed since the evaluation was started`,
        value: set,
        expected: "the same instances in the same order",
        remedy: "restore the file, or start a new evaluation",
      });
    }
    const reference = values.compare === undefined ? undefined : await readSetReport(values.compare);
    const policy = await openPolicy({ spec, family, instances, objective, workers: workerCount(values.workers) });
    const progress = openProgress({ quiet: values.quiet || (format === "json" && process.stderr.isTTY !== true) });
    try {
      if (values["dry-run"]) {
        const prompt = instances[0] === undefined ? "" : family.prompt(instances[0], policy.rendering);
        const plan = { ...request, instances: instances.length, completions: instances.length * request.samples, first_prompt: prompt };
        return format === "json" ? printJson(plan) : print(Object.entries(plan).map(([name, value]) => `${name}: ${value}`).join("\n")); // biome-ignore format: one line
      }
      const out = values.resume ?? values.out;
      if (values.out !== undefined && values.resume === undefined) await createEvaluation(values.out, request);
      progress.start("completions");
      const report = await runEvaluation({
        request,
        family,
        instances,
        policy,
        ...(out === undefined ? {} : { out }),
        signal,
        onProgress: (done, total) => progress.update(done, total),
      }).finally(() => progress.close());
      const comparison = reference === undefined ? undefined : compareSetReports(reference, report);
      if (format === "json") return printJson({ ...report, ...(comparison === undefined ? {} : { comparison }) });
      print(renderSetReport(report, format));
      if (comparison !== undefined && format !== "csv") print(differenceLine(values.compare!, comparison));
    } catch (error) {
      const out = values.resume ?? values.out;
      if (!(error instanceof InterruptedError) || out === undefined) throw error;
      throw new InterruptedError({ message: error.message, remedy: `go on with: envwright eval --resume ${out}` });
    } finally {
      await policy.close();
    }
  },
});

/** What a new evaluation cannot do without. */
function asked(values: { policy: string | undefined; set: string | undefined; family: string }): {
  policy: string;
  set: string;
  family: string;
} {
  const { policy, set, family } = values;
  if (policy !== undefined && set !== undefined) return { policy, set, family };
  throw new InputError({
    message: `--${policy === undefined ? "policy" : "set"} is missing`,
    expected: "--policy SPEC and --set SET, or --resume DIR",
    remedy: "envwright eval --help lists what it takes",
  });
}

function differenceLine(dir: string, { valid, optimal }: ReturnType<typeof compareSetReports>): string {
  const points = (x: number) => `${x < 0 ? "−" : "+"}${Math.abs(100 * x).toFixed(1)}`;
  const shown = (d: typeof valid) => `${points(d.difference)} points (95 % CI ${points(d.interval[0])} to ${points(d.interval[1])})`;
  return `Against ${dir}, paired on ${valid.n} instances: valid ${shown(valid)}, optimal ${shown(optimal)}.`;
}
