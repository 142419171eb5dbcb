/** Numbers and names as people read them. */
import type { FamilyFacts } from "../../src/ui/records.js";

export const percent = (x: number | null | undefined, places = 1): string =>
  x === null || x === undefined || Number.isNaN(x) ? "–" : `${(100 * x).toFixed(places)} %`;
export const whole = (x: number): string => String(Math.round(100 * x));
export const points = (x: number): string => `${x < 0 ? "−" : "+"}${Math.abs(100 * x).toFixed(1)}`;
export const count = (n: number): string => n.toLocaleString("en");
export const tokens = (n: number): string => (n >= 1e6 ? `${(n / 1e6).toFixed(2)} M` : n >= 1e3 ? `${(n / 1e3).toFixed(0)} k` : String(n));

export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

export function ago(time: string | null): string {
  if (time === null) return "";
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (seconds < 90) return "just now";
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h ago`;
  return new Date(time).toISOString().slice(0, 10);
}

export const knobLabel = (name: string): string => name.replaceAll("_", " ");
export const byNumber = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });

/** Colours of codes: fixed by their place in the family's list, safe for the common kinds of colour blindness, never the only mark. */
const PALETTE = ["--c-grey", "--c-sand", "--c-pink", "--c-blue", "--c-red", "--c-yellow", "--c-green", "--c-sky"];
export function codeColour(family: FamilyFacts, code: string): string {
  if (code === "valid") return "var(--c-valid)";
  const at = family.failureCodes.findIndex((c) => c.code === code);
  return `var(${PALETTE[Math.max(0, at) % PALETTE.length]})`;
}
