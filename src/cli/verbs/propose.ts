/** `envwright propose`: any stored stage asked again, by other engineers, variants or temperatures, without training and without writing. */
import { canonicalJson, InputError, type KnobTable, nearest, type Proposal, proposalSchema } from "../../core/index.js";
import { compareProposals, ENGINEERS, isModelEngineer, type ProposalComparison } from "../../engineers/index.js";
import { type AnyFamily, familyByName } from "../../environments/index.js";
import { type TextTable, terminalTable } from "../../evaluation/index.js";
import { contextOfStage, contextText } from "../../loop/index.js";
import { defineVerb } from "../define-verb.js";
import { askStage, openStage, optionsFor, variantOf } from "../stored-stage.js";

export default defineVerb({
  name: "propose",
  description: "Ask an engineer again about a stored stage, without training",
  options: {
    from: { type: "text", hint: "RUN/stages/NN", required: true, description: "The stage whose failures are shown to the engineer" },
    engineer: { type: "list", hint: "NAME", description: `Instead of the run's engineer: ${ENGINEERS.join(", ")}` },
    variant: { type: "list", hint: "NAME|FILE", description: "Context variant instead of the run's: V1 to V6, or a file that holds one" },
    model: { type: "text", hint: "SPEC", description: "Policy that the engineer llm asks, e.g. openai:MODEL@BASE_URL" },
    samples: { type: "integer", hint: "K", default: 1, least: 1, description: "Proposals of each, every one with a seed of its own" },
    temperature: { type: "number", hint: "T", least: 0, description: "Of the answer; the run's unless given, or 1 for several samples" },
    context: { type: "flag", description: "Print the exact text the engineer is given, and ask nobody" },
    json: { type: "flag", description: "The proposals and their comparison as one JSON document on stdout" },
  },
  examples: [
    ["envwright propose --from runs/tiny/stages/03", "the run's own engineer once more"],
    ["envwright propose --from runs/tiny/stages/03 --engineer self --engineer rule --engineer bandit", "three engineers side by side"],
    ["envwright propose --from runs/tiny/stages/03 --variant V1 --variant V6 --samples 5 --json", "five answers under each variant"],
    ["envwright propose --from runs/tiny/stages/03 --variant V4 --context", "what the engineer would read under V4"],
  ],
  interruptible: true,
  async run(values, { signal, print, printJson }) {
    const { folder, stage } = await openStage(values.from);
    const { recipe } = folder.record;
    const family = familyByName(recipe.family);
    const variants = (values.variant.length > 0 ? values.variant : [recipe.engineer.variant]).map((v) =>
      variantOf(v, recipe.engineer.variants),
    );
    const engineers = values.engineer.length > 0 ? values.engineer : [recipe.engineer.name];
    for (const name of engineers) refuseUnknown(name);
    const context = await contextOfStage(folder, stage, family);
    if (values.context) {
      const rendering = ["llm", "human"].includes(engineers[0]!) ? "chat" : recipe.rendering;
      return print(contextText(context, variants[0]!, family, rendering, recipe.engineer).trimEnd());
    }
    const temperature = values.temperature ?? (values.samples > 1 && recipe.engineer.temperature === 0 ? 1 : recipe.engineer.temperature);
    const asked = engineers.map((name) => optionsFor(name, { ...recipe.engineer, temperature }, values.model));
    const proposals: Proposal[] = [];
    for (const options of asked) {
      // What computes reads no variant; asking it under each would only repeat the answer.
      const under = isModelEngineer(options.name) ? variants : variants.slice(0, 1);
      proposals.push(...(await askStage({ folder, stage, family, context, options, variants: under, samples: values.samples, signal })));
    }
    const taken = (await folder.has(stage, "proposal.json")) ? await folder.readRecord(stage, "proposal.json", proposalSchema) : undefined;
    const comparison = compareProposals(proposals, { config: context.config, failures: context.failures, taken }, family);
    if (values.json) {
      printJson({ run: folder.dir, stage, engineers, variants: variants.map((v) => v.name), temperature, proposals, comparison });
    } else {
      const sampled =
        proposals.some((p) => isModelEngineer(p.engineer)) && temperature > 0 ? `; answers sampled at temperature ${temperature}` : "";
      print(sideBySide({ family, current: context.config, proposals, comparison, note: sampled }));
    }
  },
});

function refuseUnknown(name: string): void {
  if (ENGINEERS.includes(name)) return;
  const close = nearest(name, ENGINEERS);
  throw new InputError({
    message: `--engineer: "${name}" is not known${close === undefined ? "" : `, did you mean "${close}"?`}`,
    value: name,
    expected: `one of ${ENGINEERS.join(", ")}`,
    remedy: "envwright propose --help lists what it takes",
  });
}

interface SideBySide {
  family: AnyFamily;
  /** The config of the stage. */
  current: unknown;
  proposals: readonly Proposal[];
  comparison: readonly ProposalComparison[];
  /** Behind the title. */
  note: string;
}

/** The config that failed and each proposal knob by knob, in per cent; how far each goes; what became of it. */
function sideBySide({ family, current, proposals, comparison, note }: SideBySide): string {
  const names = columnNames(proposals);
  const tables: KnobTable[] = [current, ...proposals.map((p) => p.config)].map((config) => family.knobTable(config));
  const shown = (x: number | undefined) => (x === undefined ? "" : (100 * x).toFixed(1));
  const rows = family
    .strata(current)
    .flatMap((stratum) => family.knobs.map(({ name }) => [stratum, name, ...tables.map((table) => shown(table[stratum]?.[name]))]));
  const knobs = terminalTable({ title: `Knobs in %${note}`, head: [family.stratumLabel, "knob", "current", ...names], rows, left: [0, 1] });
  const outcomes = proposals.map((p, i) => {
    const notes = [
      ...p.reasons,
      ...p.repairs.map((r) => `${r.path}: ${r.reason}`),
      ...p.guardrails.map((g) => `${g.guardrail}: ${g.reason}`),
    ];
    return `${proposals.length === 1 ? "" : `${names[i]}: `}${p.outcome} (${p.engineer} ${p.variant}, asked ${p.attempts.length === 1 ? "once" : `${p.attempts.length} times`})${notes.length > 0 ? `: ${notes.join("; ")}` : ""}${p.rationale === "" ? "" : `\n  ${p.rationale}`}`;
  });
  return [knobs, terminalTable(comparisonTable(names, comparison)), ...sameConfigs(names, tables.slice(1)), ...outcomes].join("\n");
}

/** Which proposals are one and the same: with many columns nobody sees it in the table. */
function sameConfigs(names: readonly string[], tables: readonly KnobTable[]): string[] {
  const groups = new Map<string, string[]>();
  tables.forEach((table, i) => {
    const key = canonicalJson(table);
    groups.set(key, [...(groups.get(key) ?? []), names[i]!]);
  });
  return [...groups.values()].filter((group) => group.length > 1).map((group) => `The same config: ${group.join(", ")}`);
}

function comparisonTable(names: readonly string[], comparison: readonly ProposalComparison[]): TextTable {
  const percent = (x: number | undefined) => (x === undefined ? "—" : (100 * x).toFixed(1));
  const knobs = Object.keys(comparison[0]?.evidence_alignment ?? {});
  return {
    title: "Distance in %: of shares the total variation, of ratios the mean change; evidence: rank correlation of failures and change",
    head: [
      "proposal",
      "outcome",
      "shares",
      "ratios",
      "shares from taken",
      "ratios from taken",
      ...knobs.map((k) => `evidence → ${k}`),
      "tokens",
    ],
    rows: comparison.map((c, i) => [
      names[i]!,
      c.outcome,
      percent(c.change.shares),
      percent(c.change.ratios),
      percent(c.from_taken?.shares),
      percent(c.from_taken?.ratios),
      ...knobs.map((k) => c.evidence_alignment[k]?.rho?.toFixed(2) ?? "n/a"),
      String(c.tokens),
    ]),
    left: [0, 1],
  };
}

/** As short as tells them apart: engineer, variant where there are several, number of the sample where there are several. */
function columnNames(proposals: readonly Proposal[]): string[] {
  if (proposals.length === 1) return ["proposed"];
  const several = (values: string[]) => new Set(values).size > 1;
  const engineers = several(proposals.map((p) => p.engineer));
  const variants = several(proposals.map((p) => p.variant));
  const stems = proposals.map((p) => [engineers || !variants ? p.engineer : "", variants ? p.variant : ""].filter(Boolean).join(" "));
  const seen = new Map<string, number>();
  return stems.map((stem) => {
    const number = seen.get(stem) ?? 0;
    seen.set(stem, number + 1);
    const alone = stems.filter((s) => s === stem).length === 1;
    return alone ? stem : `${engineers || variants ? `${stem} ` : ""}sample ${number}`;
  });
}
