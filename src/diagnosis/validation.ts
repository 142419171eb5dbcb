/**
 * Verdicts on a frozen set → ValidationReport: rates with their errors, failure codes, lengths and cost gaps, in total, by stratum and by
 * tag. Outside failures are counted and left out of every rate; a wrong answer is never an outside failure.
 */
import { type CellReport, mean, rateOf, SCHEMA_VERSION, type ValidationReport, type Verdict } from "../core/index.js";

export interface ValidationItem {
  stratum: string;
  /** Facets of the instance, e.g. { agents: "3" }; each becomes the cell "agents=3". */
  tags: Record<string, string>;
  /** Absent when the outside failed: there is no answer to judge. */
  verdict?: Verdict | undefined;
  /** Length of the completion, in tokens. */
  tokens: number;
}

export interface ValidationInput {
  stage: number;
  objective: string;
  setSha256: string;
  /** One item for each instance, in the set's order. */
  items: readonly ValidationItem[];
}

/**
 * The report of one evaluation. Strata and tags stand in the order of their first appearance. An item without a verdict has outcome −1
 * and is counted in `failed` only.
 */
export function validationReport(input: ValidationInput): ValidationReport {
  const judged: JudgedItem[] = [];
  const byStratum = new Map<string, JudgedItem[]>();
  const byTag = new Map<string, JudgedItem[]>();
  const outcomes: number[] = [];
  for (const { stratum, tags, verdict, tokens } of input.items) {
    // A stratum whose every item failed outside still shows, with n = 0.
    const ofStratum = listAt(byStratum, stratum);
    const ofTags = Object.entries(tags).map(([tag, value]) => listAt(byTag, `${tag}=${value}`));
    if (verdict === undefined) {
      outcomes.push(-1);
      continue;
    }
    const item = { verdict, tokens };
    for (const list of [judged, ofStratum, ...ofTags]) list.push(item);
    outcomes.push((verdict.ok ? 1 : 0) + (verdict.ok && verdict.optimal[input.objective] === true ? 2 : 0));
  }
  const cells = (groups: Map<string, JudgedItem[]>) =>
    Object.fromEntries([...groups].map(([name, items]) => [name, cellReport(items, input.objective)]));
  return {
    schema_version: SCHEMA_VERSION,
    stage: input.stage,
    objective: input.objective,
    set_sha256: input.setSha256,
    total: cellReport(judged, input.objective),
    by_stratum: cells(byStratum),
    by_tag: cells(byTag),
    outcomes,
    failed: input.items.length - judged.length,
  };
}

interface JudgedItem {
  verdict: Verdict;
  tokens: number;
}

/** Rates, codes, mean length and mean relative cost gap of one cell; a gap over an optimum of 0 is taken over 1. */
export function cellReport(items: readonly JudgedItem[], objective: string): CellReport {
  const codes: Record<string, number> = {};
  const gaps: number[] = [];
  let valid = 0;
  let optimal = 0;
  for (const { verdict } of items) {
    codes[verdict.code] = (codes[verdict.code] ?? 0) + 1;
    if (!verdict.ok) continue;
    valid++;
    if (verdict.optimal[objective] === true) optimal++;
    const cost = verdict.costs?.[objective];
    const optimum = verdict.optima[objective];
    if (cost !== undefined && optimum !== undefined) gaps.push((cost - optimum) / Math.max(1, optimum));
  }
  const n = items.length;
  return { n, valid: rateOf(valid, n), optimal: rateOf(optimal, n), codes, tokens: mean(items.map((i) => i.tokens)), gap: mean(gaps) };
}

function listAt<T>(map: Map<string, T[]>, key: string): T[] {
  let list = map.get(key);
  if (list === undefined) {
    list = [];
    map.set(key, list);
  }
  return list;
}
