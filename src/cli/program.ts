/**
 * The program behind the `envwright` command: finds the verb, parses its options, runs it, and turns what went wrong into one message and
 * an exit code. 0 done; 1 failed while running; 2 refused before starting; 130 interrupted. Results are written to the output it is given,
 * everything else is a note.
 */
import { EnvwrightError, InputError, InterruptedError, nearest } from "../core/index.js";
import { versions } from "../store/versions.js";
import { programHelp, type Verb, verbHelp } from "./define-verb.js";
import { note } from "./notes.js";
import { parseOptions } from "./options.js";
import { VERBS } from "./verbs.js";

const OLDEST_NODE = "20.19";

export interface Output {
  write(text: string): void;
  colour: boolean;
  /** Called for a verb that can be interrupted: the signal that Ctrl-C aborts. @param keeps whether what is done by then is kept */
  interrupts(keeps: boolean): AbortSignal;
}

/** @returns the exit code. Never throws. */
export async function runProgram(argv: readonly string[], output: Output): Promise<number> {
  const print = (text: string): void => output.write(`${text}\n`);
  const printJson = (document: unknown): void => print(JSON.stringify(document, undefined, 2));
  try {
    requireNode();
    const [name, ...rest] = argv;
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      const verb = name === "help" && rest[0] !== undefined ? await verbNamed(rest[0]) : undefined;
      print(verb === undefined ? await programHelp(version(), VERBS, output.colour) : await verbHelp(verb, output.colour));
      return name === undefined ? 2 : 0;
    }
    if (name === "--version" || name === "-V") {
      print(version());
      return 0;
    }
    const verb = await verbNamed(name);
    if (rest.includes("--help") || rest.includes("-h")) {
      print(await verbHelp(verb, output.colour));
      return 0;
    }
    const values = parseOptions(verb.name, verb.options, rest);
    await verb.run(values, {
      signal: verb.interruptible ? output.interrupts(verb.interruptible === "resumable") : new AbortController().signal,
      ...{ print, printJson, note },
    });
    return 0;
  } catch (error) {
    return fail(error);
  }
}

async function verbNamed(name: string): Promise<Verb> {
  const entry = VERBS.find((verb) => verb.name === name);
  if (entry !== undefined) return entry.load();
  const known = VERBS.map((verb) => verb.name);
  const close = nearest(name, known);
  throw new InputError({
    message: `unknown command "${name}"${close === undefined ? "" : `, did you mean "${close}"?`}`,
    value: name,
    expected: `one of ${known.join(", ")}`,
    remedy: "envwright --help says what each does",
  });
}

function requireNode(): void {
  const [major, minor] = process.versions.node.split(".").map(Number) as [number, number];
  const [oldest, oldestMinor] = OLDEST_NODE.split(".").map(Number) as [number, number];
  if (major > oldest || (major === oldest && minor >= oldestMinor)) return;
  throw new InputError({
    message: `this is Node ${process.versions.node}`,
    expected: `Node ${OLDEST_NODE} or later`,
    remedy: `install Node ${OLDEST_NODE} (https://nodejs.org) and start again`,
  });
}

function fail(error: unknown): number {
  const debug = (process.env.ENVWRIGHT_DEBUG ?? "") !== "";
  if (error instanceof InterruptedError) {
    note(error.remedy === undefined ? error.message : `${error.message}\n  ${error.remedy}`);
    return error.exitCode;
  }
  if (error instanceof EnvwrightError) {
    note(`error: ${error.explain()}`);
    if (debug) note(String(error.stack));
    return error.exitCode;
  }
  const text = error instanceof Error ? (debug ? (error.stack ?? error.message) : error.message) : String(error);
  note(`error: ${text}`);
  if (!debug) note("  This is a fault of the program. ENVWRIGHT_DEBUG=1 shows where it happened.");
  return 1;
}

function version(): string {
  return versions().envwright ?? "unknown";
}
