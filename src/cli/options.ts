/**
 * Options as typed data: what a verb takes is declared once, and parsing, types, help and refusals derive from it. An unknown option, a
 * positional too many or a value of the wrong kind is refused with the nearest known name, never ignored.
 */
import { parseArgs } from "node:util";
import { InputError, nearest } from "../core/index.js";

interface Described {
  description: string;
  /** What stands for the value in the help, e.g. "DIR". */
  hint?: string;
}
export type Option =
  | (Described & { type: "text"; default?: string; required?: true })
  | (Described & { type: "list" })
  | (Described & { type: "integer"; default?: number; required?: true; least?: number })
  | (Described & { type: "number"; default?: number; least?: number })
  | (Described & { type: "choice"; of: readonly string[]; default?: string })
  | (Described & { type: "flag" })
  | (Described & { type: "positional"; required?: true })
  /** Every positional that is left. */
  | (Described & { type: "rest"; required?: true });

export type Options = Record<string, Option>;

type Value<O extends Option> = O extends { type: "flag" }
  ? boolean
  : O extends { type: "list" | "rest" }
    ? string[]
    : O extends { type: "integer" | "number" }
      ? O extends { required: true } | { default: number }
        ? number
        : number | undefined
      : O extends { type: "choice"; of: readonly (infer C)[] }
        ? O extends { default: string }
          ? C
          : C | undefined
        : O extends { required: true } | { default: string }
          ? string
          : string | undefined;

export type Values<O extends Options> = { [K in keyof O]: Value<O[K]> };

/** @throws {InputError} naming what was not understood, what is known, and where to look. */
export function parseOptions<const O extends Options>(verb: string, options: O, argv: readonly string[]): Values<O> {
  const help = `envwright ${verb} --help lists what it takes`;
  const named = Object.entries(options).filter(([, o]) => o.type !== "positional" && o.type !== "rest");
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(named.map(([name, o]) => [name, { type: o.type === "flag" ? ("boolean" as const) : ("string" as const) }])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const option = token.rawName.startsWith("--") ? options[token.name] : undefined;
    if (option === undefined || option.type === "positional" || option.type === "rest") {
      throw unknownOption(token.rawName, named.map(([name]) => name), help); // biome-ignore format: one call
    }
    given.set(token.name, [
      ...(given.get(token.name) ?? []),
      readValue(token.rawName, option, token.inlineValue === true, token.value, help),
    ]);
  }
  return assemble(options, given, positionals, help) as Values<O>;
}

function assemble(options: Options, given: Map<string, string[]>, positionals: string[], help: string): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    if (option.type === "positional") values[name] = positionals.shift();
    else if (option.type === "rest") values[name] = positionals.splice(0);
    else values[name] = convert(name, option, given.get(name) ?? [], help);
    const missing = values[name] === undefined || (option.type === "rest" && (values[name] as string[]).length === 0);
    if (missing && "required" in option && option.required) throw missingValue(name, option, help);
  }
  if (positionals.length > 0) {
    throw new InputError({
      message: `"${positionals[0]}" is one argument too many`,
      value: positionals[0],
      expected: Object.values(options).some((o) => o.type === "positional") ? "the arguments in the usage line" : "options only",
      remedy: help,
    });
  }
  return values;
}

function convert(name: string, option: Option, given: string[], help: string): unknown {
  if (option.type === "list") return given;
  if (option.type === "flag") return given.length > 0;
  if (given.length > 1) {
    throw new InputError({ message: `--${name} was given ${given.length} times`, value: given, expected: "it once", remedy: help });
  }
  const [text] = given;
  if (text === undefined) return "default" in option ? option.default : undefined;
  if (option.type === "choice" && !option.of.includes(text)) {
    const close = nearest(text, option.of);
    throw new InputError({
      message: `--${name}: "${text}" is not known${close === undefined ? "" : `, did you mean "${close}"?`}`,
      value: text,
      expected: `one of ${option.of.join(", ")}`,
      remedy: help,
    });
  }
  if (option.type === "integer" || option.type === "number") {
    const number = text.trim() === "" ? Number.NaN : Number(text);
    const whole = option.type === "number" || Number.isSafeInteger(number);
    if (!Number.isFinite(number) || !whole || number < (option.least ?? Number.NEGATIVE_INFINITY)) {
      const kind = `${option.type === "integer" ? "a whole number" : "a number"}${option.least === undefined ? "" : ` of at least ${option.least}`}`;
      const tooLarge = option.type === "integer" && number > Number.MAX_SAFE_INTEGER;
      throw new InputError({
        message: `--${name}: "${text}" is ${tooLarge ? "too large" : `not ${kind}`}`,
        value: text,
        expected: `${kind}${tooLarge ? ` and at most ${Number.MAX_SAFE_INTEGER}` : ""} (${option.description})`,
        remedy: help,
      });
    }
    return number;
  }
  return text;
}

function readValue(raw: string, option: Option, inline: boolean, value: string | undefined, help: string): string {
  if (option.type === "flag") {
    if (value === undefined) return "true";
    throw new InputError({ message: `${raw} takes no value`, value, expected: raw, remedy: help });
  }
  // A value that looks like an option most likely is one, and the value was forgotten; "--x=-1" says it is meant.
  if (value === undefined || (!inline && /^--[a-z]/.test(value))) {
    throw new InputError({ message: `${raw} needs a value`, value, expected: `${raw} ${option.hint ?? "VALUE"}`, remedy: help });
  }
  return value;
}

function unknownOption(raw: string, known: readonly string[], help: string): InputError {
  const close = nearest(raw.replace(/^-+/, ""), known);
  return new InputError({
    message: `unknown option ${raw}${close === undefined ? "" : `, did you mean --${close}?`}`,
    value: raw,
    expected: known.map((name) => `--${name}`).join(", "),
    remedy: help,
  });
}

function missingValue(name: string, option: Option, help: string): InputError {
  const shown = option.type === "positional" || option.type === "rest" ? (option.hint ?? name.toUpperCase()) : `--${name}`;
  return new InputError({ message: `${shown} is missing`, expected: option.description, remedy: help });
}
