/** Two runs on the same validation boards: paired differences of their last checkpoints. Refuses to compare different sets. */
import { InputError, type ValidationReport } from "../core/index.js";
import type { RunHistory } from "./history.js";
import { gainOf, type ReportedGain } from "./report.js";

export interface RunComparison extends ReportedGain {
  /** Run names with their folders; differences are b − a. */
  a: string;
  b: string;
  checkpoints: [number, number];
}

/** Last checkpoint of `b` against that of `a`. @throws {InputError} for different validation sets or runs without a finished stage. */
export function compareRuns(a: RunHistory, b: RunHistory): RunComparison {
  const [lastA, lastB] = [lastValidation(a), lastValidation(b)];
  if (lastA.report.set_sha256 !== lastB.report.set_sha256) {
    throw new InputError({
      message: `${a.dir} and ${b.dir} were validated on different sets, so their boards cannot be paired`,
      value: [lastA.report.set_sha256, lastB.report.set_sha256],
      expected: "runs with the same seed and the same validation section of the recipe",
      remedy: "report the runs one by one, or evaluate both checkpoints on one set with `envwright eval`",
    });
  }
  return { a: a.dir, b: b.dir, checkpoints: [lastA.checkpoint, lastB.checkpoint], ...gainOf(lastA.report, lastB.report) };
}

function lastValidation(run: RunHistory): { checkpoint: number; report: ValidationReport } {
  const stage = run.stages.findLast((s) => s.validation !== undefined);
  if (stage?.validation !== undefined) return { checkpoint: stage.index + 1, report: stage.validation };
  if (run.base !== undefined) return { checkpoint: 0, report: run.base };
  throw new InputError({
    message: `${run.dir} has no validation report yet`,
    value: run.dir,
    expected: "a run with a validated checkpoint",
    remedy: `go on with it: envwright run --resume ${run.dir}`,
  });
}
