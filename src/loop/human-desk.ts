/**
 * The desk of the `human` engineer: `stages/NN/human.yaml`, watched by looking at it. Whoever approves it (an editor, a script, the
 * dashboard) does the same thing: saves the file with `status: approved` on its last line. Looking twice a second works on every file
 * system and without a terminal; an answer counts when the file was the same at two looks, so one that is still being written does not.
 *
 * A question that is there already is not written again: a run that was stopped while it waited waits for the same file when it is
 * resumed, and takes an answer that was given in between.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type EventStream, InputError, InterruptedError } from "../core/index.js";
import { type HumanDesk, type HumanQuestion, humanStatus, withHumanStatus } from "../engineers/index.js";
import { type RunFolder, writeFileAtomic } from "../store/index.js";

export const HUMAN_FILE = "human.yaml";
const LOOK_MS = 500;

export interface HumanDeskOptions {
  folder: RunFolder;
  stage: number;
  events: Pick<EventStream, "emit">;
  /** Milliseconds between two looks. */
  everyMs?: number;
}

export function humanDesk({ folder, stage, events, everyMs = LOOK_MS }: HumanDeskOptions): HumanDesk {
  const path = folder.path(stage, HUMAN_FILE);
  return {
    async ask(question, signal) {
      await put(path, question);
      const started = performance.now();
      events.emit({ type: "human-waiting", stage, path, ...(question.refusal === undefined ? {} : { refusal: question.refusal }) });
      let seen: string | undefined;
      let warned: string | undefined;
      while (true) {
        if (signal?.aborted) throw new InterruptedError({ message: `interrupted while stage ${stage} waits for ${path}` });
        const text = await readOrNothing(path);
        // Deleted: asked anew, rather than wait for ever for a file that is not there.
        if (text === undefined) await put(path, { text: question.text });
        const settled = text !== undefined && text === seen;
        const status = text === undefined ? "waiting" : humanStatus(text);
        if (settled && status === "approved") {
          events.emit({ type: "human-answered", stage, seconds: (performance.now() - started) / 1000 });
          return text;
        }
        if (settled && status === undefined && warned !== text) {
          warned = text;
          events.emit({ type: "warning", stage, message: `${path} is not YAML that ends in "status: waiting" or "status: approved"` });
        }
        seen = text;
        await sleep(everyMs, undefined, signal === undefined ? {} : { signal }).catch(() => {});
      }
    },
  };
}

/** The question where there is none; a refused answer goes back to waiting, with the reason at its top. */
async function put(path: string, { text, refusal }: HumanQuestion): Promise<void> {
  const there = await readOrNothing(path);
  if (there === undefined) return writeFileAtomic(path, text);
  if (refusal === undefined) return;
  const answer = there.replace(/^# REFUSED: .*\n/gm, "");
  await writeFileAtomic(path, `# REFUSED: ${refusal.replace(/\s+/g, " ")}\n${withHumanStatus(answer, "waiting")}`);
}

/**
 * Approves the question of a stage, as it stands or with another text: what a program does in place of an editor.
 * @throws {InputError} nobody is asked there.
 */
export async function approveHuman(folder: Pick<RunFolder, "path">, stage: number, edited?: string): Promise<void> {
  const path = folder.path(stage, HUMAN_FILE);
  const there = await readOrNothing(path);
  if (there === undefined) {
    throw new InputError({
      message: `stage ${stage} asks nobody: there is no ${path}`,
      value: path,
      expected: "a stage that waits for a person",
      remedy: "wait until the run asks, or set engineer.name=human or engineer.approve=true in its recipe",
    });
  }
  await writeFileAtomic(path, withHumanStatus(edited ?? there, "approved"));
}

async function readOrNothing(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw cause;
  }
}
