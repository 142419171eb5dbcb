/**
 * `envwright eval`: a policy on a frozen set → rates by size with intervals, in one of several formats; resumable; paired comparison. Given
 * folders of earlier evaluations instead of a policy, it asks nobody and makes their tables again, side by side. Rates over a part of the
 * set, because too much failed outside, are printed, marked, and end with exit code 1.
 */
import { join } from "node:path";
import { InputError, InterruptedError, SCHEMA_VERSION, setHash } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import {
  codesNote,
  compareSetReports,
  comparisonLine,
  instanceCount,
  isPartial,
  PUBLISHED,
  PUBLISHED_SOURCE,
  type PublishedRow,
  paperTable,
  renderPaperTable,
  renderSetReport,
  type SetComparison,
  type SetReport,
  setReportRows,
} from "../../evaluation/index.js";
import { csvLines } from "../../evaluation/text-table.js";
import { workerCount } from "../../loop/index.js";
import { defineVerb, type VerbContext } from "../define-verb.js";
import {
  continuationOf,
  effectiveSettings,
  presentPolicy,
  requireMovedPolicy,
  requireSamePolicy,
  truncationNote,
} from "../effective-settings.js";
import { planEvaluation, planText } from "../evaluation-plan.js";
import { partialResult, refuseSettled } from "../evaluation-refusals.js";
import { createEvaluation, type EvaluationRequest, openEvaluation, openSlots, runEvaluation } from "../evaluation-run.js";
import { loadInstanceSet } from "../instance-sets.js";
import type { Values } from "../options.js";
import { describePolicy, openPolicy, POLICY_HINT, policyPrices } from "../policy-spec.js";
import { MAP_OPTION, openMapping } from "../row-mapping.js";
import { loadEvaluation, noteChanged, requireSameSet } from "../stored-evaluations.js";
import { openProgress } from "../view/progress.js";

const OPTIONS = {
  dirs: { type: "rest", hint: "DIR...", description: "Folders of finished evaluations: their table, judged again, asking nobody" },
  policy: { type: "text", hint: "SPEC", description: POLICY_HINT },
  set: { type: "text", hint: "SET|FILE", description: "bench-3, bench-4, bench-5, or a file of instances" },
  samples: { type: "integer", hint: "K", least: 1, description: "Completions of each instance; 1 unless given" },
  "pass-at": { type: "list", hint: "K", description: "k of pass@k; 1, 2, 4, ... up to the samples unless given" },
  map: MAP_OPTION,
  limit: { type: "integer", hint: "N", least: 1, description: "Only the first N instances" },
  temperature: { type: "number", hint: "T", least: 0, description: "0 (greedy) for one sample, 1 for several, unless given" },
  "max-tokens": {
    type: "integer",
    hint: "N",
    least: 1,
    description: "Longest completion; 128 in the compact rendering, 4096 in chat, unless given",
  },
  objective: { type: "text", hint: "NAME", description: "Cost that optimality refers to; the family's first unless given" },
  seed: { type: "integer", hint: "N", least: 0, description: "Seed of sampling; 1 unless given" },
  workers: { type: "integer", hint: "N", default: 0, least: 0, description: "Engine workers; 0: one per core" },
  family: { type: "text", hint: "NAME", description: "Environment family; mapf-frozenlake unless given" },
  out: { type: "text", hint: "DIR", description: "Keep request, rollouts and report in this new folder" },
  resume: { type: "text", hint: "DIR", description: "Go on with the evaluation in this folder: ask what is missing or failed outside; --policy only where its endpoint has moved" }, // biome-ignore format: one line
  replay: { type: "text", hint: "DIR", description: "The same as naming DIR: its table again, from its records alone" },
  compare: { type: "text", hint: "DIR", description: "Paired difference against the evaluation in this folder" },
  "price-in": { type: "number", hint: "USD", least: 0, description: "Price of a million prompt tokens; the policy file's unless given" },
  "price-out": { type: "number", hint: "USD", least: 0, description: "Price of a million completion tokens" },
  format: { type: "choice", of: ["table", "markdown", "latex", "csv", "json"], default: "table", description: "Format of the result" },
  layout: { type: "choice", of: ["sizes", "paper"], description: "A row for each size, or the paper's: a row for each policy" },
  published: { type: "flag", description: "The paper's published rows below ours (other instances); the paper's layout unless given" },
  json: { type: "flag", description: "The same as --format json" },
  "dry-run": { type: "flag", description: "Count, tokens, price and the first prompt; asks nobody. --compare DIR: lengths from there" },
  quiet: { type: "flag", description: "No progress on stderr" },
} as const;
type EvalValues = Values<typeof OPTIONS>;

const FAMILY = "mapf-frozenlake";

/** Folder of the recorded calls inside of an evaluation's. */
const CALLS = "calls";

export default defineVerb({
  name: "eval",
  description: "Evaluate a policy on a set of instances",
  options: OPTIONS,
  examples: [
    ["envwright eval --policy embedded:runs/tiny/stages/07/checkpoint --set bench-3", "a checkpoint on the benchmark"],
    ["envwright eval --policy oracle --set boards.jsonl --format markdown", "the certified optimum: 100 % by construction"],
    ["envwright eval --policy embedded:DIR --set bench-3 --samples 8 --out evals/a --compare evals/base", "eight samples, kept, compared"],
    ["envwright eval evals/a evals/b --published --format latex", "stored evaluations side by side, in the paper's layout"],
    ["envwright eval --compare evals/a evals/b", "b against a, paired by instance; asks nobody"],
  ],
  interruptible: true,
  async run(values, context) {
    const dirs = [...values.dirs, ...(values.replay === undefined ? [] : [values.replay])];
    const asks = values.policy !== undefined || values.set !== undefined || values.resume !== undefined;
    if (dirs.length > 0 && (asks || values.out !== undefined || values["dry-run"])) {
      throw new InputError({
        message: `${dirs[0]} is a stored evaluation, from which nothing is asked`,
        value: dirs,
        expected: "either folders, or --policy and --set, or --resume DIR",
        remedy: "leave the folders out, or the options that ask",
      });
    }
    if (values.resume !== undefined) refuseSettled(values, "--resume", "--resume DIR, and --policy where the same model is asked at another address"); // biome-ignore format: one call
    if (dirs.length > 0) refuseSettled(values, dirs[0]!, "folders, and how to show them");
    const passAt = readPassAt(values["pass-at"]);
    if (dirs.length === 0) return ask(values, passAt, context);
    const reference = values.compare === undefined ? undefined : (await loadEvaluation(values.compare, passAt, context.note)).report;
    const reports: SetReport[] = [];
    for (const dir of dirs) reports.push((await loadEvaluation(dir, passAt, context.note)).report);
    show({ values, reports, reference }, context);
  },
});

async function ask(values: EvalValues, passAt: number[] | undefined, context: VerbContext): Promise<void> {
  const json = values.json || values.format === "json";
  const settled = values.resume === undefined ? undefined : await openEvaluation(values.resume);
  const { family: familyName, set, policy } = settled ?? asked(values);
  const spec = settled === undefined ? policy : (values.policy ?? presentPolicy(settled).policy);
  const family = familyByName(familyName);
  const map = settled === undefined ? values.map : settled.map;
  const instances = await loadInstanceSet(set, family, settled?.limit ?? values.limit, openMapping(map, family));
  const objective = settled?.objective ?? values.objective ?? family.objectives[0]!;
  if (!family.objectives.includes(objective)) {
    throw new InputError({
      message: `--objective: there is no "${objective}"`,
      value: objective,
      expected: family.objectives.join(" or "),
    });
  }
  if (settled !== undefined) {
    requireSameSet(settled, instances);
    const described = await describePolicy(spec);
    if (values.policy !== undefined) requireMovedPolicy(settled, spec, described);
    requireSamePolicy(settled, described);
  }
  const earlier = values.compare === undefined ? undefined : await loadEvaluation(values.compare, passAt, context.note);
  const out = values.resume ?? values.out;
  // A plan asks nobody: it needs no key, no engine and no model.
  const opened = values["dry-run"]
    ? undefined
    : await openPolicy({
        ...{ spec, family, instances, objective, workers: workerCount(values.workers), note: context.note },
        ...(out === undefined ? {} : { recordTo: join(out, CALLS) }),
      });
  const progress = openProgress({ quiet: values.quiet || (json && process.stderr.isTTY !== true) });
  try {
    const described = opened ?? (await describePolicy(spec));
    const { rendering } = described;
    const samples = values.samples ?? 1;
    const sampling = { temperature: values.temperature, maxTokens: values["max-tokens"], samples };
    const request: EvaluationRequest = settled ?? {
      schema_version: SCHEMA_VERSION,
      ...{ policy: spec, set, set_sha256: setHash(instances), family: family.name, objective },
      ...(map === undefined ? {} : { map }),
      ...(values.limit === undefined ? {} : { limit: values.limit }),
      samples,
      ...effectiveSettings(spec, described, sampling, context.note),
      seed: values.seed ?? 1,
      rendering,
      ...(await pricesOf(values, spec)),
    };
    if (opened === undefined) {
      const kept = values.resume === undefined ? {} : { out: values.resume };
      const slots = await openSlots({ request, family, instances, ...kept }, rendering);
      const plan = await planEvaluation({ request, family, instances, rendering, slots, earlier });
      if (json) context.printJson(plan);
      else context.print(planText(plan));
      return;
    }
    if (values.out !== undefined && values.resume === undefined) await createEvaluation(values.out, request);
    const continuation = settled === undefined ? undefined : continuationOf(settled, spec, described);
    progress.start("completions");
    const result = await runEvaluation({
      ...{ request, family, instances, policy: opened, signal: context.signal },
      ...(passAt === undefined ? {} : { passAt }),
      ...(out === undefined ? {} : { out }),
      ...(continuation === undefined ? {} : { continuation }),
      onContinued: () =>
        context.note(`goes on at ${continuation!.base_url} instead of ${presentPolicy(request).base_url}, as eval.json says now`),
      onProgress: (done, total) => progress.update(done, total),
    }).finally(() => progress.close());
    const { report, changed } = result;
    if (out !== undefined) noteChanged(out, changed, context.note);
    if (report.failed > 0 && !isPartial(report)) {
      context.note(
        `${report.failed} samples failed outside of the policy${out === undefined ? "; kept with --out, they could be asked for again" : `; ask for them again: envwright eval --resume ${out}`}`,
      );
    }
    const warning = truncationNote(report.total, request.max_tokens);
    if (warning !== undefined) context.note(warning);
    show({ values, reports: [report], reference: earlier?.report }, context);
    if (isPartial(report)) throw partialResult(result, out);
  } catch (error) {
    if (!(error instanceof InterruptedError) || out === undefined) throw error;
    throw new InterruptedError({ message: error.message, remedy: `go on with: envwright eval --resume ${out}` });
  } finally {
    await opened?.close();
  }
}

/** Prints what was found. With several reports, or by wish, in the paper's layout. */
function show(
  { values, reports, reference }: { values: EvalValues; reports: SetReport[]; reference: SetReport | undefined },
  { print, printJson }: VerbContext,
): void {
  const format = values.json ? "json" : values.format;
  const comparisons = reference === undefined ? [] : reports.map((report) => compareSetReports(reference, report));
  const published = values.published ? publishedRows(reports[0]!) : [];
  const paper = (values.layout ?? (reports.length > 1 || values.published ? "paper" : "sizes")) === "paper";
  const listed = reference === undefined || values.dirs.length === 0 ? reports : [reference, ...reports];
  if (format === "json") printJson(document(reports, comparisons, values.published ? published : undefined));
  else if (paper) {
    print(renderPaperTable(paperTable(listed, published), format));
    if (format === "table" || format === "markdown") print(`\n${listed.map((r) => `${r.policy}: ${codesNote(r)}`).join("\n")}`);
  } else if (format === "csv") print(csvLines(setReportRows(reports, published)));
  else {
    print(reports.map((report) => renderSetReport(report, format)).join("\n\n"));
    if (published.length > 0) print(`\n${renderPaperTable(paperTable(reports, published), format)}`);
  }
  if (format === "json" || format === "csv") return;
  for (const [i, comparison] of comparisons.entries())
    print(`${format === "latex" ? "% " : "\n"}${comparisonLine(values.compare!, comparison, instanceCount(reports[i]!))}`);
}

/** One report as it stands; several as a list. */
function document(reports: SetReport[], comparisons: SetComparison[], published: readonly PublishedRow[] | undefined): unknown {
  const theirs = published === undefined ? {} : { published, published_source: PUBLISHED_SOURCE };
  if (reports.length > 1) return { reports, comparisons, published: [], ...theirs };
  return { ...reports[0], ...(comparisons[0] === undefined ? {} : { comparison: comparisons[0] }), ...theirs };
}

/** The published rows for the set's number of agents. @throws {InputError} when there are none. */
function publishedRows(report: SetReport): readonly PublishedRow[] {
  const agents = Object.keys(report.by_tag).flatMap((tag) => (tag.startsWith("agents=") ? [tag.slice("agents=".length)] : []));
  const rows = agents.length === 1 ? PUBLISHED[agents[0]!] : undefined;
  if (rows !== undefined) return rows;
  throw new InputError({
    message: `--published: nothing is published for ${report.set} (${agents.length === 0 ? "no" : agents.join(", ")} agents)`,
    value: report.set,
    expected: `a set whose boards all have ${Object.keys(PUBLISHED).join(", or all ")} agents`,
    remedy: "leave --published out, or evaluate bench-3, bench-4 or bench-5",
  });
}

function readPassAt(given: readonly string[]): number[] | undefined {
  if (given.length === 0) return undefined;
  return given.map((text) => {
    const k = Number(text);
    if (Number.isSafeInteger(k) && k >= 1) return k;
    throw new InputError({ message: `--pass-at: "${text}" is not a whole number of at least 1`, value: text, expected: "the k of pass@k" });
  });
}

/** The command line's, else those of the policy file's budget. */
async function pricesOf(values: EvalValues, spec: string): Promise<Pick<EvaluationRequest, "prices">> {
  const [input, output] = [values["price-in"], values["price-out"]];
  if (input === undefined && output === undefined) {
    const prices = await policyPrices(spec);
    return prices === undefined ? {} : { prices };
  }
  if (input !== undefined && output !== undefined) return { prices: { input, output } };
  throw new InputError({
    message: `--price-${input === undefined ? "in" : "out"} is missing`,
    expected: "both prices, in US dollars for a million tokens",
    remedy: "give both; a kind of token that costs nothing has the price 0",
  });
}

/** What a new evaluation cannot do without. */
function asked(values: { policy: string | undefined; set: string | undefined; family: string | undefined }): {
  policy: string;
  set: string;
  family: string;
} {
  const { policy, set, family = FAMILY } = values;
  if (policy !== undefined && set !== undefined) return { policy, set, family };
  throw new InputError({
    message: `--${policy === undefined ? "policy" : "set"} is missing`,
    expected: "--policy SPEC and --set SET, or --resume DIR, or folders of finished evaluations",
    remedy: "envwright eval --help lists what it takes",
  });
}
