/**
 * An engineer's knob table → one that every row and knob of the config has, within its bounds. Repairs only what has one meaning (rows
 * and knobs left out keep their values, ratios are clamped, shares are normalised) and records each repair; refuses the rest with a
 * reason that the engineer can act on.
 */
import { type EnvironmentFamily, type KnobSpec, type KnobTable, nearest, type Repair } from "../core/index.js";
import { quoteText } from "./quoted-text.js";

export type ReadTable = { ok: true; table: KnobTable; repairs: Repair[] } | { ok: false; reason: string };

/** What an answer is read against: the family, and the knobs of the stage that has just ended. */
export interface TableTarget {
  family: EnvironmentFamily;
  strata: readonly string[];
  previous: KnobTable;
}

/** Shares whose sum is nearer to 1 than this are taken as written. */
const SUM_TOLERANCE = 1e-6;

export function readTable(given: unknown, target: TableTarget): ReadTable {
  const { family, strata, previous } = target;
  const knobs = new Map(family.knobs.map((k) => [k.name, k]));
  if (!isObject(given)) return refuse(`the config is ${kindOf(given)}, not an object of ${family.stratumLabel} → knobs`);
  const table: KnobTable = {};
  const repairs: Repair[] = [];
  let values = 0;
  for (const [stratum, row] of Object.entries(given)) {
    if (!strata.includes(stratum)) return refuse(unknown(family.stratumLabel, stratum, strata));
    if (!isObject(row)) return refuse(`${family.stratumLabel} ${stratum} is ${kindOf(row)}, not an object of knobs`);
    const read: Record<string, number> = {};
    for (const [name, value] of Object.entries(row)) {
      const knob = knobs.get(name);
      if (knob === undefined) return refuse(unknown("knob", name, [...knobs.keys()]));
      const bounded = bound(knob, value);
      if (typeof bounded === "string") return refuse(`${name} of ${family.stratumLabel} ${stratum} ${bounded}`);
      if (bounded !== value) {
        const reason = `clamped to the bounds ${knob.min} to ${knob.max}`;
        repairs.push({ path: `${stratum}.${name}`, from: value, to: bounded, reason });
      }
      read[name] = bounded;
      values++;
    }
    table[stratum] = read;
  }
  if (values === 0) return refuse("the config sets no knob");
  const complete: KnobTable = {};
  for (const stratum of strata) {
    complete[stratum] = {};
    for (const knob of family.knobs) {
      const kept = previous[stratum]?.[knob.name] ?? knob.min;
      const value = table[stratum]?.[knob.name];
      if (value === undefined) {
        repairs.push({ path: `${stratum}.${knob.name}`, from: null, to: kept, reason: "left out, keeps its previous value" });
      }
      complete[stratum][knob.name] = value ?? kept;
    }
  }
  for (const knob of family.knobs) {
    if (knob.kind !== "share") continue;
    const problem = normaliseShares(knob, strata, complete, repairs);
    if (problem !== undefined) return refuse(problem);
  }
  return { ok: true, table: complete, repairs };
}

/** The value within its bounds, or what is wrong with it. Shares are bounded by normalisation. */
function bound(knob: KnobSpec, value: unknown): number | string {
  if (typeof value !== "number") return `is ${kindOf(value)}, not a number`;
  if (!Number.isFinite(value)) return `is not a finite number`;
  if (value < 0 && knob.min >= 0) return `is negative (${value})`;
  return knob.kind === "share" ? value : Math.min(knob.max, Math.max(knob.min, value));
}

function normaliseShares(knob: KnobSpec, strata: readonly string[], table: KnobTable, repairs: Repair[]): string | undefined {
  const column = () => Object.fromEntries(strata.map((s) => [s, table[s]![knob.name]!]));
  const from = column();
  const sum = Object.values(from).reduce((a, b) => a + b, 0);
  if (sum <= 0) return `every ${knob.name} is 0`;
  if (!Number.isFinite(sum)) return `the sum of ${knob.name} is not finite`;
  if (Math.abs(sum - 1) <= SUM_TOLERANCE) return undefined;
  for (const s of strata) table[s]![knob.name] = from[s]! / sum;
  repairs.push({ path: knob.name, from, to: column(), reason: `normalised from a sum of ${Number(sum.toPrecision(6))} to 1` });
  return undefined;
}

function unknown(what: string, name: string, known: readonly string[]): string {
  const close = nearest(name.slice(0, 40), known);
  const hint = close === undefined ? `known: ${known.join(", ")}` : `did you mean ${close}?`;
  return `unknown ${what} ${quoteText(name, 40)} (${hint})`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function refuse(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}
