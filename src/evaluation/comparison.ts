/** Two runs on the same boards, held-out ones where both have them: paired differences of their last checkpoints. Refuses different sets. */
import { InputError, type ValidationReport } from "../core/index.js";
import type { RunHistory } from "./history.js";
import { gainOf, type ReportedGain } from "./report.js";

export interface RunComparison extends ReportedGain {
  /** Run names with their folders; differences are b − a. */
  a: string;
  b: string;
  set: "held-out" | "validation";
  checkpoints: [number, number];
}

/** Last checkpoint of `b` against that of `a`. @throws {InputError} for different validation sets or runs without a finished stage. */
export function compareRuns(a: RunHistory, b: RunHistory): RunComparison {
  const both = a.heldOut !== undefined && b.heldOut !== undefined;
  const [lastA, lastB] = [lastReport(a, both), lastReport(b, both)];
  if (lastA.report.set_sha256 !== lastB.report.set_sha256 || lastA.report.objective !== lastB.report.objective) {
    throw new InputError({
      message: `${a.dir} and ${b.dir} were judged on different sets or under different objectives, so their boards cannot be paired`,
      value: [lastA.report.set_sha256, lastB.report.set_sha256],
      expected: "runs whose recipes agree in config strata, agents, objective, validation and held_out",
      remedy: "report the runs one by one, or evaluate both checkpoints on one set with `envwright eval`",
    });
  }
  return {
    a: a.dir,
    b: b.dir,
    set: both ? "held-out" : "validation",
    checkpoints: [lastA.checkpoint, lastB.checkpoint],
    ...gainOf(lastA.report, lastB.report),
  };
}

function lastReport(run: RunHistory, heldOut: boolean): { checkpoint: number; report: ValidationReport } {
  if (heldOut) return { checkpoint: run.stages.length, report: run.heldOut!.last };
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
