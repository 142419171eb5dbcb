/** Canonical JSON: the same record gives the same bytes, whatever order its keys were set in. */

/** Keys sorted at every level; no white space unless `indent` is given; refuses what JSON cannot say (NaN, Infinity). */
export function canonicalJson(value: unknown, indent?: number): string {
  return JSON.stringify(sorted(value), undefined, indent);
}

function sorted(value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${value} cannot be written as JSON`);
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, v]) => v !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([k, v]) => [k, sorted(v)]));
}
