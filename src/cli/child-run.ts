/** This program once more as a child process: a run that dies takes nothing else with it, and no run outlives who waits for it. */
import { spawn } from "node:child_process";
import { EngineError, InterruptedError } from "../core/index.js";
import { openGuard } from "../processes/index.js";

/** How much of a child's last words is kept for the message. */
const KEPT = 2000;
/** Milliseconds that a run has to come to a place where it can be resumed, once this program was killed. */
const GRACE = 30_000;

/** Resolves when the child has ended with 0. Passes one interrupt on, so that the child stops where it can be resumed. */
export async function runChild(argv: readonly string[], signal: AbortSignal): Promise<void> {
  const program = process.argv[1];
  if (program === undefined) throw new EngineError({ message: "this program does not know its own path" });
  if (signal.aborted) throw new InterruptedError({ message: "interrupted" });
  const guard = openGuard(GRACE);
  // In a group of its own: Ctrl-C reaches it once, through us, and not a second time from the terminal.
  const child = spawn(process.execPath, [...process.execArgv, program, ...argv], { stdio: ["ignore", "ignore", "pipe"], detached: true });
  guard.follow(child.pid);
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-KEPT);
  });
  const stop = (): void => void child.kill("SIGINT");
  signal.addEventListener("abort", stop, { once: true });
  try {
    const code = await new Promise<number | string>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (status, killedBy) => resolve(status ?? killedBy ?? "unknown"));
    });
    if (code === 0) return;
    if (code === 130) throw new InterruptedError({ message: "interrupted" });
    const last = words.trim().split("\n").slice(-3).join(" ").trim();
    throw new EngineError({ message: `envwright ${argv[0]} ended with ${code}: ${last}`, value: argv.join(" ") });
  } finally {
    signal.removeEventListener("abort", stop);
    guard.leave();
  }
}
