/**
 * A child process in a process group of its own, followed line by line. On abort the whole group is asked to end, then killed: launchers
 * leave workers behind otherwise. The group does not outlive this process either, however that ends. It reads no meaning into what the
 * process writes.
 */
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { BoundaryError } from "../core/index.js";
import { LineSplitter } from "./line-splitter.js";

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
/** Milliseconds between two looks at a group that is ending. */
const LOOK_EVERY = 20;

/** @throws {BoundaryError} when the command cannot be started; whatever `onLine` throws, once the group has ended for it. */
export function groupRunner({ boundary, remedy, grace = 5000 }: GroupRunnerOptions): RunProcess {
  return ({ command, args, cwd, env }, { signal, onLine }) =>
    new Promise((resolve, reject) => {
      const guard = openGuard(grace);
      const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, detached: true, stdio: ["ignore", "pipe", "pipe"] });
      guard.follow(child.pid);
      const tail: string[] = [];
      let late: NodeJS.Timeout | undefined;
      /** When the group has to be gone; undefined until it is asked to end. */
      let deadline: number | undefined;
      const end = () => {
        if (deadline !== undefined) return;
        deadline = performance.now() + grace;
        killGroup(child.pid, "SIGTERM");
        late = setTimeout(() => killGroup(child.pid, "SIGKILL"), grace);
      };
      /** What `onLine` threw: a log that cannot be written, say. Nobody would hear of it from inside an event of a stream. */
      let fault: { cause: unknown } | undefined;
      const heard = (line: string) => {
        tail.push(line);
        if (tail.length > TAIL) tail.shift();
        if (fault !== undefined) return;
        try {
          onLine(line);
        } catch (cause) {
          fault = { cause };
          end();
        }
      };
      const splitters = [child.stdout, child.stderr].map((stream) => {
        const splitter = new LineSplitter(LONGEST_LINE);
        stream.setEncoding("utf8").on("data", (piece: string) => splitter.push(piece).forEach(heard));
        return splitter;
      });
      const closed = new Promise((done) => child.once("close", done));
      if (signal?.aborted) end();
      else signal?.addEventListener("abort", end, { once: true });
      const settled = () => {
        signal?.removeEventListener("abort", end);
        clearTimeout(late);
        guard.leave();
      };
      const finish = async (code: number | null, killed: NodeJS.Signals | null): Promise<void> => {
        // Workers may take longer to end than the launcher that was asked with them.
        while (deadline !== undefined && performance.now() < deadline && isGroupThere(child.pid)) await sleep(LOOK_EVERY);
        settled();
        // Whatever the launcher left behind would hold the pipes and the GPUs.
        killGroup(child.pid, "SIGKILL");
        // What left the group is not reached by that: it may hold the pipes, but not us.
        const held = setTimeout(() => {
          child.stdout.destroy();
          child.stderr.destroy();
        }, grace);
        await closed;
        clearTimeout(held);
        for (const rest of splitters.map((splitter) => splitter.take())) if (rest !== "") heard(rest);
        if (fault !== undefined) throw fault.cause;
        resolve({ status: code ?? killed ?? "unknown", ok: code === 0, tail });
      };
      child.once("error", (cause) => {
        settled();
        reject(new BoundaryError({ boundary, message: `${command} cannot be started: ${cause.message}`, value: command, remedy, cause }));
      });
      child.once("exit", (code, killed) => void finish(code, killed).catch(reject));
    });
}

export interface GroupGuard {
  /** From here on the group ends with this process. Of a child that could not be started (undefined) there is nothing to follow. */
  follow(group: number | undefined): void;
  /** Breaks the pipe: the group is to end now. */
  abandon(): void;
  /** Once the group has ended by itself. */
  leave(): void;
  /** Resolves with how the guard has ended. */
  readonly ended: Promise<number | null>;
}

/**
 * A shell that waits at a pipe of this process. When the pipe breaks, since this process was killed or has left without tidying up, it ends
 * the group: a server or an engine that nobody follows would hold ports and GPUs. Opened before the group, so that between
 * the group's start and its being followed there is no more than the writing of a line.
 * @param grace milliseconds between asking the group to end and killing it.
 */
export function openGuard(grace: number): GroupGuard {
  // Once the group is gone its number may become another's.
  const script = `read -r group || exit 0; read -r _; kill -s TERM -- "-$group" || exit 0; left=$1
    while [ "$left" -gt 0 ]; do sleep 1; kill -s 0 -- "-$group" || exit 0; left=$((left - 1)); done; kill -s KILL -- "-$group"`;
  const seconds = String(Math.ceil(grace / 1000));
  const guard = spawn("/bin/sh", ["-c", script, "sh", seconds], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  // Without a shell there is no such guard; all else goes on.
  guard.on("error", () => undefined);
  guard.stdin.on("error", () => undefined);
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  return {
    follow: (group) => void (group === undefined ? guard.stdin.end() : guard.stdin.write(`${group}\n`)),
    abandon: () => void guard.stdin.end(),
    leave: () => void guard.kill("SIGKILL"),
    ended: new Promise((resolve) => guard.once("exit", (code) => resolve(code))),
  };
}

function isGroupThere(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(-pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Of a group that is gone, or whose members are another user's by now, there is nothing to end. */
function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
