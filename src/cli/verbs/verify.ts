/**
 * `envwright verify`: completions and their instances → one verdict for each completion, in order. A wrong answer is a result and exits
 * with 0; a file that cannot be read and an instance that is not there are refused, and an answer
 * to another board than the one that it would be judged on, as far as the files tell.
 */
import {
  type CompletionRecord,
  CorruptFileError,
  completionSchema,
  InputError,
  type InstanceBase,
  parseWith,
  type Verdict,
} from "../../core/index.js";
import { type AnyFamily, familyByName } from "../../environments/index.js";
import { readRows } from "../../store/index.js";
import { defineVerb } from "../define-verb.js";
import { emptyFile, loadInstanceSet } from "../instance-sets.js";
import { MAP_OPTION, openMapping } from "../row-mapping.js";

const COMPLETION =
  '{"instance": id or line number, "completion": text, "finish_reason": "stop" (default) or "length", "hash": of the instance, checked where it is given}';

export default defineVerb({
  name: "verify",
  description: "Judge completions against their instances",
  options: {
    instances: { type: "text", hint: "FILE", required: true, description: "Instances: .jsonl, .json or .parquet, or a benchmark set" },
    completions: { type: "text", hint: "FILE", required: true, description: "Completions: {instance, completion, finish_reason} a line" },
    rendering: { type: "choice", of: ["chat", "compact"], default: "chat", description: "Language of the completions" },
    map: MAP_OPTION,
    family: { type: "text", hint: "NAME", default: "mapf-frozenlake", description: "Environment family" },
    json: { type: "flag", description: "Counts and verdicts as one JSON document on stdout" },
  },
  examples: [
    ["envwright verify --instances boards.jsonl --completions answers.jsonl", "a line for each completion"],
    ["envwright verify --instances boards.parquet --completions answers.jsonl --json", "with counts, as JSON"],
  ],
  async run(values, { print, printJson }) {
    const family = familyByName(values.family);
    const instances = await loadInstanceSet(values.instances, family, undefined, openMapping(values.map, family));
    const find = finder(instances, values.instances, family);
    const verdicts: { instance: CompletionRecord["instance"]; verdict: Verdict }[] = [];
    for await (const rows of readRows(values.completions)) {
      for (const row of rows) {
        const at = `${values.completions}, line ${verdicts.length + 1}`;
        const record = parseWith(completionSchema, row, at, CorruptFileError, COMPLETION);
        const instance = find(record, at);
        verdicts.push({
          instance: record.instance,
          verdict: family.verify(instance, record.completion, record.finish_reason, values.rendering),
        });
      }
    }
    if (verdicts.length === 0) throw emptyFile(values.completions, "completion");
    const codes: Record<string, number> = {};
    for (const { verdict } of verdicts) codes[verdict.code] = (codes[verdict.code] ?? 0) + 1;
    const valid = codes.valid ?? 0;
    if (values.json) {
      printJson({ n: verdicts.length, valid, codes, verdicts: verdicts.map(({ instance, verdict }) => publicVerdict(instance, verdict)) });
      return;
    }
    for (const { instance, verdict } of verdicts) print(verdictLine(instance, verdict));
    print(`${valid} of ${verdicts.length} valid; ${Object.entries(codes).map(([code, n]) => `${code} ${n}`).join(", ")}`); // biome-ignore format: one line
  },
});

type Find = (record: Pick<CompletionRecord, "instance" | "hash">, at: string) => InstanceBase;

/** By id, or else by line number from 1. A hash beside it must be the instance's, and tells boards of one id apart. */
function finder(instances: readonly InstanceBase[], source: string, family: AnyFamily): Find {
  const rows = new Map<string, number[]>();
  instances.forEach(({ id }, i) => {
    const same = rows.get(id);
    if (same === undefined) rows.set(id, [i]);
    // The same board again is no other: its answers are judged alike.
    else if (!same.some((j) => isSameBoard(instances[j]!, instances[i]!, family))) same.push(i);
  });
  return ({ instance: reference, hash }, at) => {
    const line = /^\d+$/.test(String(reference)) ? Number(reference) : 0;
    const byNumber = line >= 1 && line <= instances.length ? [line - 1] : [];
    const candidates = (typeof reference === "string" ? rows.get(reference) : undefined) ?? byNumber;
    const [first] = candidates;
    if (first === undefined) {
      throw new InputError({
        message: `${at}: there is no instance ${JSON.stringify(reference)} in ${source}`,
        value: reference,
        expected: `an id of that file, or a line number from 1 to ${instances.length}`,
        remedy: "check that both files belong together",
      });
    }
    // A column that only some answers fill gives null.
    const matching = hash === undefined || hash === null ? candidates : candidates.filter((i) => instances[i]!.hash === hash);
    if (matching.length === 0) {
      throw new InputError({
        message: `${at}: the hash ${hash} is not that of ${JSON.stringify(reference)} in ${source}, row ${first + 1} (${instances[first]!.hash})`,
        value: hash,
        expected: "an answer to the board that it is judged on",
        remedy: "give the set that was asked: ids hold the seed and the place, and sets of one seed share them",
      });
    }
    if (matching.length > 1) {
      throw new InputError({
        message: `${at}: ${JSON.stringify(reference)} is the id of different boards in ${source}, rows ${matching.map((i) => i + 1).join(" and ")}`,
        value: reference,
        expected: "an id that stands on one board",
        remedy: `name the board by its line number (${matching[0]! + 1}), keep the hash of the exported prompt in the row, or give the boards distinct ids`,
      });
    }
    return instances[matching[0]!]!;
  };
}

/** The canonical hash is that of the turned board too; the prompt is what was answered. */
function isSameBoard(a: InstanceBase, b: InstanceBase, family: AnyFamily): boolean {
  return a.hash === b.hash && family.prompt(a, "compact") === family.prompt(b, "compact");
}

/** The stable form of a verdict: costs by their own names beside the rest. */
function publicVerdict(instance: string | number, verdict: Verdict): Record<string, unknown> {
  const { ok, code, at, reason, counts, costs, optimal } = verdict;
  return { instance, ok, code, ...(at === undefined ? {} : { at }), reason, counts, ...costs, optimal };
}

/** The reason tells step, agents and cell. */
function verdictLine(instance: string | number, { ok, code, reason, costs, optima }: Verdict): string {
  if (ok) {
    const shown = Object.entries(costs ?? {}).map(
      ([name, cost]) => `${name} ${cost}${cost === optima[name] ? " (optimal)" : `, optimum ${optima[name]}`}`,
    );
    return `${instance}  valid  ${shown.join("; ")}`;
  }
  return `${instance}  ${code}  ${reason}`;
}
