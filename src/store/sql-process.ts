/**
 * A free query in a process of its own: what it costs, it costs there. The asking process is not held up, and stays within its memory whatever
 * is asked; the other one is ended when it takes too much memory or time, or when the reader has gone.
 */
import { BoundaryError, type ErrorDetail, InputError, InterruptedError, startProcess } from "../core/index.js";
import { SQL_LIMITS, type SqlAnswer, type SqlLimits, type SqlView } from "./read-only-sql.js";

export interface SqlQuestion {
  views: readonly SqlView[];
  sql: string;
  limits: SqlLimits;
  /** Of resident memory, at most. */
  bytes: number;
}

export type SqlReply =
  /** The process is up; the query's time begins. */
  | { kind: "begun" }
  | { kind: "answer"; answer: SqlAnswer }
  | { kind: "refusal"; detail: ErrorDetail }
  | { kind: "memory" }
  | { kind: "failure"; message: string };

/** Resident memory of the process at most, in MiB: about 130 of program, DuckDB's 256 of buffers, its heap, and what functions build. */
const MEMORY = 640;
/** Of that the JavaScript heap, in MiB. */
const HEAP = 128;
/** Milliseconds for the process to start. */
const START = 60_000;
/** Milliseconds for it to say itself that its time is over, before it is ended from here. */
const GRACE = 2000;

/**
 * @param signal ends the query when the reader has gone
 * @param memory resident memory of the process at most, in MiB
 * @throws {InputError} as askReadOnly, and for a query that takes more memory than it may
 * @throws {InterruptedError} when the reader has gone
 * @throws {BoundaryError} when the process cannot be started or dies of something else
 */
export async function askInProcess(
  views: readonly SqlView[],
  sql: string,
  signal: AbortSignal,
  limits: SqlLimits = SQL_LIMITS,
  memory: number = MEMORY,
): Promise<SqlAnswer> {
  if (signal.aborted) throw gone();
  const child = startProcess(import.meta.url, "./sql-child", [`--max-old-space-size=${HEAP}`]);
  let late = false;
  let reply: SqlReply | undefined;
  let words = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-2000);
  });
  const end = (): void => void child.kill("SIGKILL");
  const endLate = (): void => {
    late = true;
    end();
  };
  let deadline = setTimeout(endLate, START);
  signal.addEventListener("abort", end, { once: true });
  try {
    const ended = new Promise<number | string>((done, fail) => {
      child.once("error", fail);
      child.once("close", (code, killedBy) => done(code ?? killedBy ?? "no code"));
    });
    child.on("message", (message: SqlReply) => {
      reply = message;
      if (message.kind !== "begun") return end();
      clearTimeout(deadline);
      deadline = setTimeout(endLate, 1000 * limits.seconds + GRACE);
    });
    // What goes wrong with the channel is told by how the process ends.
    child.send({ views, sql, limits, bytes: memory * 2 ** 20 } satisfies SqlQuestion, () => {});
    const code = await ended;
    if (reply?.kind === "answer") return reply.answer;
    if (reply?.kind === "refusal") throw new InputError(reply.detail);
    if (signal.aborted) throw gone();
    if (late) throw stopped(`the query was stopped after ${limits.seconds} s`, sql, "a query that reads or joins less");
    // SIGABRT is Node's own end for a full heap; a SIGKILL that did not come from here is the operating system's.
    if (reply?.kind === "memory" || code === 134 || code === "SIGABRT" || code === "SIGKILL")
      throw stopped(`the query was stopped when it took more than ${memory} MiB of memory`, sql, "a query that builds less");
    const why = reply?.kind === "failure" ? reply.message : `it ended with ${code}: ${words.trim().split("\n").slice(-3).join(" ")}`;
    throw new BoundaryError({ boundary: "sql", message: `the process of a query failed: ${why}`, value: sql });
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener("abort", end);
    end();
  }
}

function stopped(message: string, value: string, expected: string): InputError {
  return new InputError({ message, value, expected, remedy: `ask with ${expected}` });
}

const gone = (): InterruptedError => new InterruptedError({ message: "the query was stopped: its reader has gone" });
