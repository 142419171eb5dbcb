/**
 * A child process in a process group of its own, followed line by line. On abort the whole group is asked to end, then killed: launchers
 * leave workers behind otherwise. The group does not outlive this process either, however that ends. It reads no meaning into what the
 * process writes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { BoundaryError } from "../core/index.js";

export interface ProcessCommand {
  command: string;
  args: string[];
  cwd: string;
  /** Added to this process's environment. */
  env: Record<string, string>;
}

export interface ProcessEnd {
  /** Exit code, or the signal that ended it. */
  status: number | string;
  /** Whether it ended as it should. */
  ok: boolean;
  /** The last lines it wrote. */
  tail: string[];
}

export type RunProcess = (
  command: ProcessCommand,
  options: { signal?: AbortSignal | undefined; onLine: (line: string) => void },
) => Promise<ProcessEnd>;

export interface GroupRunnerOptions {
  /** To whom it is attributed when the command cannot be started, and what to do about that. */
  boundary: string;
  remedy: string;
  /** Milliseconds between asking the group to end and killing it. */
  grace?: number;
}

const TAIL = 30;
const LONGEST_LINE = 4000;

/** @throws {BoundaryError} when the command cannot be started. */
export function groupRunner({ boundary, remedy, grace = 5000 }: GroupRunnerOptions): RunProcess {
  return ({ command, args, cwd, env }, { signal, onLine }) =>
    new Promise((resolve, reject) => {
      const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, detached: true, stdio: ["ignore", "pipe", "pipe"] });
      const guard = child.pid === undefined ? undefined : guardGroup(child.pid, grace);
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
        clearTimeout(late);
        guard?.kill("SIGKILL");
        reject(new BoundaryError({ boundary, message: `${command} cannot be started: ${cause.message}`, value: command, remedy, cause }));
      });
      child.once("exit", (code, killed) => {
        signal?.removeEventListener("abort", end);
        clearTimeout(late);
        guard?.kill("SIGKILL");
        // Whatever the launcher left behind would hold the pipes and the GPUs.
        killGroup(child.pid, "SIGKILL");
        // What left the group is not reached by that: it may hold the pipes, but not us.
        const held = setTimeout(() => {
          child.stdout.destroy();
          child.stderr.destroy();
        }, grace);
        child.once("close", () => {
          clearTimeout(held);
          for (const reader of readers) reader.close();
          resolve({ status: code ?? killed ?? "unknown", ok: code === 0, tail });
        });
      });
    });
}

/**
 * A shell that waits at a pipe of this process. When the pipe breaks, since this process was killed or has left without tidying up, it ends
 * the group: a server or an engine that nobody follows would hold ports and GPUs. Killed by its caller when the group has ended.
 * @param grace milliseconds between asking the group to end and killing it.
 */
export function guardGroup(group: number, grace: number): ChildProcess {
  const script = 'read -r _; kill -s TERM -- "-$1" || exit 0; sleep "$2"; kill -s KILL -- "-$1"';
  const seconds = String(Math.ceil(grace / 1000));
  const guard = spawn("/bin/sh", ["-c", script, "sh", String(group), seconds], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  // Without a shell there is no such guard; all else goes on.
  guard.on("error", () => undefined);
  guard.stdin.on("error", () => undefined);
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
