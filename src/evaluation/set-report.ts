/**
 * A policy on a frozen set, with one or several samples of each instance. Rates are means over instances of the mean over samples, so that
 * their errors are over instances: a Wilson interval where every instance is right or wrong as a whole (one sample each), a bootstrap over
 * instances where it is a share. Outside failures are counted and enter no rate.
 */
import { z } from "zod";
import { deviation, InputError, type InstanceBase, mean, rateOf, Seed, setHash, unseen, wilson } from "../core/index.js";
import { bootstrapMeans, type PairedOutcome, pairOutcomes, passAtK, quantile } from "./inference.js";
import type { JudgedInstance, JudgedSample } from "./sample-record.js";

const rateSchema = z.strictObject({ rate: z.number(), stderr: z.number(), interval: z.tuple([z.number(), z.number()]) });
export type IntervalRate = z.infer<typeof rateSchema>;

const cellSchema = z.strictObject({
  /** Instances with at least one answer, answers, and samples that failed outside, with their share of all samples. */
  n: z.int(),
  answers: z.int(),
  failed: z.int(),
  failed_share: z.number(),
  valid: rateSchema,
  /** Under the report's objective; `objectives` has every one. */
  optimal: rateSchema,
  /** Mean of (cost − optimum) / optimum over valid answers under the report's objective; null without a valid answer. */
  gap: z.number().nullable(),
  objectives: z.record(z.string(), z.strictObject({ optimal: rateSchema, gap: z.number().nullable() })),
  /** Unbiased pass@k over the `n` instances with at least k answers; null where there is none. */
  pass_at: z.record(z.string(), rateSchema.extend({ n: z.int() }).nullable()),
  /** Primary codes over all answers. */
  codes: z.record(z.string(), z.int()),
  /** Mean length of a completion in tokens; prompts and reasoning where the policy told. */
  tokens: z.number(),
  prompt_tokens: z.number().nullable(),
  reasoning_tokens: z.number().nullable(),
  /** Seconds an answer took. */
  latency: z.strictObject({ mean: z.number(), median: z.number(), p95: z.number() }).nullable(),
  /** US dollars for all samples of the cell, where known. */
  price: z.number().nullable(),
});
export type SetCell = z.infer<typeof cellSchema>;

const outcomesSchema = z.array(z.number().nullable());
export const setReportSchema = z.strictObject({
  policy: z.string(),
  set: z.string(),
  /** SHA-256 over the instances' hashes in order: only equal sets are compared. */
  set_sha256: z.string(),
  objective: z.string(),
  samples: z.int(),
  total: cellSchema,
  by_size: z.record(z.string(), cellSchema),
  by_tag: z.record(z.string(), cellSchema),
  failed: z.int(),
  /** Mean validity and optimality of every instance, in the set's order: what paired comparisons need. */
  outcomes: z.strictObject({ valid: outcomesSchema, optimal: z.record(z.string(), outcomesSchema) }),
});
export type SetReport = z.infer<typeof setReportSchema>;

/** Share of the samples that may fail outside before the totals no longer stand for the set: boards that fail are seldom drawn at random. */
export const MOST_FAILED = 0.01;

/** Whether so many samples failed outside that the totals are those of the boards that were answered, and not of the set. */
export const isPartial = ({ total }: Pick<SetReport, "total">): boolean => total.failed_share > MOST_FAILED;

/** Instances of the set, answered or not. */
export const instanceCount = ({ outcomes }: SetReport): number => outcomes.valid.length;

export interface SetReportInput {
  policy: string;
  set: string;
  instances: readonly InstanceBase[];
  /** Every objective, in the order of the samples' costs; and the one that `optimal` is about. */
  objectives: readonly string[];
  objective: string;
  samples: number;
  /** The k of pass@k; powers of two up to `samples`, and `samples`, unless given. */
  passAt?: readonly number[];
  judged: readonly JudgedInstance[];
}

export function setReport(input: SetReportInput): SetReport {
  const { judged, objectives } = input;
  const ks = input.passAt ?? defaultPassAt(input.samples);
  const cell = (items: readonly JudgedInstance[], name: string) => setCell(items, input, ks, name);
  const groups = (names: (item: JudgedInstance) => string[]) => {
    const lists = new Map<string, JudgedInstance[]>();
    for (const item of judged) {
      for (const name of names(item)) {
        const list = lists.get(name);
        if (list === undefined) lists.set(name, [item]);
        else list.push(item);
      }
    }
    const sorted = [...lists].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
    return Object.fromEntries(sorted.map(([name, items]) => [name, cell(items, name)]));
  };
  const shares = (holds: (sample: JudgedSample) => boolean) => judged.map((item) => share(item, holds) ?? null);
  const total = cell(judged, "total");
  return {
    policy: input.policy,
    set: input.set,
    set_sha256: setHash(input.instances),
    objective: input.objective,
    samples: input.samples,
    total,
    by_size: groups((item) => [item.stratum]),
    by_tag: groups((item) => Object.entries(item.tags).map(([tag, value]) => `${tag}=${value}`)),
    failed: total.failed,
    outcomes: {
      valid: shares((s) => s.ok),
      optimal: Object.fromEntries(objectives.map((name, o) => [name, shares((s) => s.optimal[o]!)])),
    },
  };
}

/** 1, 2, 4, … up to the samples, and the samples themselves; nothing for one sample, where pass@1 is the valid rate. */
export function defaultPassAt(samples: number): number[] {
  if (samples === 1) return [];
  const ks: number[] = [];
  for (let k = 1; k < samples; k *= 2) ks.push(k);
  return [...ks, samples];
}

function setCell(
  items: readonly JudgedInstance[],
  { objectives, objective }: SetReportInput,
  ks: readonly number[],
  name: string,
): SetCell {
  const answered = items.filter((item) => item.samples.some(hasAnswer));
  const answers = answered.flatMap((item) => item.samples.filter(hasAnswer));
  const failed = items.reduce((sum, item) => sum + item.samples.filter((s) => !hasAnswer(s)).length, 0);
  const codes: Record<string, number> = {};
  for (const { code } of answers) codes[code!] = (codes[code!] ?? 0) + 1;
  const column = (value: (item: JudgedInstance) => number | undefined) => Float64Array.from(answered, (item) => value(item) ?? Number.NaN);
  const columns = [
    column((item) => share(item, (s) => s.ok)),
    ...objectives.map((_, o) => column((item) => share(item, (s) => s.optimal[o]!))),
    ...ks.map((k) => column((item) => passOf(item, k))),
  ];
  const rates = clusteredRates(columns, Seed.root("evaluation").child("bootstrap", name));
  const byObjective = Object.fromEntries(objectives.map((o, i) => [o, { optimal: rates[1 + i]!.rate, gap: gapOf(answered, i) }]));
  const optional = (value: (s: JudgedSample) => number | undefined) => answers.flatMap((s) => value(s) ?? []);
  const average = (values: readonly number[]) => (values.length === 0 ? null : mean(values));
  const latencies = Float64Array.from(optional((s) => s.latency)).sort();
  const prices = items.flatMap((item) => item.samples.flatMap((s) => s.price ?? []));
  return {
    n: answered.length,
    answers: answers.length,
    failed,
    failed_share: failed / Math.max(1, failed + answers.length),
    valid: rates[0]!.rate,
    ...byObjective[objective]!,
    objectives: byObjective,
    pass_at: Object.fromEntries(
      ks.map((k, i) => {
        const { rate, n } = rates[1 + objectives.length + i]!;
        return [String(k), n === 0 ? null : { ...rate, n }];
      }),
    ),
    codes,
    tokens: mean(answers.map((s) => s.tokens)),
    prompt_tokens: average(optional((s) => s.promptTokens)),
    reasoning_tokens: average(optional((s) => s.reasoningTokens)),
    latency:
      latencies.length === 0 ? null : { mean: mean([...latencies]), median: quantile(latencies, 0.5), p95: quantile(latencies, 0.95) },
    price: prices.length === 0 ? null : prices.reduce((sum, x) => sum + x, 0),
  };
}

const hasAnswer = (sample: JudgedSample): boolean => sample.code !== undefined;

/** Share of an instance's answers for which `holds`; undefined without an answer. */
function share(item: JudgedInstance, holds: (sample: JudgedSample) => boolean): number | undefined {
  let [n, held] = [0, 0];
  for (const sample of item.samples) {
    if (!hasAnswer(sample)) continue;
    n += 1;
    if (holds(sample)) held += 1;
  }
  return n === 0 ? undefined : held / n;
}

function passOf(item: JudgedInstance, k: number): number | undefined {
  const answers = item.samples.filter(hasAnswer);
  return passAtK(answers.length, answers.filter((s) => s.ok).length, k);
}

function gapOf(items: readonly JudgedInstance[], objective: number): number | null {
  let [n, sum] = [0, 0];
  for (const { samples, optima } of items) {
    const optimum = optima[objective]!;
    for (const sample of samples) {
      const cost = sample.costs[objective];
      if (cost === undefined || Number.isNaN(cost) || Number.isNaN(optimum)) continue;
      sum += (cost - optimum) / Math.max(1, optimum);
      n += 1;
    }
  }
  return n === 0 ? null : sum / n;
}

/** Mean of every column over the rows that have a value, with its interval. */
function clusteredRates(columns: readonly Float64Array[], seed: Seed): { rate: IntervalRate; n: number }[] {
  const values = columns.map((column) => [...column].filter((x) => !Number.isNaN(x)));
  const plain = values.map((list) => list.every((m) => m === 0 || m === 1));
  const resampled = plain.every(Boolean) ? [] : bootstrapMeans(columns, seed);
  return values.map((list, c) => {
    const n = list.length;
    if (plain[c]) {
      const rate = rateOf(list.filter((m) => m === 1).length, n);
      return { n, rate: { ...rate, interval: wilson(rate.rate, n) } };
    }
    const [rate, stderr] = [mean(list), deviation(list) / Math.sqrt(n)];
    // All boards at one rate, which no resampling spreads.
    const alike: [number, number] = [Math.max(0, rate - unseen(n)), Math.min(1, rate + unseen(n))];
    return { n, rate: { rate, stderr, interval: stderr > 0 ? resampled[c]! : alike } };
  });
}

export interface SetComparison {
  valid: PairedOutcome;
  /** Under the report's objective, and under every one. */
  optimal: PairedOutcome;
  objectives: Record<string, PairedOutcome>;
}

/** `report` minus `reference`, paired over instances. @throws {InputError} for different sets. */
export function compareSetReports(reference: SetReport, report: SetReport): SetComparison {
  if (reference.set_sha256 !== report.set_sha256 || reference.objective !== report.objective) {
    throw new InputError({
      message: `the evaluations are of different sets or objectives (${reference.set}, ${reference.objective}; ${report.set}, ${report.objective}), so their boards cannot be paired`,
      value: [reference.set_sha256, report.set_sha256],
      expected: "two evaluations of the same set with the same limit",
      remedy: "evaluate both policies on one set",
    });
  }
  const seed = Seed.root("evaluation").child("paired");
  const objectives = Object.fromEntries(
    Object.entries(report.outcomes.optimal).map(([name, outcomes]) => [
      name,
      pairOutcomes(reference.outcomes.optimal[name] ?? [], outcomes, seed.child(name)),
    ]),
  );
  return {
    valid: pairOutcomes(reference.outcomes.valid, report.outcomes.valid, seed.child("valid")),
    optimal: objectives[report.objective]!,
    objectives,
  };
}
