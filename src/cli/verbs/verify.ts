/**
 * `envwright verify`: completions and their instances → one verdict for each completion, in order. A wrong answer is a result and exits
 * with 0, and so is an answer that the endpoint ended, which is told and not judged; a file that cannot be read and an instance that is not
 * there are refused, and an answer to another board than the one that it would be judged on, as far as the files tell.
 */
import type { CompletionRecord, Verdict } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { InstanceFinder, readCompletions } from "../completions.js";
import { defineVerb } from "../define-verb.js";
import { emptyFile, loadInstanceSet } from "../instance-sets.js";
import { MAP_OPTION, openMapping } from "../row-mapping.js";
import { verdictLine } from "../verdict-line.js";

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
    const finder = new InstanceFinder(instances, values.instances, family);
    const results: Result[] = [];
    for await (const completion of readCompletions(values.completions)) {
      const { instance, text, ending } = completion;
      const board = finder.find(completion);
      const isJudged = "finish" in ending;
      results.push({ instance, ...(isJudged ? { verdict: family.verify(board, text, ending.finish, values.rendering) } : { failure: ending.problem }) }); // biome-ignore format: one line
    }
    if (results.length === 0) throw emptyFile(values.completions, "completion");
    const verdicts = results.flatMap((result) => ("verdict" in result ? [result.verdict] : []));
    const codes: Record<string, number> = {};
    for (const { code } of verdicts) codes[code] = (codes[code] ?? 0) + 1;
    const n = verdicts.length;
    const failed = results.length - n;
    const valid = codes.valid ?? 0;
    if (values.json) {
      printJson({ n, valid, codes, ...(failed === 0 ? {} : { failed }), verdicts: results.map(publicForm) });
      return;
    }
    for (const result of results) {
      const { instance } = result;
      print("verdict" in result ? verdictLine(instance, result.verdict) : `${instance}  not judged  ${result.failure}`);
    }
    const counts = Object.entries(codes).map(([code, count]) => `${code} ${count}`).join(", "); // biome-ignore format: one line
    print([`${valid} of ${n} valid`, ...(n === 0 ? [] : [counts]), ...(failed === 0 ? [] : [`${failed} not judged`])].join("; "));
  },
});

/** A failure is the endpoint's: recorded, never scored. */
type Result = { instance: CompletionRecord["instance"] } & ({ verdict: Verdict } | { failure: string });

/** The stable form of a verdict: costs by their own names beside the rest. */
function publicForm(result: Result): Record<string, unknown> {
  if ("failure" in result) return { ...result };
  const { ok, code, at, reason, counts, costs, optimal } = result.verdict;
  return { instance: result.instance, ok, code, ...(at === undefined ? {} : { at }), reason, counts, ...costs, optimal };
}
