/** Evaluations that are on disk, made into reports again: nothing is asked; where the present verifier judges otherwise, it is said. */
import { InputError, type InstanceBase, setHash } from "../core/index.js";
import { familyByName } from "../environments/index.js";
import { isPartial, type SetReport } from "../evaluation/index.js";
import { type EvaluationRequest, openEvaluation, rebuildReport } from "./evaluation-run.js";
import { loadInstanceSet } from "./instance-sets.js";
import { openMapping } from "./row-mapping.js";

export interface StoredEvaluation {
  dir: string;
  request: EvaluationRequest;
  report: SetReport;
  changed_verdicts: { id: string; stored: string; present: string }[];
}

/** @throws {InputError} for a folder that holds no finished evaluation, or whose set has changed. */
export async function loadEvaluation(
  dir: string,
  passAt: readonly number[] | undefined,
  note: (text: string) => void,
): Promise<StoredEvaluation> {
  const request = await openEvaluation(dir);
  const family = familyByName(request.family);
  const instances = await loadInstanceSet(request.set, family, request.limit, openMapping(request.map, family));
  requireSameSet(request, instances);
  const { report, changed } = await rebuildReport(dir, request, { family, instances, ...(passAt === undefined ? {} : { passAt }) });
  noteChanged(dir, changed, note);
  if (isPartial(report)) {
    const { failed, answers } = report.total;
    note(
      `${dir}: ${failed} of ${failed + answers} samples failed outside, so its rates are not over the set; ask for them again: envwright eval --resume ${dir}`,
    );
  }
  return { dir, request, report, changed_verdicts: changed };
}

export function noteChanged(dir: string, changed: StoredEvaluation["changed_verdicts"], note: (text: string) => void): void {
  const [first] = changed;
  if (first === undefined) return;
  note(
    `${dir}: this version judges ${changed.length} stored answers otherwise than their records say (first: ${first.id}, ${first.stored} then, ${first.present} now); the report is of the present verdicts.`,
  );
}

/** @throws {InputError} when the instances are not those that the evaluation was started on. */
export function requireSameSet(request: EvaluationRequest, instances: readonly InstanceBase[]): void {
  if (request.set_sha256 === setHash(instances)) return;
  throw new InputError({
    message: `${request.set} has changed since the evaluation was started`,
    value: request.set,
    expected: "the same instances in the same order",
    remedy: "restore the file, or start a new evaluation",
  });
}
