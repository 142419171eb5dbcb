/**
 * Counterfactual branches of one stage → which proposal raised validation most, and what the one that was taken cost: its regret. Every
 * branch trained from the same checkpoint until it had sampled as many tokens.
 *
 * The best of several is chosen on the validation set and, where there is one, measured on the held-out set: measured on the boards that it
 * was chosen on, it would look better than it is, and so would the regret. Two intervals can be had, from boards (paired, each
 * board's mean over the seeds, which share their boards) and from the spread over seeds (t); the wider one is told, since few seeds can agree by chance.
 */
import {
  halfWidth,
  mean,
  type PairedDifference,
  pairedOutcomes,
  pairedOverBoards,
  points,
  pointsWithin,
  type ValidationReport,
} from "../core/index.js";
import { markdownTable, type TextTable } from "../evaluation/index.js";
import { type Estimate, estimate } from "./summary.js";

export interface BranchRun {
  branch: string;
  seed: number;
  /** Steps made and completion tokens sampled. */
  steps: number;
  tokens: number;
  /** The checkpoint that all branches start from, and what the branch made of it. */
  validation: { before: ValidationReport; after: ValidationReport };
  heldOut?: { before: ValidationReport; after: ValidationReport };
}

export interface SeedDifference {
  seed: number;
  difference: PairedDifference;
}

export interface Change {
  mean: number;
  /** 95 %: the wider of the interval over seeds (t) and that over boards (paired, each board's mean over seeds). */
  interval: [number, number];
  /** Mean over the boards of each seed. */
  boards: SeedDifference[];
}

export interface BranchSummary {
  branch: string;
  /** Every proposal that came to this config. */
  proposals: string[];
  seeds: number[];
  steps: number[];
  tokens: number[];
  /** Valid rate on the validation set, its gain over the checkpoint, and the gain for a million tokens. */
  valid: Estimate;
  gain: Change & { per_million_tokens: number | null };
  /** On the held-out set, where there is one. */
  held_out_gain?: Change;
  /** This branch less the one that was taken, on the validation set. */
  against_taken?: Change;
}

export interface BranchReport {
  branches: BranchSummary[];
  /** Highest mean valid rate on the validation set over the seeds that every branch finished; the first of equals. Absent without such a seed. */
  best: string | undefined;
  /** What was lost by the proposal that was taken: best less taken. Absent where the run took none. */
  regret?: Change & { taken: string; best: string; set: "held-out" | "validation" };
}

export interface BranchInput {
  /** Branch → the proposals that came to its config; in the order of the report. */
  branches: Readonly<Record<string, readonly string[]>>;
  /** The branch of the proposal that the run took. */
  taken: string | undefined;
  runs: readonly BranchRun[];
}

interface SeedPair {
  seed: number;
  pair: [ValidationReport, ValidationReport];
}

type SetName = "validation" | "heldOut";

export function branchReport({ branches, taken, runs }: BranchInput): BranchReport {
  const of = (branch: string) => runs.filter((r) => r.branch === branch).sort((a, b) => a.seed - b.seed);
  const gain = (branch: string, set: SetName) =>
    changeOf(
      of(branch).flatMap((r): SeedPair[] => {
        const reports = r[set];
        return reports === undefined ? [] : [{ seed: r.seed, pair: [reports.before, reports.after] }];
      }),
    );
  const between = (from: string, to: string, set: SetName) =>
    changeOf(
      of(to).flatMap((r): SeedPair[] => {
        const [mine, other] = [r[set], of(from).find((o) => o.seed === r.seed)?.[set]];
        return mine === undefined || other === undefined ? [] : [{ seed: r.seed, pair: [other.after, mine.after] }];
      }),
    );
  const heldOut = runs.length > 0 && runs.every((r) => r.heldOut !== undefined);
  const summaries = Object.entries(branches).flatMap(([branch, proposals]): BranchSummary[] => {
    const own = of(branch);
    if (own.length === 0) return [];
    const gained = gain(branch, "validation");
    const tokens = own.map((r) => r.tokens);
    const spent = tokens.reduce((a, b) => a + b, 0) / own.length;
    return [
      {
        branch,
        proposals: [...proposals],
        seeds: own.map((r) => r.seed),
        steps: own.map((r) => r.steps),
        tokens,
        valid: estimate(own.map((r) => r.validation.after.total.valid.rate)),
        gain: { ...gained, per_million_tokens: spent > 0 ? (gained.mean * 1e6) / spent : null },
        ...(heldOut ? { held_out_gain: gain(branch, "heldOut") } : {}),
        ...(taken === undefined || of(taken).length === 0 ? {} : { against_taken: between(taken, branch, "validation") }),
      },
    ];
  });
  const best = bestOf(summaries);
  const known = taken !== undefined && summaries.some((s) => s.branch === taken);
  return {
    branches: summaries,
    best: best?.branch,
    ...(known && best !== undefined
      ? {
          regret: {
            taken,
            best: best.branch,
            set: heldOut ? ("held-out" as const) : ("validation" as const),
            ...between(taken, best.branch, heldOut ? "heldOut" : "validation"),
          },
        }
      : {}),
  };
}

/** A seed that failed in one branch is left out of all: means over different seeds would compare seeds as well. */
function bestOf(summaries: readonly BranchSummary[]): BranchSummary | undefined {
  const common = (summaries[0]?.seeds ?? []).filter((seed) => summaries.every((s) => s.seeds.includes(seed)));
  if (common.length === 0) return undefined;
  const rate = (s: BranchSummary) => mean(common.map((seed) => s.valid.values[s.seeds.indexOf(seed)]!));
  return summaries.reduce((a, b) => (rate(b) > rate(a) ? b : a));
}

function changeOf(runs: readonly SeedPair[]): Change {
  const boards = runs.map(({ seed, pair: [before, after] }) => ({ seed, difference: pairedOutcomes(before, after, 0) }));
  const seeds = estimate(boards.map((b) => b.difference.difference));
  const { stderr, n } = pairedOverBoards(
    runs.map((r) => r.pair),
    0,
  );
  const half = Math.max(halfWidth(stderr, n), seeds.interval === undefined ? 0 : seeds.interval[1] - seeds.mean);
  return { mean: seeds.mean, interval: [seeds.mean - half, seeds.mean + half], boards };
}

const percent = (x: number) => (100 * x).toFixed(1);

function change({ mean, interval }: Change): string {
  return pointsWithin(mean, interval);
}

export function branchTable(report: BranchReport): TextTable {
  const several = (values: readonly number[]) => [...new Set(values)].join(", ");
  return {
    title: "Rates on the validation set, gains in points; brackets: 95 % intervals, the wider of over boards (paired) and over seeds (t)",
    head: [
      "branch",
      "proposals",
      "seeds",
      "steps",
      "tokens (k)",
      "valid %",
      "gain",
      "gain, held out",
      "against taken",
      "gain per M tokens",
    ],
    rows: report.branches.map((b) => [
      b.branch === report.best ? `${b.branch} (best)` : b.branch,
      b.proposals.join(" = "),
      b.seeds.join(", "),
      several(b.steps),
      b.tokens.map((t) => (t / 1000).toFixed(1)).join(", "),
      percent(b.valid.mean),
      change(b.gain),
      b.held_out_gain === undefined ? "—" : change(b.held_out_gain),
      b.branch === report.regret?.taken || b.against_taken === undefined ? "—" : change(b.against_taken),
      b.gain.per_million_tokens === null ? "—" : points(b.gain.per_million_tokens),
    ]),
    left: [0, 1],
  };
}

export function regretSentence({ regret, best, branches }: BranchReport): string {
  if (regret === undefined && branches.length > 0 && best === undefined)
    return "No seed was finished in every branch, so there is no best one and no regret.";
  if (regret === undefined) return "The run took no proposal after this stage, so there is no regret.";
  if (regret.best === regret.taken)
    return `Of ${branches.length} branches the proposal that was taken (${regret.taken}) was the best: no regret.`;
  const within = regret.interval[0] <= 0 ? ", which is no measurable regret" : "";
  const caution = regret.set === "validation" ? " It was chosen and measured on the same boards, which flatters it." : "";
  return `Regret of the proposal that was taken (${regret.taken}): ${change(regret)} points against ${regret.best} on the ${regret.set} set (95 % interval)${within}.${caution}`;
}

export function branchMarkdown(report: BranchReport): string {
  return `${markdownTable(branchTable(report))}\n\n${regretSentence(report)}`;
}
