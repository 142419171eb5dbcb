/**
 * An experiment as a figure: the difference of every arm from the reference as a forest plot (mean and 95 % t interval over seeds, each
 * seed as a dot), and the valid rate on the validation set over the tokens sampled, as the mean over seeds. The SVG text.
 */
import * as Plot from "@observablehq/plot";
import { counted, mean } from "../core/index.js";
import { composeFigure, type Drawing, newDocument } from "../evaluation/figure.js";
import { type ArmSummary, type CellResult, validAt } from "./summary.js";

/** Okabe and Ito's palette without its yellow, which is lost on white; beyond it the marks tell arms apart. */
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F"];
const STYLE = { fontFamily: "DejaVu Sans", fontSize: "11px" };
/** Points of a curve, the base among them. */
const CURVE_POINTS = 25;

export function plotExperiment(name: string, reference: string, arms: readonly ArmSummary[], results: readonly CellResult[]): string {
  const seeds = new Set(results.map((r) => r.seed)).size;
  const [any] = arms;
  return composeFigure({
    title: `${name}: ${arms.length} arms, ${counted(seeds, "seed")}`,
    rows: [
      [
        { title: `Valid rate against ${reference}, points, ${any?.set ?? "validation"} set`, svg: forest(arms, reference) },
        { title: "Valid rate on the validation set over tokens, mean over seeds", svg: curves(arms, results) },
      ],
    ],
  });
}

function forest(arms: readonly ArmSummary[], reference: string): Drawing {
  const rows = arms.flatMap(({ arm, against }) =>
    against === undefined
      ? []
      : [{ arm, centre: 100 * against.seeds.mean, interval: against.seeds.interval?.map((x) => 100 * x), seeds: against.seeds.values }],
  );
  rows.sort((a, b) => b.centre - a.centre);
  const dots = rows.flatMap(({ arm, seeds }) => seeds.map((value) => ({ arm, value: 100 * value })));
  const intervals = rows.flatMap(({ arm, interval }) => (interval === undefined ? [] : [{ arm, low: interval[0]!, high: interval[1]! }]));
  return Plot.plot({
    document: newDocument(),
    width: 460,
    height: 70 + 26 * Math.max(1, rows.length),
    marginLeft: 100,
    marginBottom: 38,
    style: STYLE,
    x: { label: `points against ${reference}`, grid: true, nice: true },
    y: { type: "band", domain: rows.map((r) => r.arm), label: null, padding: 0.3 },
    marks: [
      Plot.ruleX([0], { stroke: "#7F7F7F" }),
      Plot.ruleY(intervals, { y: "arm", x1: "low", x2: "high", stroke: "#0072B2", strokeWidth: 2 }),
      Plot.dot(dots, { y: "arm", x: "value", r: 2.2, fill: "#7F7F7F" }),
      Plot.dot(rows, { y: "arm", x: "centre", r: 4.5, fill: "#0072B2", stroke: "white" }),
    ],
  }) as unknown as Drawing;
}

function curves(arms: readonly ArmSummary[], results: readonly CellResult[]): Drawing {
  const total = (r: CellResult) => r.tokens.reduce((a, b) => a + b, 0);
  // To where the shortest run goes: beyond it the mean would be over fewer seeds.
  const fewest = Math.min(...results.map(total));
  const points = arms.flatMap(({ arm }) => {
    const own = results.filter((r) => r.arm === arm);
    return Array.from({ length: CURVE_POINTS }, (_, i) => {
      const tokens = (fewest * i) / (CURVE_POINTS - 1);
      return { arm, tokens: tokens / 1e6, valid: 100 * mean(own.map((r) => validAt(r, tokens))) };
    });
  });
  const names = arms.map((a) => a.arm);
  return Plot.plot({
    document: newDocument(),
    width: 520,
    height: 330,
    marginLeft: 44,
    marginRight: 100,
    marginBottom: 38,
    style: STYLE,
    x: { label: "completion tokens sampled (M)", grid: false },
    y: { label: "valid %", grid: true, nice: true },
    color: { type: "categorical", domain: names, range: names.map((_, i) => COLOURS[i % COLOURS.length]!) },
    symbol: { domain: names },
    marks: [
      Plot.line(points, { x: "tokens", y: "valid", z: "arm", stroke: "arm", strokeWidth: 1.6 }),
      Plot.dot(
        points.filter((_, i) => (i % CURVE_POINTS) % 6 === 0),
        { x: "tokens", y: "valid", stroke: "arm", fill: "white", symbol: "arm", r: 3 },
      ),
      Plot.text(labels(points, names), { x: "tokens", y: "at", text: "arm", fill: "arm", textAnchor: "start", dx: 6, fontWeight: "bold" }),
    ],
  }) as unknown as Drawing;
}

/** A label at the end of each curve, moved apart where two would lie over each other. */
function labels(points: readonly { arm: string; tokens: number; valid: number }[], names: readonly string[]) {
  const ends = names.flatMap((arm) => points.findLast((p) => p.arm === arm) ?? []).sort((a, b) => a.valid - b.valid);
  const values = points.map((p) => p.valid);
  const gap = (Math.max(...values) - Math.min(...values)) * 0.045;
  let below = Number.NEGATIVE_INFINITY;
  return ends.map((end) => {
    below = Math.max(end.valid, below + gap);
    return { ...end, at: below };
  });
}
