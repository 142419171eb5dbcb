/**
 * Guardrails: limits that the user sets on what any engineer may do, each switched off by default and each logged when it acts. They change
 * shares only; a ratio is bounded by the family.
 */
import {
  type EngineerOptions,
  type EnvironmentFamily,
  type GuardrailAction,
  InputError,
  type KnobTable,
  pairedOutcomes,
  type ValidationReport,
} from "../core/index.js";
import type { EngineerContext } from "./context.js";
import { validRates } from "./shares.js";

export type GuardrailOptions = EngineerOptions["guardrails"];

/** Below this a limit counts as kept: floating-point sums of shares are not exact. */
const TOLERANCE = 1e-9;

/**
 * The table within the guardrails, and what they did. The least share of mastered strata is raised first, the change limited last, so that
 * the limit on change always holds; then a minimum may be reached only over several stages.
 */
export function applyGuardrails(
  table: KnobTable,
  context: EngineerContext,
  family: EnvironmentFamily,
  options: GuardrailOptions,
): { table: KnobTable; actions: GuardrailAction[] } {
  const strata = family.strata(context.config);
  const previous = family.knobTable(context.config);
  const guarded: KnobTable = Object.fromEntries(strata.map((s) => [s, { ...table[s] }]));
  const actions: GuardrailAction[] = [];
  for (const knob of family.knobs) {
    if (knob.kind !== "share") continue;
    const act = (guardrail: string, reason: string, from: number[], to: number[]) => {
      const named = (values: number[]) => Object.fromEntries(strata.map((s, i) => [s, values[i]!]));
      actions.push({ guardrail, reason: `${knob.name}: ${reason}`, from: named(from), to: named(to) });
    };
    const mastered = validRates(context, family).map((p) => p !== undefined && p >= options.mastered);
    let shares = strata.map((s) => guarded[s]![knob.name] ?? 0);

    const raised = raiseMastered(shares, mastered, options.min_mastered_share);
    if (raised !== undefined) {
      const names = strata.filter((_, i) => raised[i]! > shares[i]! + TOLERANCE).join(", ");
      act("min_mastered_share", `mastered ${names} keeps at least ${options.min_mastered_share}`, shares, raised);
      shares = raised;
    }
    const before = strata.map((s) => previous[s]?.[knob.name] ?? 0);
    const change = totalVariation(before, shares);
    if (change > options.max_change + TOLERANCE) {
      const part = options.max_change / change;
      const limited = shares.map((share, i) => before[i]! + part * (share - before[i]!));
      act("max_change", `a change of ${change.toFixed(3)} is more than ${options.max_change}`, shares, limited);
      shares = limited;
    }
    strata.forEach((s, i) => {
      guarded[s]![knob.name] = shares[i]!;
    });
  }
  return { table: guarded, actions };
}

/** Half the sum of absolute differences between two distributions. */
export function totalVariation(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + Math.abs(value - b[i]!), 0) / 2;
}

/** Shares that sum to 1 with every mastered one at `least` or more (an equal part when that many do not fit); undefined when they are. */
function raiseMastered(shares: readonly number[], mastered: readonly boolean[], least: number): number[] | undefined {
  const floor = Math.min(least, 1 / shares.length);
  const low = shares.map((share, i) => mastered[i]! && share < floor - TOLERANCE);
  if (!low.some(Boolean)) return undefined;
  // What is raised is paid for by the rest in proportion, but never below the floor of a mastered one: so repeat until that holds.
  const pinned = [...low];
  while (true) {
    const free = shares.reduce((sum, share, i) => sum + (pinned[i] ? 0 : share), 0);
    const left = 1 - floor * pinned.filter(Boolean).length;
    const scale = free > 0 ? left / free : 0;
    const next = shares.findIndex((share, i) => !pinned[i] && mastered[i]! && share * scale < floor - TOLERANCE);
    if (next < 0) return shares.map((share, i) => (pinned[i] ? floor : share * scale));
    pinned[next] = true;
  }
}

export interface Rollback {
  /** Index into the reports of the best one: its checkpoint and config are to be returned to. */
  to: number;
  reason: string;
}

/**
 * Whether the newest report calls for a return to the best one: validity fell below it by more than the standard error of the difference,
 * paired over the instances. The first of equally good reports is the best. The loop applies it.
 * @param reports one for each checkpoint, in order, on one set. @throws {InputError} the sets differ.
 */
export function shouldRollback(reports: readonly ValidationReport[]): Rollback | undefined {
  const last = reports.at(-1);
  if (last === undefined) return undefined;
  for (const report of reports) {
    if (report.set_sha256 === last.set_sha256) continue;
    throw new InputError({
      message: "validation reports of different sets cannot be compared",
      value: report.set_sha256,
      expected: last.set_sha256,
      remedy: "evaluate every checkpoint on the same validation set",
    });
  }
  let best = 0;
  reports.forEach((report, i) => {
    if (report.total.valid.rate > reports[best]!.total.valid.rate) best = i;
  });
  const { difference, stderr } = pairedOutcomes(reports[best]!, last, 0);
  if (-difference <= stderr || best === reports.length - 1) return undefined;
  return { to: best, reason: `valid rate fell by ${(-difference).toFixed(3)} ± ${stderr.toFixed(3)} from report ${best}` };
}
