/**
 * Parsing at the boundaries: every file, command-line value, HTTP body and model answer passes through `parseWith`, which turns a zod
 * failure into one typed error that names the path, the value, what was expected and, for an unknown key, the nearest known one.
 */
import { z } from "zod";
import { ConfigError, type ErrorDetail, InputError, nearest } from "./errors.js";

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
  const result = schema.safeParse(value);
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
    remedy: `correct ${wrong.length > 0 ? `"${wrong.join(".")}"` : "the value"}${isConfig ? " and start again; nothing has been started" : ""}`,
    cause: result.error,
  });
}

/** JSON text → value → record. */
export function parseJsonWith<T>(
  schema: z.ZodType<T>,
  text: string,
  what: string,
  ErrorClass: InputErrorClass = InputError,
  expected?: string,
): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
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
    const known = keysAt(schema, issue.path);
    return issue.keys.map((key) => {
      const close = /^\d+$/.test(key) ? undefined : nearest(key, known);
      const path = [...issue.path, key].join(".");
      return `unknown key "${path}"${close === undefined ? ` (known: ${known.join(", ")})` : `, did you mean "${close}"?`}`;
    });
  }
  const given = valueAt(value, issue.path);
  if (issue.code === "invalid_type" && (given === undefined || (given === null && issue.path.length === 0)))
    return [`${issue.path.length > 0 ? `${at} is missing` : "there is nothing in it"} (expected: ${issue.expected})`];
  const shown = given === undefined ? "" : ` (given ${JSON.stringify(given)?.slice(0, 80)})`;
  return [`${at}: ${issue.message}${shown}`];
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current;
}

/** The keys a schema knows at a path; unwraps defaults, optionals and unions as far as zod shows them. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let candidates: unknown[] = [schema];
  const shapes = () => candidates.flatMap(unwrap).filter((s): s is z.ZodObject => s instanceof z.ZodObject);
  for (const key of path) {
    candidates = candidates.flatMap(unwrap).flatMap((s) => {
      if (s instanceof z.ZodObject) return s.shape[String(key)] === undefined ? [] : [s.shape[String(key)]];
      if (s instanceof z.ZodRecord) return [s.valueType];
      if (s instanceof z.ZodArray) return [s.element];
      return [];
    });
  }
  return shapes().flatMap((s) => Object.keys(s.shape));
}

function unwrap(schema: unknown): unknown[] {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  )
    return unwrap(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(unwrap);
  if (schema instanceof z.ZodPipe) return unwrap(schema.in);
  return [schema];
}
