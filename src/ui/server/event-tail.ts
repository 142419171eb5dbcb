/**
 * The event stream of a run as server-sent events. Follows events.jsonl from a byte offset; the id of every message is the offset behind its
 * line, so that a browser that comes back (Last-Event-ID) misses nothing and repeats nothing, whoever restarted. A file that has become
 * shorter than the offset was begun anew: a `reset` message says so. Sends whole lines only.
 */
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import type { SSEStreamingApi } from "hono/streaming";

const POLL_MS = 200;
const HEARTBEAT_MS = 10_000;
/** Bytes read at once. */
const BLOCK = 1 << 20;

/** Whole lines from `offset` on with the offset behind each; nothing when there is none yet. */
export async function readLines(path: string, offset: number): Promise<{ text: string; end: number }[]> {
  const size = await sizeOf(path);
  if (size <= offset) return [];
  const file = await open(path, "r");
  try {
    const buffer = Buffer.alloc(Math.min(BLOCK, size - offset));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    const lines: { text: string; end: number }[] = [];
    let from = 0;
    for (let at = buffer.indexOf(10); at >= 0 && at < bytesRead; at = buffer.indexOf(10, from)) {
      if (at > from) lines.push({ text: buffer.toString("utf8", from, at), end: offset + at + 1 });
      from = at + 1;
    }
    return lines;
  } finally {
    await file.close();
  }
}

export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}

/** Streams until the client goes or `signal` is aborted. `state` is asked between lines; a change is sent as a `state` message. */
export async function followEvents(
  stream: SSEStreamingApi,
  options: { dir: string; offset: number; signal: AbortSignal; state: () => string },
): Promise<void> {
  const { dir, signal } = options;
  const path = join(dir, "events.jsonl");
  let { offset } = options;
  let state = "";
  let spoken = Date.now();
  let gone = false;
  stream.onAbort(() => {
    gone = true;
  });
  while (!gone && !signal.aborted) {
    if ((await sizeOf(path)) < offset) {
      offset = 0;
      await stream.writeSSE({ event: "reset", data: "{}", id: "0" });
    }
    const lines = await readLines(path, offset);
    for (const { text, end } of lines) {
      await stream.writeSSE({ event: "run", data: text, id: String(end) });
      offset = end;
      spoken = Date.now();
    }
    const now = options.state();
    if (now !== state) {
      state = now;
      await stream.writeSSE({ event: "state", data: JSON.stringify({ state }), id: String(offset) });
    }
    if (Date.now() - spoken > HEARTBEAT_MS) {
      await stream.write(": still here\n\n");
      spoken = Date.now();
    }
    if (lines.length === 0) await pause(POLL_MS, signal);
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      done();
    };
    const timer = setTimeout(finish, milliseconds);
    signal.addEventListener("abort", finish);
  });
}
