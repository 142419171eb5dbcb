/**
 * Parsing at the boundaries: every file, command-line value, HTTP body and model answer passes through `parseWith`, which turns a zod
 * failure into one typed error that names the path, the value, what was expected and, for an unknown key, the nearest known one.
 */
import { z } from "zod";
import { ConfigError, type ErrorDetail, InputError, nearest } from "./errors.js";
import { choiceWords, issueWords, kindWords } from "./issue-words.js";

/** Written into every record that is stored; a reader refuses another major version. */
export const SCHEMA_VERSION = 1;
export const schemaVersion = z.literal(SCHEMA_VERSION);

type InputErrorClass = new (detail: ErrorDetail) => InputError;

/**
 * Parses `value` with `schema`.
 * @param what names the source for the message, e.g. "recipe recipes/tiny.yaml".
 * @param expected what should have been there, for people; the schema unless given.
 * @throws {InputError} (or the class given) naming every problem.
 */
export function parseWith<T>(
  schema: z.ZodType<T>,
  value: unknown,
  what: string,
  ErrorClass: InputErrorClass = ConfigError,
  expected?: string,
): T {
  const quick = schema.safeParse(value);
  if (quick.success) return quick.data;
  // Once more for the words: with a map of errors of its own a parse takes a third longer.
  const result = schema.safeParse(value, { error: issueWords });
  if (result.success) return result.data;
  // A mistyped key comes first: what is missing beside it may be what was meant.
  const mistyped = result.error.issues.filter(({ code }) => code === "unrecognized_keys");
  const isElsewhere = ({ code, path }: z.core.$ZodIssue) =>
    code !== "unrecognized_keys" && !(code === "custom" && mistyped.some((m) => m.path.join(".") === path.join(".")));
  const issues = [...mistyped, ...result.error.issues.filter(isElsewhere)];
  const problems = issues.flatMap((issue) => describeIssue(schema, issue, value));
  const [first] = issues as [z.core.$ZodIssue, ...z.core.$ZodIssue[]];
  const wrong = first.code === "unrecognized_keys" ? [...first.path, first.keys[0]!] : first.path;
  const isConfig = ErrorClass === ConfigError;
  throw new ErrorClass({
    message: `${what}: ${problems.join("; ")}`,
    value: valueAt(value, first.path),
    expected: expected ?? (isConfig ? "the fields of the schema, see docs/recipes.md" : "the fields and values of its schema"),
    remedy: `${wantedInPlaceOfNothing(first, value) !== undefined && first.path.length > 0 ? "add" : "correct"} ${wrong.length > 0 ? `"${wrong.join(".")}"` : "the value"}${isConfig ? " and start again; nothing has been started" : ""}`,
    cause: result.error,
  });
}

/** Text without the byte order mark that some editors and spreadsheets put in front of it, and nobody sees. */
export const withoutMark = (text: string): string => (text.startsWith("\uFEFF") ? text.slice(1) : text);

/** JSON text → value → record; a byte order mark in front is no part of it. */
export function parseJsonWith<T>(
  schema: z.ZodType<T>,
  text: string,
  what: string,
  ErrorClass: InputErrorClass = InputError,
  expected?: string,
): T {
  let value: unknown;
  try {
    value = JSON.parse(withoutMark(text));
  } catch (cause) {
    throw new ErrorClass({
      message: `${what}: not valid JSON (${(cause as Error).message})`,
      value: text.length > 200 ? `${text.slice(0, 200)}…` : text,
      expected: "one JSON document",
      remedy: "check that the file is complete and was not edited by hand",
      cause,
    });
  }
  return parseWith(schema, value, what, ErrorClass, expected);
}

function describeIssue(schema: z.ZodType, issue: z.core.$ZodIssue, value: unknown): string[] {
  const at = issue.path.length > 0 ? `"${issue.path.join(".")}"` : "the value";
  if (issue.code === "unrecognized_keys") {
    const { known, elsewhere } = keysAt(schema, issue.path, value);
    return issue.keys.map((key) => {
      const path = [...issue.path, key].join(".");
      const owners = elsewhere.filter(({ keys }) => keys.includes(key));
      if (owners.length > 0) {
        const [{ at, name, here }] = owners as [Alternative, ...Alternative[]];
        const which = [...at, name].join(".");
        return `"${path}" is an option of ${which} ${owners.map(({ there }) => there).join(" and ")}, and ${which} is ${here} (known: ${known.join(", ")})`;
      }
      const close = /^\d+$/.test(key) ? undefined : nearest(key, known);
      return `unknown key "${path}"${close === undefined ? ` (known: ${known.join(", ")})` : `, did you mean "${close}"?`}`;
    });
  }
  const given = valueAt(value, issue.path);
  const wanted = wantedInPlaceOfNothing(issue, value);
  if (wanted !== undefined)
    return [`${issue.path.length > 0 ? `${at} is missing` : "there is nothing in it"}${wanted === "" ? "" : ` (expected: ${wanted})`}`];
  const union = issue.code === "invalid_union" ? wantedBy(issue) : undefined;
  const problem = union === undefined || union === "" ? issue.message : `expected ${union}`;
  return [`${at}: ${problem}${given === undefined ? "" : ` (given ${shown(given).slice(0, 80)})`}`];
}

/** A value as JSON, with the numbers that JSON does not have by their names. */
function shown(given: unknown): string {
  const isNamed = (value: unknown) => typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value));
  if (isNamed(given)) return String(given);
  return JSON.stringify(given, (_, value) => (isNamed(value) ? String(value) : value)) ?? String(given);
}

/** What is missing, where the issue is that there is nothing; undefined where it is about something else. */
function wantedInPlaceOfNothing(issue: z.core.$ZodIssue, value: unknown): string | undefined {
  const given = valueAt(value, issue.path);
  return given === undefined || (given === null && issue.path.length === 0) ? wantedBy(issue) : undefined;
}

/** The values that would satisfy an issue, in a word; "" where the schema takes any, undefined where it is no matter of the kind of value. */
function wantedBy(issue: z.core.$ZodIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      // Zod's word for: anything, but not nothing.
      return issue.expected === "nonoptional" ? "" : kindWords(issue.expected);
    case "invalid_value":
      return choiceWords(issue.values);
    case "invalid_union": {
      if (issue.errors.length === 0) return choiceWords((issue as { options?: unknown[] }).options ?? []);
      const kinds = issue.errors.map((issues) => issues.map((inner) => (inner.path.length > 0 ? undefined : wantedBy(inner))));
      const all = kinds.every((wanted) => wanted.length === 1 && wanted[0] !== undefined && wanted[0] !== "");
      return all ? [...new Set(kinds.flat())].join(" or ") : "";
    }
    default:
      return undefined;
  }
}

/** What stands at a path; undefined where nothing does. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current;
}

/** Keys that another kind of a discriminated union has: the union's place, what tells its kinds apart, this kind and that one. */
interface Alternative {
  at: readonly PropertyKey[];
  name: string;
  here: string;
  there: string;
  keys: string[];
}

interface Candidate {
  schema: unknown;
  /** Set for those of another kind than the value's. */
  other?: Omit<Alternative, "keys">;
}

/** The keys a schema knows at a path, once each, and those of other kinds than the value's; unwraps defaults, optionals and unions as far as zod shows them. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[], value: unknown): { known: string[]; elsewhere: Alternative[] } {
  let candidates = kinds({ schema }, [], value);
  path.forEach((key, i) => {
    const at = path.slice(0, i + 1);
    candidates = candidates
      .flatMap(({ schema: s, other }): Candidate[] => {
        const below = other === undefined ? {} : { other };
        if (s instanceof z.ZodObject) return s.shape[String(key)] === undefined ? [] : [{ schema: s.shape[String(key)], ...below }];
        if (s instanceof z.ZodRecord) return [{ schema: s.valueType, ...below }];
        if (s instanceof z.ZodArray) return [{ schema: s.element, ...below }];
        return [];
      })
      .flatMap((candidate) => kinds(candidate, at, valueAt(value, at)));
  });
  const objects = candidates.flatMap(({ schema: s, other }) => (s instanceof z.ZodObject ? [{ keys: Object.keys(s.shape), other }] : []));
  return {
    known: [...new Set(objects.flatMap(({ keys, other }) => (other === undefined ? keys : [])))],
    elsewhere: objects.flatMap(({ keys, other }) => (other === undefined ? [] : [{ ...other, keys }])),
  };
}

/** What a schema may be at `at`; where it has kinds, those that the value is not are marked. */
function kinds({ schema, other }: Candidate, at: readonly PropertyKey[], value: unknown): Candidate[] {
  return unwrap(schema).flatMap((s): Candidate[] => {
    if (!(s instanceof z.ZodDiscriminatedUnion)) return [other === undefined ? { schema: s } : { schema: s, other }];
    const name = s.def.discriminator;
    const here = valueAt(value, [name]);
    const all = s.options.flatMap(unwrap).map((option) => ({ option, values: literals(option, name) }));
    const known = all.some(({ values }) => values.includes(here));
    return all.map(({ option, values }): Candidate => {
      if (other !== undefined) return { schema: option, other };
      if (!known || values.includes(here)) return { schema: option };
      return { schema: option, other: { at, name, here: String(here), there: values.join(" or ") } };
    });
  });
}

function literals(option: unknown, name: string): unknown[] {
  const literal = option instanceof z.ZodObject ? option.shape[name] : undefined;
  return literal instanceof z.ZodLiteral ? [...literal.values] : [];
}

function unwrap(schema: unknown): unknown[] {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  )
    return unwrap(schema.unwrap());
  if (schema instanceof z.ZodUnion && !(schema instanceof z.ZodDiscriminatedUnion)) return schema.options.flatMap(unwrap);
  if (schema instanceof z.ZodPipe) return unwrap(schema.in);
  return [schema];
}
