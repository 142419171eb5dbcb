/** Whether a run goes on, is done, or has stopped: from its lock, its records and the last word of its event stream. */
import { existsSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { eventSchema, type RunEvent } from "../../core/index.js";
import { humanStatus } from "../../engineers/index.js";
import { HUMAN_FILE } from "../../loop/human-desk.js";
import { lockHolder } from "../../store/index.js";
import type { RunState } from "../records.js";

export function isRunning(dir: string): boolean {
  return lockHolder(dir) !== undefined;
}

/** @param finished whether nothing of the recipe is left to do @param newest the number of the newest stage */
export async function stateOf(dir: string, finished: boolean, newest: number | undefined): Promise<RunState> {
  if (isRunning(dir)) return isWaiting(dir, newest) ? "waiting" : "running";
  if (finished) return "finished";
  const last = await lastEvent(dir);
  return last?.type === "run-failed" ? "failed" : "interrupted";
}

/** Whether the stage's question to a person (docs/engineers.md) stands open. */
export function isWaiting(dir: string, stage: number | undefined): boolean {
  if (stage === undefined) return false;
  const folder = join(dir, "stages", String(stage).padStart(2, "0"));
  const path = join(folder, HUMAN_FILE);
  if (!existsSync(path) || existsSync(join(folder, "proposal.json"))) return false;
  try {
    return humanStatus(readFileSync(path, "utf8")) !== "approved";
  } catch {
    return false;
  }
}

/** The last whole line of events.jsonl that says something known; a failure's message is what people want to see. */
export async function lastEvent(dir: string): Promise<RunEvent | undefined> {
  let text: string;
  try {
    const file = await open(join(dir, "events.jsonl"), "r");
    try {
      const { size } = await file.stat();
      const length = Math.min(size, 64 * 1024);
      const buffer = Buffer.alloc(length);
      await file.read(buffer, 0, length, size - length);
      text = buffer.toString("utf8");
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
  const lines = text.slice(0, text.lastIndexOf("\n")).split("\n");
  for (const line of lines.reverse()) {
    try {
      const event = eventSchema.safeParse(JSON.parse(line));
      if (event.success) return event.data;
    } catch {
      // The first of the lines may be the end of one that began before the block.
    }
  }
  return undefined;
}
