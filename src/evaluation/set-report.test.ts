import { expect, test } from "vitest";
import type { Verdict } from "../core/index.js";
import { paperTable, renderPaperTable } from "./paper-table.js";
import { PUBLISHED, publishedCell } from "./published.js";
import { type JudgedInstance, judgedSample } from "./sample-record.js";
import { compareSetReports, type SetReport, setReport, setReportSchema } from "./set-report.js";
import { comparisonLine, renderSetReport, setReportRows } from "./set-tables.js";

const OBJECTIVES = ["makespan", "sum_of_costs"];

function verdict(ok: boolean, optimal = ok): Verdict {
  return {
    instance: "i",
    ok,
    code: ok ? "valid" : "hole",
    reason: "",
    counts: {},
    ...(ok ? { costs: { makespan: optimal ? 4 : 6, sum_of_costs: 8 } } : {}),
    optima: { makespan: 4, sum_of_costs: 8 },
    optimal: { makespan: optimal, sum_of_costs: ok },
  };
}
const V = verdict(true);
const L = verdict(true, false);
const X = verdict(false);
const instances = ["a", "b", "c", "d"].map((hash) => ({ id: hash, hash }));

function report(samples: number, rows: (Verdict | undefined)[][], options: { policy?: string; passAt?: number[] } = {}): SetReport {
  const judged = rows.map(
    (row, i): JudgedInstance => ({
      stratum: i < 2 ? "3" : "10",
      tags: { agents: "3" },
      optima: [4, 8],
      samples: row.map((v) => judgedSample(v, { tokens: 10 }, OBJECTIVES)),
    }),
  );
  const { policy = "p", passAt } = options;
  return setReport({
    ...{ policy, set: "s", instances, objectives: OBJECTIVES, objective: "makespan", samples, judged },
    ...(passAt === undefined ? {} : { passAt }),
  });
}

test("one sample each: binomial rates, codes, gap over valid answers, sizes in their order", () => {
  const r = report(1, [[V], [X], [L], [X]]);
  expect(r.total).toMatchObject({
    n: 4,
    valid: { rate: 0.5, stderr: 0.25 },
    optimal: { rate: 0.25 },
    codes: { valid: 2, hole: 2 },
    gap: 0.25,
    tokens: 10,
  });
  expect(r.total.objectives.sum_of_costs).toMatchObject({ optimal: { rate: 0.5 }, gap: 0 });
  // statsmodels.stats.proportion.proportion_confint(2, 4, method="wilson")
  expect(r.total.valid.interval).toEqual([expect.closeTo(0.15003898915214947, 12), expect.closeTo(0.8499610108478506, 12)]);
  expect(Object.keys(r.by_size)).toEqual(["3", "10"]);
  expect(r.outcomes).toEqual({ valid: [1, 0, 1, 0], optimal: { makespan: [1, 0, 0, 0], sum_of_costs: [1, 0, 1, 0] } });
  expect(setReportSchema.parse(JSON.parse(JSON.stringify(r)))).toEqual(r);
});

test("several samples: the error is that of the boards' means, not of all samples as if they were boards", () => {
  const r = report(2, [
    [V, X],
    [X, X],
    [V, V],
    [X, V],
  ]);
  // Means 0.5, 0, 1, 0.5: mean 0.5, sample deviation sqrt(1/6), over sqrt(4).
  expect(r.total.valid.rate).toBe(0.5);
  expect(r.total.valid.stderr).toBeCloseTo(Math.sqrt(1 / 6) / 2, 12);
  expect(r.total.pass_at).toMatchObject({ 1: { rate: 0.5, n: 4 }, 2: { rate: 0.75, n: 4 } });
});

test("boards that all come to one rate by chance do not make it certain", () => {
  const r = report(2, [
    [V, X],
    [X, V],
  ]);
  // Half right on both of two boards: 1 − 0.025^(1/2) to either side, cut at 0 and 1.
  expect(r.total.valid).toMatchObject({ rate: 0.5, stderr: 0, interval: [0, 1] });
  const many = report(
    2,
    Array.from({ length: 4 }, () => [X, V]),
  );
  expect(many.total.valid.interval[1]).toBeCloseTo(Math.min(1, 0.5 + 1 - 0.025 ** (1 / 4)), 12);
});

test("so do boards that all come to a third", () => {
  const { valid } = report(
    3,
    Array.from({ length: 20 }, () => [V, X, X]),
  ).total;
  expect(valid.stderr).toBe(0);
  expect(valid.interval[1] - valid.interval[0]).toBeGreaterThan(0.3);
});

test("an outside failure counts in no rate and is shown with its share; pass@k is over the instances with k answers", () => {
  const r = report(2, [
    [V, undefined],
    [undefined, undefined],
    [V, V],
    [X, V],
  ]);
  expect(r).toMatchObject({ failed: 3, total: { n: 3, answers: 5, failed: 3, failed_share: 3 / 8 } });
  expect(r.total.valid.rate).toBeCloseTo((1 + 1 + 0.5) / 3, 12);
  expect(r.total.pass_at).toMatchObject({ 1: { n: 3 }, 2: { n: 2, rate: 1 } });
  expect(r.by_size["3"]?.pass_at["2"]).toBeNull();
  expect(renderSetReport(r, "table")).toMatch(/n\/a[\s\S]*3 of 8 samples \(37\.5 %\) failed outside/);
});

test("pass@k with k above the samples is n/a, never 100 %", () => {
  const r = report(2, [[V, V], [V, V], [V, V], [V, V]], { passAt: [2, 5] }); // biome-ignore format: rows
  expect(r.total.pass_at).toMatchObject({ 2: { rate: 1 }, 5: null });
  expect(renderSetReport(r, "markdown").split("\n").find((line) => line.startsWith("| all |"))).toMatch(/\| n\/a \|/); // biome-ignore format: one line
});

test("a cell that nobody answered has no gap and no optimum, and says so", () => {
  const r = report(1, [[undefined], [undefined], [V], [V]]);
  expect(r.by_size["3"]).toMatchObject({ n: 0, failed_share: 1, gap: null, valid: { interval: [0, 1] } });
  expect(paperTable([r], []).rows[0]!.cells).toMatchObject({ 3: null, 10: [100, 100] });
});

test("more than 1 % of failures mark every text that shows the totals, and a cell that nobody answered shows no rate", () => {
  const r = report(1, [[undefined], [undefined], [V], [V]]);
  const table = renderSetReport(r, "table");
  expect(table).toMatch(/^p on s: 2 of 4 instances \(2 of 4 samples failed outside\), /);
  expect(table).toMatch(/^ {2}3 ‡ +0( +–)+ +100\.0 +–$/m);
  expect(table).not.toContain("[0.0, 100.0]");
  expect(renderSetReport(r, "latex")).toMatch(
    /all \$\^\\ddagger\$ & 2 &[\s\S]*footnotesize \$\^\\ddagger\$ over what was answered, 2 of 4 boards/,
  );
  const [head, three] = setReportRows([r]) as [string[], (string | number | null)[]];
  const named = Object.fromEntries(head.map((name, i) => [name, three[i]]));
  expect(named).toMatchObject({ size: "3", n: 0, failed: 2, valid: null, valid_low: null, optimal_makespan_high: null, tokens: null });
  const other = { ...report(1, [[V], [V], [V], [V]]), policy: "q" };
  for (const format of ["table", "markdown", "latex"] as const) {
    const mark = format === "latex" ? "$^\\ddagger$" : "‡";
    const text = renderPaperTable(paperTable([other, r], []), format);
    expect(text).toContain(`p ${mark}`);
    expect(text).not.toContain(`q ${mark}`);
    expect(text).toContain(`${mark} p: over what was answered, 2 of 4 boards`);
    expect(text).toContain("s: 4 instances");
  }
  expect(renderPaperTable(paperTable([other, r], []), "csv")).toMatch(/^p,evaluated,3,,,0,2$/m);
  expect(comparisonLine("a", compareSetReports(other, r), 4)).toMatch(/paired on 2 of 4 instances: valid/);
});

test("two policies are paired on the same set and refused on different ones", () => {
  const a = report(1, [[V], [X], [X], [X]]);
  const b = report(1, [[V], [V], [V], [X]]);
  const comparison = compareSetReports(a, b);
  expect(comparison.valid).toMatchObject({ difference: 0.5, n: 4, mcnemar: { only_reference: 0, only_other: 2, p: 0.5 } });
  expect(comparison.objectives.makespan).toEqual(comparison.optimal);
  expect(comparisonLine("evals/a", comparison)).toMatch(
    /Against evals\/a, paired on 4 instances: valid \+50\.0 points .*p = 0\.5000\); optimal/,
  );
  expect(() => compareSetReports({ ...a, set_sha256: "other" }, b)).toThrow(/different sets/);
  expect(() => paperTable([{ ...a, set_sha256: "other" }, b], [])).toThrow(/do not belong in one table/);
});

test("every text format holds a row for each size and one for all", () => {
  const r = report(1, [[V], [X], [L], [X]], { policy: 'endpoint, 50 % & "quoted"' });
  expect(renderSetReport(r, "table").match(/^ {2}(3|10|all) /gm)).toHaveLength(3);
  expect(renderSetReport(r, "markdown").match(/^\| (3|10|all) \|/gm)).toHaveLength(3);
  const latex = renderSetReport(r, "latex");
  expect(latex.match(/ \\\\$/gm)).toHaveLength(4);
  expect(latex).toContain("opt. sum\\_of\\_costs");
  const csv = renderSetReport(r, "csv").split("\n");
  expect(csv).toHaveLength(4);
  expect(csv[3]).toMatch(/^"endpoint, 50 % & ""quoted""",s,makespan,1,all,4,4,0,0\.5,/);
});

test("the paper's layout pairs acc. and opt. for each size, and marks published rows as of other instances", () => {
  const table = paperTable([report(1, [[V], [X], [L], [X]], { policy: "a_b" })], PUBLISHED["3"]!);
  const text = renderPaperTable(table, "markdown");
  expect(text).toMatch(/\| policy \| 3 acc\. \| 3 opt\. \| 10 acc\. \| 10 opt\. \| all acc\. \| all opt\. \|/);
  expect(text).toMatch(/\| a_b \| 50\.0 \| 50\.0 \| 50\.0 \| 0\.0 \| 50\.0 \| 25\.0 \|/);
  expect(text).toMatch(/\| GPT-5\.4 † \| 64\.7 \| 41\.3 \| 12\.7 \| 7\.3 \| +\| +\|/);
  expect(text).toMatch(/† published: arXiv 2606\.17682, .*other instances/);
  const latex = renderPaperTable(table, "latex");
  expect(latex).toContain("a\\_b & 50.0");
  expect(latex).toContain("GPT-5.4 $^\\dagger$ &");
  expect(latex.match(/\\(toprule|midrule|bottomrule)/g)).toHaveLength(4);
  // Every row of the tabular has as many cells as columns.
  const rows = latex.split("\n").filter((line) => / \\\\$/.test(line) && !line.includes("multicolumn"));
  expect(new Set(rows.map((line) => line.split(/(?<!\\)&/).length))).toEqual(new Set([7]));
  expect(renderPaperTable(table, "csv")).toContain("GPT-5.4,published on other instances,10,12.67,7.33");
});

test("published rows in the sizes' CSV have shares like ours, no interval, and say in place of the set that they are of other instances", () => {
  const rows = setReportRows([report(1, [[V], [X], [L], [X]])], PUBLISHED["3"]!);
  const [head, ...lines] = rows as [string[], ...(string | number | null)[][]];
  const named = lines.map((line) => Object.fromEntries(head.map((name, i) => [name, line[i]])));
  expect(new Set(lines.map((line) => line.length))).toEqual(new Set([head.length]));
  expect(lines).toHaveLength(3 + 7 * 2);
  expect(named.find(({ policy, size }) => policy === "GPT-5.4" && size === "10")).toMatchObject({
    ...{ set: expect.stringMatching(/^published: .*other instances/), valid: 0.1267, optimal_makespan: 0.0733 },
    ...{ n: null, valid_low: null, optimal_sum_of_costs: null, tokens: null },
  });
});

test("a published row's total stands beside ours only where both are over the same sizes", () => {
  const [row] = PUBLISHED["3"]!;
  const all = Object.keys(row!.sizes);
  expect(publishedCell(row!, "all", all)).toEqual([32.5, 20.58]);
  expect(publishedCell(row!, "all", [...all].reverse())).toEqual([32.5, 20.58]);
  expect(publishedCell(row!, "all", all.slice(1))).toBeUndefined();
  expect(publishedCell(row!, "all", [...all.slice(1), "11"])).toBeUndefined();
  expect(publishedCell(row!, "4", ["4"])).toEqual([44.67, 29.33]);
});

test("every published row's total is the mean of its sizes, as rounded there, but for the cells that the source itself has inconsistent", () => {
  const off: string[] = [];
  for (const [agents, rows] of Object.entries(PUBLISHED)) {
    expect(rows).toHaveLength(7);
    for (const { model, sizes, all } of rows) {
      expect(Object.keys(sizes)).toEqual(Array.from({ length: 11 - Number(agents) }, (_, i) => String(Number(agents) + i)));
      for (const part of [0, 1] as const) {
        const cells = Object.values(sizes).map((cell) => cell[part]);
        const mean = cells.reduce((sum, x) => sum + x, 0) / cells.length;
        if (Math.abs(mean - all[part]) > 0.011)
          off.push(`${agents} ${model} ${part === 0 ? "acc" : "opt"} ${mean.toFixed(2)} ${all[part]}`);
      }
    }
  }
  expect(off).toEqual(["4 Gemini-3.1-Pro acc 13.05 12.95", "5 Kimi-K2.5 acc 14.22 13.47"]);
});
