/**
 * A report as a figure: validation per checkpoint with its intervals, valid rate by size, and the config as heat maps (knob by knob, size
 * by stage). Drawn by Observable Plot without a browser; colours keep apart for colour-blind readers and each series also has its own mark.
 */
import * as Plot from "@observablehq/plot";
import { composeFigure, type Drawing, newDocument } from "./figure.js";
import type { ReportedRate, ReportedValidation, RunReport } from "./report.js";

/** Okabe and Ito's palette, without its yellow, which is lost on white. */
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F"];
const WIDTH = 460;
const HEIGHT = 300;

interface Checkpoint {
  name: string;
  validation: ReportedValidation;
}

/** One run in full, or several runs side by side by their valid and optimal rates. The SVG text. */
export function plotReports(reports: readonly RunReport[]): string {
  const [first] = reports;
  if (first === undefined) throw new RangeError("no report to plot");
  return reports.length === 1 ? plotRun(first) : plotRuns(reports);
}

function plotRun(report: RunReport): string {
  const checkpoints = checkpointsOf(report);
  const names = checkpoints.map((c) => c.name);
  const rates = checkpoints.flatMap(({ name, validation }) =>
    (["valid", "optimal"] as const).map((series) => ({ name, series, ...spread(validation[series]) })),
  );
  const sizes = [...new Set(checkpoints.flatMap((c) => Object.keys(c.validation.by_size)))].sort((a, b) => Number(a) - Number(b));
  const bySize = checkpoints.flatMap(({ name, validation }) =>
    Object.entries(validation.by_size).map(([size, cell]) => ({ name, series: size, ...spread(cell.valid) })),
  );
  return composeFigure({
    title: `${report.run.name}: engineer ${report.run.engineer} ${report.run.variant}, seed ${report.run.seed}`,
    rows: [
      [
        { title: `Valid and optimal (${report.run.objective}), 95 % interval`, svg: linePanel(rates, names, ["valid", "optimal"], true) },
        { title: `Valid, by ${report.run.stratum}`, svg: linePanel(bySize, names, sizes, false) },
      ],
      ...configPanels(report),
    ],
  });
}

function plotRuns(reports: readonly RunReport[]): string {
  const labels = distinctLabels(reports);
  const names = reports
    .map(checkpointsOf)
    .reduce((a, b) => (b.length > a.length ? b : a))
    .map((c) => c.name);
  const panel = (what: "valid" | "optimal") =>
    linePanel(
      reports.flatMap((report, i) =>
        checkpointsOf(report).map(({ name, validation }) => ({ name, series: labels[i]!, ...spread(validation[what]) })),
      ),
      names,
      labels,
      true,
    );
  return composeFigure({
    title: `${reports.length} runs`,
    rows: [
      [
        { title: "Valid, 95 % interval", svg: panel("valid") },
        { title: "Optimal, 95 % interval", svg: panel("optimal") },
      ],
    ],
  });
}

/** Pixels between two series at one checkpoint. */
const APART = 5;

interface Point {
  name: string;
  series: string;
  rate: number;
  low: number;
  high: number;
}

/** Lines over checkpoints with a mark per series and its name at the right end. */
function linePanel(points: readonly Point[], names: readonly string[], series: readonly string[], intervals: boolean): Drawing {
  const lastOf = (s: string) => points.findLast((p) => p.series === s);
  const low = Math.min(...points.map((p) => (intervals ? p.low : p.rate)));
  const high = Math.max(...points.map((p) => (intervals ? p.high : p.rate)));
  const margin = Math.max(0.01, (high - low) * 0.08);
  const domain = [Math.max(0, low - margin), Math.min(1, high + margin)] as [number, number];
  const ends = spreadApart(
    series.flatMap((s) => lastOf(s) ?? []),
    domain,
  );
  const colour = { type: "categorical" as const, domain: [...series], range: series.map((_, i) => COLOURS[i % COLOURS.length]!) };
  const style = { x: "name", y: "rate", stroke: "series" } as const;
  // A little apart, so that no interval hides another.
  const beside = series.map((name, i) => ({
    points: points.filter((p) => p.series === name),
    dx: intervals ? APART * (i - (series.length - 1) / 2) : 0,
  }));
  return Plot.plot({
    document: newDocument(),
    width: WIDTH,
    height: HEIGHT,
    marginLeft: 44,
    marginRight: 70,
    marginBottom: 38,
    style: { fontFamily: "DejaVu Sans", fontSize: "11px" },
    x: { type: "point", domain: [...names], label: "checkpoint after stage", padding: 0.3 },
    y: { domain, label: null, grid: true, tickFormat: (y: number) => `${Math.round(1000 * y) / 10} %`, ticks: 6 },
    color: colour,
    symbol: { domain: [...series] },
    marks: [
      ...beside.flatMap(({ points: own, dx }) => [
        ...(intervals ? [Plot.ruleX(own, { x: "name", y1: "low", y2: "high", stroke: "series", strokeWidth: 1.5, dx })] : []),
        Plot.line(own, { ...style, strokeWidth: 1.8, dx }),
        Plot.dot(own, { ...style, fill: "white", symbol: "series", r: 3.4, strokeWidth: 1.5, dx }),
      ]),
      Plot.text(ends, { x: "name", y: "at", text: "series", fill: "series", textAnchor: "start", dx: 9, fontWeight: "bold" }),
    ],
  }) as unknown as Drawing;
}

/** Moves labels apart that would lie over each other; `at` is where a label stands, in units of the y axis. */
function spreadApart(points: readonly Point[], [low, high]: [number, number]): (Point & { at: number })[] {
  const gap = ((high - low) * 13) / (HEIGHT - 60);
  const placed = [...points].sort((a, b) => a.rate - b.rate).map((p) => ({ ...p, at: p.rate }));
  for (let pass = 0; pass < 50; pass++) {
    for (let i = 1; i < placed.length; i++) {
      const [below, above] = [placed[i - 1]!, placed[i]!];
      const missing = gap - (above.at - below.at);
      if (missing > 1e-9) {
        below.at -= missing / 2;
        above.at += missing / 2;
      }
    }
  }
  return placed;
}

/** A heat map for each knob; what was generated, in per cent, written into its cell. */
function configPanels(report: RunReport): { title: string; svg: Drawing }[][] {
  const cells = report.stages.flatMap((stage) =>
    Object.entries(stage.data).flatMap(([size, data]) =>
      Object.keys(data.requested).map((knob) => ({
        stage: String(stage.index),
        size,
        knob,
        value: data.realised[knob] ?? data.requested[knob]!,
      })),
    ),
  );
  const knobs = [...new Set(cells.map((c) => c.knob))];
  const stages = [...new Set(cells.map((c) => c.stage))];
  const sizes = [...new Set(cells.map((c) => c.size))].sort((a, b) => Number(a) - Number(b));
  if (knobs.length === 0) return [];
  const width = Math.floor((2 * WIDTH) / knobs.length);
  const panels = knobs.map((knob) => {
    const own = cells.filter((c) => c.knob === knob);
    const top = Math.max(...own.map((c) => c.value), 1e-9);
    return {
      title: `Config: ${knob.replace(/_ratio$/, "")}, % by ${report.run.stratum}`,
      svg: Plot.plot({
        document: newDocument(),
        width,
        height: 66 + 24 * sizes.length,
        marginLeft: 30,
        marginBottom: 36,
        style: { fontFamily: "DejaVu Sans", fontSize: "10px" },
        x: { type: "band", domain: stages, label: "stage", padding: 0.04 },
        y: { type: "band", domain: [...sizes].reverse(), label: null, padding: 0.04 },
        color: { type: "linear", scheme: "blues", domain: [0, top * 1.15] },
        marks: [
          Plot.cell(own, { x: "stage", y: "size", fill: "value" }),
          Plot.text(own, {
            x: "stage",
            y: "size",
            text: (c: (typeof own)[number]) => String(Math.round(100 * c.value)),
            fill: (c: (typeof own)[number]) => (c.value > 0.62 * top ? "white" : "black"),
          }),
        ],
      }) as unknown as Drawing,
    };
  });
  return [panels];
}

function checkpointsOf(report: RunReport): Checkpoint[] {
  return [
    ...(report.base === undefined ? [] : [{ name: "base", validation: report.base }]),
    ...report.stages.flatMap((s) => (s.validation === undefined ? [] : [{ name: String(s.index), validation: s.validation }])),
  ];
}

function spread(rate: ReportedRate): { rate: number; low: number; high: number } {
  return { rate: rate.rate, low: rate.interval[0], high: rate.interval[1] };
}

/** The shortest label that tells the runs apart: engineer, with the seed, with the name of the folder. */
function distinctLabels(reports: readonly RunReport[]): string[] {
  const candidates = [
    (r: RunReport) => r.run.engineer,
    (r: RunReport) => `${r.run.engineer} s${r.run.seed}`,
    (r: RunReport) => r.run.dir.split(/[\\/]/).at(-1)!,
    (r: RunReport) => r.run.dir,
  ];
  const distinct = candidates.find((label) => new Set(reports.map(label)).size === reports.length);
  return reports.map((r, i) => distinct?.(r) ?? String(i));
}
