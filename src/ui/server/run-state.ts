/** Whether a run goes on, is done, or has stopped: from its lock, its records and the last word of its event stream. */
import { existsSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { eventSchema, type Phase, type RunEvent } from "../../core/index.js";
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
  return (await newestEvents(dir)).next().value ?? undefined;
}

/** The phase that the newest events are in, as far as the last 64 KiB say. */
export async function currentPhase(dir: string): Promise<{ stage: number; phase: Phase } | null> {
  for (const event of await newestEvents(dir)) {
    if (event.type === "phase-started") return { stage: event.stage, phase: event.phase };
    if (event.type === "phase-finished" || event.type === "run-finished") return null;
  }
  return null;
}

/** Newest first. */
async function newestEvents(dir: string): Promise<Generator<RunEvent, undefined>> {
  return parsed(await tail(dir));
}

function* parsed(lines: readonly string[]): Generator<RunEvent, undefined> {
  for (const line of lines) {
    try {
      const event = eventSchema.safeParse(JSON.parse(line));
      if (event.success) yield event.data;
    } catch {
      // The first of the lines may be the end of one that began before the block.
    }
  }
}

async function tail(dir: string): Promise<string[]> {
  try {
    const file = await open(join(dir, "events.jsonl"), "r");
    try {
      const { size } = await file.stat();
      const length = Math.min(size, 64 * 1024);
      const buffer = Buffer.alloc(length);
      await file.read(buffer, 0, length, size - length);
      const text = buffer.toString("utf8");
      return text.slice(0, text.lastIndexOf("\n")).split("\n").reverse();
    } finally {
      await file.close();
    }
  } catch {
    return [];
  }
}
