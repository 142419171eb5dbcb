/** What an evaluation does not let pass: options that eval.json has settled, and rates over a part of the set as if they were over all of it. */
import { BoundaryError, InputError } from "../core/index.js";
import { instanceCount, MOST_FAILED } from "../evaluation/index.js";
import type { EvaluationResult } from "./evaluation-run.js";

/** What stands in eval.json, and would be ignored beside it. */
const SETTLED = ["set", "samples", "map", "limit", "temperature", "max-tokens", "objective", "seed", "family", "out", "price-in", "price-out"] as const; // biome-ignore format: one list

/** The rates stand, but not for the set: what is missing, why, and how it is asked for. */
export function partialResult({ report, failure }: EvaluationResult, out: string | undefined): BoundaryError {
  const { n, answers, failed, failed_share } = report.total;
  return new BoundaryError({
    boundary: failure?.boundary ?? "policy",
    message: `${failed} of ${failed + answers} samples (${(100 * failed_share).toFixed(1)} %) failed outside of the policy: the rates are over the ${n} of ${instanceCount(report)} boards that were answered${failure === undefined ? "" : `. The first failed with: ${failure.message}`}`,
    value: failed,
    expected: `an answer to all samples but ${100 * MOST_FAILED} %`,
    remedy: `mend what failed, then ask for them again: ${out === undefined ? "envwright eval --resume DIR, where the evaluation is kept with --out DIR" : `envwright eval --resume ${out}`}`,
  });
}

/** @param source what the values would be ignored beside @throws {InputError} naming every option that is settled there */
export function refuseSettled(values: { [K in (typeof SETTLED)[number]]: unknown }, source: string, expected: string): void {
  const given = SETTLED.filter((name) => values[name] !== undefined).map((name) => `--${name}`);
  if (given.length === 0) return;
  throw new InputError({
    message: `${source} takes set, sampling, prices and folder from eval.json; ${given.join(", ")} cannot change them`,
    value: given,
    expected,
    remedy: `leave ${given.length > 1 ? "them" : "it"} out, or start a new evaluation`,
  });
}
