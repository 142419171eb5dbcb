import { expect, test } from "vitest";
import type { Verdict } from "../core/index.js";
import { compareSetReports, type JudgedInstance, renderSetReport, setReport, setReportSchema } from "./set-report.js";

function verdict(ok: boolean, optimal = ok): Verdict {
  return {
    instance: "i",
    ok,
    code: ok ? "valid" : "hole",
    reason: "",
    counts: {},
    ...(ok ? { costs: { makespan: optimal ? 4 : 6 } } : {}),
    optima: { makespan: 4 },
    optimal: { makespan: optimal },
  };
}
const V = verdict(true);
const L = verdict(true, false);
const X = verdict(false);
const instances = ["a", "b", "c", "d"].map((hash) => ({ id: hash, hash }));

function report(samples: number, rows: (Verdict | undefined)[][], policy = "p") {
  const judged = rows.map(
    (row, i): JudgedInstance => ({
      stratum: i < 2 ? "3" : "10",
      tags: { agents: "2" },
      samples: row.map((v) => ({ verdict: v, tokens: 10 })),
    }),
  );
  return setReport({ policy, set: "s", instances, objective: "makespan", samples, judged });
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
  expect(Object.keys(r.by_size)).toEqual(["3", "10"]);
  expect(r.outcomes).toEqual({ valid: [1, 0, 1, 0], optimal: [1, 0, 0, 0] });
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
  expect(r.total.pass_at_k?.rate).toBe(0.75);
});

test("an outside failure counts in no rate, and valid-in-any-of-k is not available where fewer than k answered", () => {
  const r = report(2, [
    [V, undefined],
    [undefined, undefined],
    [V, V],
    [X, V],
  ]);
  expect(r.failed).toBe(3);
  expect(r.total.n).toBe(3);
  expect(r.total.valid.rate).toBeCloseTo((1 + 1 + 0.5) / 3, 12);
  expect(r.total.pass_at_k).toBeNull();
  expect(renderSetReport(r, "table")).toMatch(/n\/a/);
});

test("two policies are paired on the same set and refused on different ones", () => {
  const a = report(1, [[V], [X], [X], [X]]);
  const b = report(1, [[V], [V], [V], [X]]);
  expect(compareSetReports(a, b).valid).toMatchObject({ difference: 0.5, n: 4 });
  expect(() => compareSetReports({ ...a, set_sha256: "other" }, b)).toThrow(/different sets/);
});

test("every text format holds a row for each size and one for all", () => {
  const r = report(1, [[V], [X], [L], [X]]);
  expect(renderSetReport(r, "table").match(/^ {2}(3|10|all) /gm)).toHaveLength(3);
  expect(renderSetReport(r, "markdown").match(/^\| (3|10|all) \|/gm)).toHaveLength(3);
  expect(renderSetReport(r, "latex").match(/ \\\\$/gm)).toHaveLength(4);
  const csv = renderSetReport(r, "csv").split("\n").map((line) => line.split(",")); // biome-ignore format: one line
  expect(csv.map((row) => row.length)).toEqual([13, 13, 13, 13]);
  expect(csv[3]!.slice(0, 3)).toEqual(["all", "4", "0.5"]);
});
