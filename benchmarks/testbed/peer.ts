/**
 * A peer's driver as a process that answers board by board. A driver that has used far more processor time than its limit and still says
 * nothing is ended and started anew: some searches never look at the clock. That board counts as out of time.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { EngineError, InputError } from "../../src/core/index.js";
import { boardLine, type PackedBoard } from "./boards.js";

export interface Answer {
  /** `crashed`: the driver ended on this board. */
  status: "solved" | "timeout" | "failed" | "crashed";
  /** Sum of costs, −1 unless solved. */
  cost: number;
  seconds: number;
}

/** Multiple of the limit at which a driver is given up. */
const PATIENCE = 1.5;
/** Seconds on the clock, for machines that do not tell a process's time, and for a driver that sleeps. */
const LONGEST_WAIT = 60;

export class Peer {
  private child: ChildProcess | undefined;
  private answer: ((line: string | undefined) => void) | undefined;
  private readonly scratch = mkdtempSync(join(tmpdir(), "bench-peer-"));

  constructor(
    readonly name: string,
    private readonly binary: string,
    /** Seconds. */
    readonly limit: number,
  ) {}

  async solve(board: PackedBoard): Promise<Answer> {
    const child = this.running();
    const begin = performance.now();
    const line = await new Promise<string | "late" | undefined>((resolve) => {
      const used = processorSeconds(child.pid);
      const timer = setInterval(() => {
        const waited = (performance.now() - begin) / 1000;
        if (processorSeconds(child.pid) - used < this.limit * PATIENCE && waited < LONGEST_WAIT) return;
        clearInterval(timer);
        resolve("late");
      }, 200);
      this.answer = (text) => {
        clearInterval(timer);
        resolve(text);
      };
      child.stdin!.write(`${boardLine(board)}\n`);
    });
    this.answer = undefined;
    if (line === undefined || line === "late") {
      await this.end();
      return { status: line === "late" ? "timeout" : "crashed", cost: -1, seconds: (performance.now() - begin) / 1000 };
    }
    const [status, cost, seconds] = line.split(" ");
    if ((status !== "solved" && status !== "timeout" && status !== "failed") || !Number.isFinite(Number(seconds))) {
      throw new EngineError({ message: `${this.name} answered "${line}"`, value: line, expected: "status cost seconds" });
    }
    return { status, cost: Number(cost), seconds: Number(seconds) };
  }

  async close(): Promise<void> {
    await this.end();
    rmSync(this.scratch, { recursive: true, force: true });
  }

  private running(): ChildProcess {
    if (this.child !== undefined) return this.child;
    const child = spawn(this.binary, [String(this.limit), this.scratch], { stdio: ["pipe", "pipe", "ignore"] });
    createInterface({ input: child.stdout! }).on("line", (line) => this.child === child && this.answer?.(line));
    child.on("error", () => this.child === child && this.answer?.(undefined));
    child.on("exit", () => this.child === child && this.answer?.(undefined));
    child.stdin!.on("error", () => {});
    this.child = child;
    return child;
  }

  private async end(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    await new Promise((resolve) => {
      child.on("exit", resolve);
      child.kill("SIGKILL");
    });
  }
}

/** Processor time of a process so far; 0 where the system does not tell. */
function processorSeconds(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e9;
  } catch {
    return 0;
  }
}

/** `name=path` → a peer. @throws {InputError} for anything else */
export function peerOf(text: string, limit: number): Peer {
  const [, name, path] = /^([\w-]+)=(.+)$/.exec(text) ?? [];
  if (name !== undefined && path !== undefined) return new Peer(name, path, limit);
  throw new InputError({
    message: `--peer ${text}: no name and path`,
    value: text,
    expected: "name=path, e.g. cbsh2=/tmp/peers/cbsh2-driver",
    remedy: "benchmarks/peers/README.md tells how the drivers are built",
  });
}
