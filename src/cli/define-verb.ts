/**
 * A verb: its options as data, examples for its help, and what it does. The command-line library renders the help from the declaration;
 * refusing and parsing is in options.ts, so that a mistyped option never starts a run.
 */
import { stripVTControlCharacters } from "node:util";
import { type ArgsDef, type CommandDef, renderUsage } from "citty";
import type { Option, Options, Values } from "./options.js";

export interface VerbContext {
  /** Aborted by Ctrl-C or SIGTERM; only for verbs that are `interruptible`. */
  signal: AbortSignal;
  /** The result, on stdout: text as it stands, with a line feed at its end. */
  print(text: string): void;
  /** The one document of `--json`, on stdout. */
  printJson(document: unknown): void;
  /** Progress and warnings, on stderr. */
  note(text: string): void;
}

export interface Verb<O extends Options = Options> {
  name: string;
  description: string;
  options: O;
  /** Command lines with what they do. */
  examples: readonly (readonly [command: string, does: string])[];
  /**
   * Stops when its signal is aborted; `resumable` where what is done by then is kept and can be gone on with. Without it Ctrl-C ends the
   * process at once.
   */
  interruptible?: true | "resumable";
  run(values: Values<O>, context: VerbContext): Promise<void>;
}

export function defineVerb<const O extends Options>(verb: Verb<O>): Verb<O> {
  return verb;
}

/** Help of one verb, coloured where `colour`. */
export async function verbHelp(verb: Verb, colour: boolean): Promise<string> {
  const command: CommandDef = { meta: { name: verb.name, description: verb.description }, args: cittyArgs(verb.options) };
  const examples = verb.examples.map(([line, does]) => `  # ${does}\n  ${line}`);
  const usage = (await renderUsage(command, { meta: { name: "envwright" } })).trimEnd();
  return paint([usage, "", "EXAMPLES", "", ...examples].join("\n"), colour);
}

/** Help of the program: its verbs with their descriptions, without loading them. */
export async function programHelp(
  version: string,
  verbs: readonly { name: string; description: string }[],
  colour: boolean,
): Promise<string> {
  const subCommands = Object.fromEntries(verbs.map(({ name, description }) => [name, { meta: { name, description } }]));
  const meta = { name: "envwright", version, description: "The policy that trains becomes the engineer of its own environment" };
  return paint((await renderUsage({ meta, subCommands })).trimEnd(), colour);
}

function paint(text: string, colour: boolean): string {
  return colour ? text : stripVTControlCharacters(text);
}

function cittyArgs(options: Options): ArgsDef {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [
      option.hint !== undefined && isPositional(option) ? option.hint : name,
      cittyArg(option),
    ]),
  );
}

function isPositional(option: Option): boolean {
  return option.type === "positional" || option.type === "rest";
}

function cittyArg(option: Option): ArgsDef[string] {
  const { description } = option;
  const valueHint = option.hint === undefined ? {} : { valueHint: option.hint };
  const required = "required" in option ? { required: true } : { required: false };
  const fallback = "default" in option && option.default !== undefined ? { default: String(option.default) } : {};
  switch (option.type) {
    case "flag":
      return { type: "boolean", description };
    case "choice":
      return { type: "enum", description, options: [...option.of], ...fallback };
    case "positional":
    case "rest":
      return { type: "positional", description, ...required };
    case "list":
      return { type: "string", description: `${description} (may be repeated)`, ...valueHint };
    default:
      return { type: "string", description, ...valueHint, ...required, ...fallback };
  }
}
