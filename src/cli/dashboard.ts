/** What the dashboard may ask of the command line: another proposal for a stored stage, from this program in a process of its own. */
import { spawn } from "node:child_process";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { EngineError, proposalSchema } from "../core/index.js";
import type { Actions } from "../ui/server/app.js";
import type { UiServer } from "../ui/server/serve.js";

export const USUAL_PORT = 4680;

const answerSchema = z.object({ temperature: z.number(), proposals: z.array(proposalSchema).min(1) });

/** `envwright propose --json`: it reads the run and writes nothing. @throws {EngineError} with the child's last words. */
export const proposeAction: Actions["propose"] = async ({ run, stage, engineer, variant, samples }, signal) => {
  const argv = ["propose", "--from", join(run, "stages", String(stage).padStart(2, "0")), "--samples", String(samples), "--json"];
  if (engineer !== undefined) argv.push("--engineer", engineer);
  if (variant !== undefined) argv.push("--variant", variant);
  const program = process.argv[1]!;
  const child = spawn(process.execPath, [...process.execArgv, program, ...argv], { stdio: ["ignore", "pipe", "pipe"], signal });
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
    const { temperature, proposals } = answerSchema.parse(JSON.parse(output));
    return { engineer: proposals[0]!.engineer, variant: proposals[0]!.variant, temperature, proposals };
  }
  throw new EngineError({ message: words.trim().replace(/^error: /, "") || `envwright propose ended with ${code}` });
};

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
