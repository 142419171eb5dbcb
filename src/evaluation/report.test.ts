import { expect, test } from "vitest";
import { sampleHistory, sampleValidation } from "../../test/sample-history.js";
import { InputError } from "../core/index.js";
import { compareRuns } from "./comparison.js";
import { isFinished, type RunHistory, type RunReader, readHistory } from "./history.js";
import { buildReport, gainOf } from "./report.js";
import { comparisonSentence, reportMarkdown, reportText, summarySentences } from "./table.js";

/** A reader over a history in memory, as a run folder reads it from disk. */
function readerOf(history: RunHistory): RunReader {
  const files = new Map<string, unknown>([["run/base-validation.json", history.base]]);
  for (const s of history.stages) {
    files.set(`${s.index}/config.json`, s.config);
    files.set(`${s.index}/dataset.json`, s.dataset);
    files.set(`${s.index}/training.json`, s.training);
    files.set(`${s.index}/validation.json`, s.validation);
    files.set(`${s.index}/failures.json`, s.diagnosed ? {} : undefined);
    files.set(`${s.index}/proposal.json`, s.proposal);
  }
  return {
    dir: history.dir,
    record: { recipe: history.recipe, seed: history.seed, versions: history.versions },
    stages: async () => history.stages.map((s) => s.index),
    has: async (scope, name) => files.get(`${scope}/${name}`) !== undefined,
    readRecord: async (scope, name, schema) => schema.parse(JSON.parse(JSON.stringify(files.get(`${scope}/${name}`)))),
  };
}

test("the report has the fields that scripts rely on, with the numbers of the records", async () => {
  const history = await readHistory(readerOf(sampleHistory({ valid: [0.4, 0.5, 0.6], boards: 500 })));
  const report = buildReport(history, "size");
  const stage = report.stages[1]!;
  const source = history.stages[1]!.validation!;
  expect(stage).toMatchObject({
    index: 1,
    validation: { n: 500, valid: source.total.valid, optimal: source.total.optimal, codes: source.total.codes },
  });
  expect(stage.validation!.by_size["3"]).toMatchObject({ n: 100, valid: source.by_stratum["3"]!.valid });
  expect(report.stages[0]!.proposal).toMatchObject({ engineer: "self", variant: "V6", outcome: "accepted", reasons: [] });
  expect(report.stages[1]!.proposal).toBeUndefined();
  expect(stage.tokens).toEqual({ stage: 250_000, total: 500_000 });
  expect(report.run).toMatchObject({ name: "sample", seed: 1, stages: { planned: 2, finished: 2 } });
  expect(report.mean_valid).toBeCloseTo((history.stages[0]!.validation!.total.valid.rate + source.total.valid.rate) / 2, 12);
  expect(JSON.parse(JSON.stringify(report))).toEqual(report);
});

test("the gain is paired over boards: the mean of differences, with the error of the differences", () => {
  const a = { ...sampleValidation(0, 0.5, 4), outcomes: [0, 1, 3, 3] };
  const b = { ...sampleValidation(1, 0.5, 4), outcomes: [1, 0, 3, 3] };
  const { valid, optimal } = gainOf(a, b);
  // Valid differences +1, −1, 0, 0: mean 0, sample deviation sqrt(2/3), standard error sqrt(2/3)/2.
  expect(valid.difference).toBe(0);
  expect(valid.stderr).toBeCloseTo(Math.sqrt(2 / 3) / 2, 12);
  expect(valid.n).toBe(4);
  expect(optimal).toMatchObject({ difference: 0, stderr: 0 });
});

test("the intervals of a gain are narrower than those of two independent rates, because boards are shared", () => {
  const report = buildReport(sampleHistory({ valid: [0.4, 0.45], boards: 2000 }), "size");
  const [low, high] = report.gain!.valid.interval;
  const independent = 2 * 1.96 * Math.hypot(report.base!.valid.stderr, report.stages[0]!.validation!.valid.stderr);
  expect(high - low).toBeLessThan(0.7 * independent);
});

test("the first sentence says rose, fell or no measurable change, as the interval has it", () => {
  const sentence = (valid: number[], boards: number) => summarySentences(buildReport(sampleHistory({ valid, boards }), "size"))[0]!;
  expect(sentence([0.36, 0.42], 3000)).toMatch(
    /^The valid rate on the validation set rose from \d\d\.\d % to \d\d\.\d %: \+\d+\.\d points \(95 % CI \+.* to \+.*\), paired on 3000 boards\.$/,
  );
  expect(sentence([0.5, 0.4], 3000)).toMatch(/^The valid rate on the validation set fell from .*: −\d+\.\d points/);
  expect(sentence([0.4, 0.402], 60)).toMatch(/went from .* no measurable change\.$/);
});

test("a run whose best checkpoint is not its last says so, and an unfinished one says how to go on", () => {
  const report = buildReport(sampleHistory({ valid: [0.3, 0.6, 0.4] }), "size");
  expect(summarySentences(report).join(" ")).toMatch(/best valid rate, .* stage 0, not of the last/);
  const history = sampleHistory({ valid: [0.3, 0.6, 0.4] });
  history.stages[1]!.validation = undefined;
  const unfinished = buildReport(history, "size");
  expect(summarySentences(unfinished).join(" ")).toContain("1 of 2 stages are finished; go on with: envwright run --resume runs/sample");
  expect(unfinished.stages[1]).not.toHaveProperty("validation");
});

test("a run without any stage, and one without anything, are reported as such", () => {
  const none = sampleHistory({ valid: [0.3] });
  none.recipe.stages = 3;
  expect(reportText(buildReport(none, "size"))).toMatch(/no stage is finished yet/);
  expect(reportText(buildReport({ ...none, base: undefined }, "size"))).toMatch(/Nothing has been validated yet/);
});

test("terminal and Markdown tables hold a row for every checkpoint, config and proposal", () => {
  const report = buildReport(sampleHistory({ valid: [0.3, 0.4, 0.5, 0.55] }), "size");
  const text = reportText(report);
  expect(text.match(/^ {2}(base|[012]) .*\d\.\d \[/gm)).toHaveLength(4);
  expect(text).toMatch(/data\/hole\/wait/);
  expect(text).toMatch(/\d+\/\d+→6\/\d+/);
  const markdown = reportMarkdown(report);
  expect(markdown.match(/^\| base \|/gm)).toHaveLength(2);
  for (const table of markdown.split("\n\n").filter((part) => part.startsWith("|"))) {
    expect(new Set(table.split("\n").map((row) => row.split("|").length)).size).toBe(1);
  }
});

test("two runs are compared on the same boards, and refused on different ones", () => {
  const a = sampleHistory({ valid: [0.4, 0.45], boards: 2000, name: "a" });
  const b = sampleHistory({ valid: [0.4, 0.55], boards: 2000, name: "b" });
  const comparison = compareRuns(a, b);
  expect(comparison.valid.difference).toBeCloseTo(
    b.stages[0]!.validation!.total.valid.rate - a.stages[0]!.validation!.total.valid.rate,
    12,
  );
  expect(comparisonSentence(comparison)).toMatch(/^runs\/b is above runs\/a: valid \+/);
  expect(comparisonSentence(compareRuns(b, a))).toMatch(/is below/);
  b.stages[0]!.validation!.set_sha256 = "1".repeat(64);
  expect(() => compareRuns(a, b)).toThrow(InputError);
});

test("a run is finished once its last stage's failures are summed up, and its held-out sets evaluated where it has some", async () => {
  const whole = sampleHistory({ valid: [0.4, 0.5, 0.6], boards: 100 });
  const recipe = { ...whole.recipe, stages: whole.stages.length, held_out: { ...whole.recipe.held_out, count: 0 } };
  const read = (change: Partial<RunHistory> = {}) => readHistory(readerOf({ ...whole, recipe, ...change }));
  expect(isFinished(await read())).toBe(true);
  const killed = whole.stages.map((s, i) => ({ ...s, diagnosed: i + 1 < whole.stages.length }));
  expect(isFinished(await read({ stages: killed }))).toBe(false);
  expect(isFinished(await read({ recipe: { ...recipe, stages: whole.stages.length + 1 } }))).toBe(false);
  expect(isFinished(await read({ recipe: { ...recipe, held_out: { ...recipe.held_out, count: 9 } } }))).toBe(false);
});

test("a report calls the strata what their family calls them", () => {
  const report = buildReport(sampleHistory({ valid: [0.4, 0.5], boards: 100 }), "amount");
  for (const text of [reportText(report), reportMarkdown(report)]) {
    expect(text).toMatch(/by amount valid \/ optimal[\s\S]*Config of each stage, by amount/);
    expect(text).not.toMatch(/by size/);
  }
});
