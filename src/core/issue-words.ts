/**
 * What zod finds wrong, in plain words: "expected a whole number", "expected at least 1 item". Given to zod as the error map of a parse, so
 * that words that a schema has of its own stand.
 */
import type { z } from "zod";
import { counted } from "./counted.js";

const KINDS: Record<string, string> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  map: "an object",
  nan: "a number",
  never: "nothing",
  null: "null",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a text",
  tuple: "a list",
  undefined: "nothing",
};

/** What stands for a kind of value in zod's terms, e.g. "a list" for "tuple". */
export const kindWords = (kind: string): string => KINDS[kind] ?? kind;

export const choiceWords = (values: readonly unknown[]): string =>
  values.map((value) => JSON.stringify(value) ?? String(value)).join(" or ");

/** Undefined for what zod, or whoever wrote the check, says well enough. */
export function issueWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_union") return "none of the forms that it may have";
  const wanted = wantedWords(issue);
  return wanted === undefined ? undefined : `expected ${wanted}`;
}

function wantedWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type": {
      const def = definitionOf(issue);
      if (def?.type === "tuple") return `a list of ${def.items?.length} values`;
      return def?.check === "number_format" ? kindWords("int") : kindWords(issue.expected);
    }
    case "invalid_value":
      return choiceWords(issue.values);
    case "too_small":
      return bounded(issue, issue.minimum, "at least", "above");
    case "too_big":
      return bounded(issue, issue.maximum, "at most", "below");
    case "not_multiple_of":
      return `a multiple of ${issue.divisor}`;
    case "invalid_format":
      return issue.format === "regex" ? `a text that matches ${issue.pattern}` : undefined;
    default:
      return undefined;
  }
}

function bounded(
  issue: z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall> | z.core.$ZodRawIssue<z.core.$ZodIssueTooBig>,
  bound: number | bigint,
  atBound: string,
  pastBound: string,
): string | undefined {
  const { origin, inclusive, exact } = issue;
  const many = (one: string) => `${exact === true ? "exactly" : atBound} ${counted(Number(bound), one)}`;
  const def = definitionOf(issue);
  if (def?.type === "tuple") return `a list of ${def.items?.length} values`;
  if (origin === "string") return issue.code === "too_small" && Number(bound) === 1 ? "a text that is not empty" : `a text of ${many("character")}`; // biome-ignore format: one line
  if (origin === "number" || origin === "int" || origin === "bigint") {
    const kind = def?.check === "number_format" || origin !== "number" ? "a whole number" : "a number";
    return `${kind} ${inclusive === false ? pastBound : `of ${atBound}`} ${bound}`;
  }
  return origin === "array" || origin === "set" || origin === "map" ? many("item") : undefined;
}

/** Of the schema or check that found the issue. */
function definitionOf(issue: z.core.$ZodRawIssue): { type?: string; check?: string; items?: readonly unknown[] } | undefined {
  return issue.inst?._zod.def as ReturnType<typeof definitionOf>;
}
