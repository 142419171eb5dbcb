import { expect, test } from "vitest";
import { sampleHistory } from "../../test/sample-history.js";
import { renderPng } from "./figure.js";
import { plotReports } from "./plot.js";
import { buildReport } from "./report.js";

const report = buildReport(sampleHistory({ valid: [0.36, 0.4, 0.42, 0.45] }), "size");

test("one run is drawn with its rates, its sizes and a heat map for each knob", () => {
  const svg = plotReports([report]);
  for (const title of ["Valid and optimal (makespan)", "Valid, by size", "Config: data", "Config: hole", "Config: wait"])
    expect(svg).toContain(title);
  // Two series and five sizes over four checkpoints, a mark each; three knobs, five sizes, three stages, a cell each.
  expect(svg.match(/<g [^>]*aria-label="dot"[\s\S]*?<\/g>/g)!.map((g) => g.match(/<path/g)!.length)).toEqual(Array(2 + 5).fill(4));
  expect(svg.match(/<g [^>]*aria-label="cell"[\s\S]*?<\/g>/g)!.map((g) => g.match(/<rect/g)!.length)).toEqual([15, 15, 15]);
  const intervals = svg.match(/<g [^>]*aria-label="rule"[\s\S]*?<\/g>/g)!.filter((g) => g.includes('stroke-width="1.5"'));
  expect(intervals.map((g) => g.match(/<line/g)!.length)).toEqual([4, 4]);
  // Beside each other: none hides the other.
  expect(new Set(intervals.flatMap((g) => g.match(/transform="[^"]*"/) ?? [])).size).toBe(2);
  expect(svg).not.toContain("NaN");
});

test("the same report gives the same drawing, and the PNG has ink on white", () => {
  expect(plotReports([report])).toBe(plotReports([report]));
  const png = renderPng(plotReports([report]));
  expect(Buffer.from(png.subarray(1, 4)).toString()).toBe("PNG");
  expect(png.length).toBeGreaterThan(20_000);
});

test("several runs are drawn as a line each, told apart by what differs", () => {
  const other = buildReport(sampleHistory({ valid: [0.36, 0.37], name: "b", seed: 2 }), "size");
  const svg = plotReports([report, other]);
  expect(svg).toContain("self s1");
  expect(svg).toContain("self s2");
});

test("a run that has validated only its base is drawn without failing", () => {
  expect(plotReports([buildReport(sampleHistory({ valid: [0.3] }), "size")])).toContain("<svg");
});
