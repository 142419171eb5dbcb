/** Repairs of a config in words. */
import type { Repair } from "../core/index.js";

/** Says what was made of a config that a person wrote. */
export function tellRepairs(repairs: readonly Repair[], note: (text: string) => void): void {
  for (const { path, from, to, reason } of repairs) note(`repaired ${path}: ${JSON.stringify(from)} → ${JSON.stringify(to)} (${reason})`);
}
