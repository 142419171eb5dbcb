/** What the dashboard may ask of the command line: another proposal for a stored stage, from this program in a process of its own. */
import { spawn } from "node:child_process";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { EngineError, InputError, proposalSchema } from "../core/index.js";
import type { Actions } from "../ui/server/app.js";
import type { UiServer } from "../ui/server/serve.js";

export const USUAL_PORT = 4680;

const distanceSchema = z.object({ shares: z.number(), ratios: z.number() });
const answerSchema = z.object({
  temperature: z.number(),
  proposals: z.array(proposalSchema).min(1),
  comparison: z.array(z.object({ change: distanceSchema, from_taken: distanceSchema.optional() })),
});

/** `envwright propose --json`: it reads the run and writes nothing. */
export const proposeAction: Actions["propose"] = (request, signal) =>
  proposeBy([process.execPath, ...process.execArgv, process.argv[1]!], request, signal);

/** @param program how this command line is started @throws {InputError} what the child refuses {EngineError} with its last words */
export async function proposeBy(
  program: readonly string[],
  { run, stage, engineer, variant, model, samples }: Parameters<Actions["propose"]>[0],
  signal: AbortSignal,
): ReturnType<Actions["propose"]> {
  const from = join(run, "stages", String(stage).padStart(2, "0"));
  const named = Object.entries({ engineer, variant, model }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}`],
  );
  const [command, ...argv] = [...program, "propose", `--from=${from}`, `--samples=${samples}`, ...named, "--json"];
  const child = spawn(command!, argv, { stdio: ["ignore", "pipe", "pipe"], signal });
  let [output, words] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-2000);
  });
  const code = await new Promise<number | null>((done, fail) => {
    child.once("error", fail);
    child.once("close", done);
  });
  if (code === 0) {
    const { temperature, proposals, comparison } = answerSchema.parse(JSON.parse(output));
    const [first] = proposals;
    const distance = comparison.map(({ change, from_taken }) => ({ change, from_taken: from_taken ?? null }));
    return { engineer: first!.engineer, variant: first!.variant, temperature, proposals, distance };
  }
  const [message, ...rest] = words
    .trim()
    .replace(/^error: /, "")
    .split("\n");
  const detail = { message: message || `envwright propose ended with ${code}`, ...(rest.length > 0 ? { remedy: rest.join("\n") } : {}) };
  throw code === 2 ? new InputError(detail) : new EngineError(detail);
}

/**
 * What is served beside a run: all of runs/ when it is made there, so that it can be compared; elsewhere the run alone, whose folder may lie
 * among anything.
 */
export function servedBeside(out: string, usual = "runs"): { runs: string; isRun: boolean } {
  const below = relative(resolve(usual), resolve(out));
  const isUsual = below !== "" && below.split(sep)[0] !== ".." && !isAbsolute(below);
  return isUsual ? { runs: resolve(usual), isRun: false } : { runs: resolve(out), isRun: true };
}

/** The dashboard beside the run that this process makes in `out`; any free port when the usual one is taken. Its closing never waits for a reader. */
export async function serveBeside(out: string, note: (text: string) => void): Promise<UiServer> {
  const { startUi } = await import("../ui/server/serve.js");
  const served = servedBeside(out);
  const server = await startUi({ ...served, port: USUAL_PORT }).catch(() => startUi({ ...served, port: 0 }));
  note(`Watch it at ${server.url}`);
  return server;
}

/** Best effort: without a browser the address on the screen is enough. */
export function openInBrowser(url: string, note: (text: string) => void): void {
  const [command, ...argv] =
    process.platform === "darwin" ? ["open", url] : process.platform === "win32" ? ["cmd", "/c", "start", "", url] : ["xdg-open", url];
  const child = spawn(command!, argv, { stdio: "ignore", detached: true });
  child.once("error", () => note(`No browser could be opened; the address is ${url}`));
  child.unref();
}
