/**
 * A child process in a process group of its own, followed line by line. On abort the whole group is asked to end, then killed: launchers
 * leave workers behind otherwise. It reads no meaning into what the process writes.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { BoundaryError } from "../../core/index.js";

export interface EngineCommand {
  command: string;
  args: string[];
  cwd: string;
  /** Added to this process's environment. */
  env: Record<string, string>;
}

export interface EngineEnd {
  /** Exit code, or the signal that ended it. */
  status: number | string;
  /** Whether it ended as it should. */
  ok: boolean;
  /** The last lines it wrote. */
  tail: string[];
}

export type RunEngine = (
  command: EngineCommand,
  options: { signal?: AbortSignal | undefined; onLine: (line: string) => void },
) => Promise<EngineEnd>;

const TAIL = 30;
const LONGEST_LINE = 4000;

/** @throws {BoundaryError} when the command cannot be started. @param grace milliseconds between asking the group to end and killing it. */
export function processRunner(kind: string, grace = 5000): RunEngine {
  return ({ command, args, cwd, env }, { signal, onLine }) =>
    new Promise((resolve, reject) => {
      const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, detached: true, stdio: ["ignore", "pipe", "pipe"] });
      const tail: string[] = [];
      const heard = (line: string) => {
        const short = line.slice(0, LONGEST_LINE);
        tail.push(short);
        if (tail.length > TAIL) tail.shift();
        onLine(short);
      };
      const readers = [child.stdout, child.stderr].map((stream) => createInterface({ input: stream }).on("line", heard));
      let late: NodeJS.Timeout | undefined;
      const end = () => {
        killGroup(child.pid, "SIGTERM");
        late = setTimeout(() => killGroup(child.pid, "SIGKILL"), grace);
      };
      if (signal?.aborted) end();
      else signal?.addEventListener("abort", end, { once: true });
      child.once("error", (cause) => {
        signal?.removeEventListener("abort", end);
        reject(
          new BoundaryError({
            boundary: kind,
            message: `${command} cannot be started: ${cause.message}`,
            value: command,
            remedy: "check trainer.python and trainer.launch",
            cause,
          }),
        );
      });
      child.once("exit", (code, killed) => {
        signal?.removeEventListener("abort", end);
        clearTimeout(late);
        // Whatever the launcher left behind would hold the pipes and the GPUs.
        killGroup(child.pid, "SIGKILL");
        child.once("close", () => {
          for (const reader of readers) reader.close();
          resolve({ status: code ?? killed ?? "unknown", ok: code === 0, tail });
        });
      });
    });
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
