/**
 * One sample of an evaluation: the line of rollouts.jsonl, and what a report keeps of it (without texts, so that a hundred thousand fit).
 * An outside failure has no verdict: it counts in no rate.
 */
import { z } from "zod";
import { rolloutSchema, type Verdict } from "../core/index.js";

export const sampleRecordSchema = rolloutSchema.extend({
  /** Tokens as the server counted them. */
  prompt_tokens: z.int().nonnegative().optional(),
  reasoning_tokens: z.int().nonnegative().optional(),
  /** Seconds from asking to the whole answer. */
  latency: z.number().nonnegative().optional(),
  /** US dollars, where the price is known. */
  price: z.number().nonnegative().optional(),
});
export type SampleRecord = z.infer<typeof sampleRecordSchema>;

/** What the outside said of one answer, beside its text; absent where nobody told. */
export interface Measures {
  tokens: number;
  promptTokens?: number;
  reasoningTokens?: number;
  latency?: number;
  price?: number;
}

export interface JudgedSample extends Measures {
  /** Primary code of the verdict; undefined after an outside failure. */
  code: string | undefined;
  ok: boolean;
  /** Cost of a valid answer under each objective, in the order of the report's objectives; empty otherwise. */
  costs: readonly number[];
  /** Valid and equal to the optimum, in the same order. */
  optimal: readonly boolean[];
}

/** All samples of one instance, in order. */
export interface JudgedInstance {
  stratum: string;
  tags: Record<string, string>;
  /** The certified optimum under each objective; NaN where the family tells none. */
  optima: readonly number[];
  samples: JudgedSample[];
}

const NOTHING: readonly number[] = [];
const known = new Map<string, readonly boolean[]>();

export function judgedSample(verdict: Verdict | undefined, measures: Measures, objectives: readonly string[]): JudgedSample {
  if (verdict === undefined)
    return { code: undefined, ok: false, costs: NOTHING, optimal: shared(objectives.map(() => false)), ...measures };
  return {
    code: verdict.code,
    ok: verdict.ok,
    costs: verdict.ok ? objectives.map((name) => verdict.costs?.[name] ?? Number.NaN) : NOTHING,
    optimal: shared(objectives.map((name) => verdict.ok && verdict.optimal[name] === true)),
    ...measures,
  };
}

/** One array for each of the few combinations. */
function shared(flags: boolean[]): readonly boolean[] {
  const key = flags.join();
  const same = known.get(key);
  if (same === undefined) known.set(key, flags);
  return same ?? flags;
}

/** The measures of a stored sample. */
export function measuresOf(record: SampleRecord): Measures {
  const { tokens, prompt_tokens, reasoning_tokens, latency, price } = record;
  return {
    tokens,
    ...(prompt_tokens === undefined ? {} : { promptTokens: prompt_tokens }),
    ...(reasoning_tokens === undefined ? {} : { reasoningTokens: reasoning_tokens }),
    ...(latency === undefined ? {} : { latency }),
    ...(price === undefined ? {} : { price }),
  };
}
