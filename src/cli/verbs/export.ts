/** `envwright export`: a set → a file that another trainer reads. One batch after the other passes through, so memory stays flat. */
import { counted, InterruptedError } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { requireRowFormat, writeRows } from "../../store/index.js";
import { defineVerb } from "../define-verb.js";
import { EXPORTS, rowMaker } from "../export-rows.js";
import { readInstanceSet } from "../instance-sets.js";
import { FORCE_OPTION, requireNewFile } from "../new-file.js";
import { MAP_OPTION, openMapping } from "../row-mapping.js";
import { refuseWithoutEffect } from "../without-effect.js";

export default defineVerb({
  name: "export",
  description: "Write a set for another trainer: verl, TRL, plain prompts, plain instances",
  options: {
    set: { type: "positional", hint: "SET", required: true, description: "Instances (.jsonl, .json, .parquet) or a benchmark set" },
    to: {
      type: "choice",
      of: EXPORTS,
      default: "instances",
      description: "Rows of verl, rows of TRL, {instance, prompt}, or the instances",
    },
    out: { type: "text", hint: "FILE.jsonl|.parquet", required: true, description: "File to write" },
    map: MAP_OPTION,
    rendering: { type: "choice", of: ["chat", "compact"], description: "Language of the prompts; chat unless given" },
    system: { type: "text", hint: "TEXT", description: "A system message before each prompt (verl, and TRL in chat)" },
    split: { type: "text", hint: "NAME", description: "extra_info.split of verl's rows; train unless given" },
    limit: { type: "integer", hint: "N", least: 1, description: "The first N instances only" },
    family: { type: "text", hint: "NAME", default: "mapf-frozenlake", description: "Environment family" },
    force: FORCE_OPTION,
    json: { type: "flag", description: "What was written as one JSON document on stdout" },
  },
  examples: [
    ["envwright export train.parquet --to verl --out verl-train.parquet", "the columns that verl's data loader expects"],
    ["envwright export bench-3 --to trl --out bench-3.parquet", "a conversational set for TRL"],
    [
      "envwright export boards.jsonl --map grid=board,starts=from,goals=to --out ours.jsonl",
      "a foreign set as ours, with certified optima",
    ],
  ],
  interruptible: true,
  async run(values, { signal, print, printJson }) {
    requireRowFormat(values.out);
    requireNewFile(values.out, values.force);
    const family = familyByName(values.family);
    const { to, rendering, split, system } = values;
    refuseWithoutEffect("--rendering", rendering, to !== "instances", "--to verl, trl or prompts");
    refuseWithoutEffect("--system", system, to === "verl" || (to === "trl" && rendering !== "compact"), "--to verl, or --to trl in chat");
    refuseWithoutEffect("--split", split, to === "verl", "--to verl");
    const maker = rowMaker(to, { family, rendering: rendering ?? "chat", split: split ?? "train", system });
    const mapping = openMapping(values.map, family);
    let rows = 0;
    async function* made(): AsyncGenerator<unknown> {
      for await (const batch of readInstanceSet(values.set, family, { mapping, limit: values.limit })) {
        if (signal.aborted) throw new InterruptedError({ message: "the export was interrupted", remedy: "start it again" });
        for (const instance of batch) yield maker.row(instance, rows++);
      }
    }
    await writeRows(values.out, maker.schema, made());
    if (values.json) printJson({ set: values.set, to: values.to, out: values.out, rows });
    else print(`${counted(rows, "row")} in ${values.out} (${values.to})`);
  },
});
