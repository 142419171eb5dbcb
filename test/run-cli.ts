/** The command line as a user starts it: a process of its own, from the sources. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

export const MAIN = resolve(import.meta.dirname, "../src/cli/main.ts");
export const TSX = pathToFileURL(join(dirname(createRequire(import.meta.url).resolve("tsx/package.json")), "dist/loader.mjs")).href;

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  cwd?: string;
  stdin?: string;
  env?: Record<string, string>;
  /** Called with all of stderr so far; may signal the process. */
  onStderr?: (text: string, kill: (signal: NodeJS.Signals) => void) => void;
}

export function runCli(argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const child = spawn(process.execPath, ["--import", TSX, MAIN, ...argv], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    options.onStderr?.(stderr, (signal) => child.kill(signal));
  });
  child.stdin.on("error", () => {});
  child.stdin.end(options.stdin ?? "");
  return new Promise((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => done({ code, stdout, stderr }));
  });
}
