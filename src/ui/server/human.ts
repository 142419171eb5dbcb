/**
 * The turn of a person as engineer (docs/engineers.md): whether a live run waits for one, and the answer. The question is human.yaml in the
 * stage's folder; approving it here writes what an editor would write. Judges nothing: the run reads the answer and refuses or uses it.
 */
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { InputError, type KnobTable, knobTableSchema } from "../../core/index.js";
import { readHumanAnswer } from "../../engineers/index.js";
import { approveHuman, HUMAN_FILE } from "../../loop/human-desk.js";
import type { RunFolder } from "../../store/index.js";
import type { HumanTurn } from "../records.js";
import { isRunning, isWaiting } from "./run-state.js";

export const humanAnswerSchema = z.strictObject({
  rationale: z.string().max(4000).default(""),
  /** Left out: approved as it stands. */
  knobs: knobTableSchema.optional(),
});
export type HumanAnswerRequest = z.infer<typeof humanAnswerSchema>;

/** @param current what to show where the file cannot be read */
export function humanTurn(folder: RunFolder, stage: number, current: KnobTable): HumanTurn | null {
  if (!isRunning(folder.dir) || !isWaiting(folder.dir, stage)) return null;
  const text = readFileSync(folder.path(stage, HUMAN_FILE), "utf8");
  const read = readHumanAnswer(text);
  const table = typeof read === "string" ? undefined : knobTableSchema.safeParse(read.config).data;
  return {
    knobs: table ?? current,
    rationale: typeof read === "string" ? "" : read.rationale,
    refused: /^# REFUSED: (.*)$/m.exec(text)?.[1] ?? null,
    text,
  };
}

/** @throws {InputError} when nobody is asked there. */
export async function answerAsHuman(folder: RunFolder, stage: number, { rationale, knobs }: HumanAnswerRequest): Promise<void> {
  const path = folder.path(stage, HUMAN_FILE);
  if (!existsSync(path) || !isWaiting(folder.dir, stage)) {
    throw new InputError({
      message: `stage ${stage} waits for nobody`,
      value: stage,
      expected: "a stage whose run waits for a person",
      remedy: "reload the stage: it may have been answered already",
    });
  }
  await approveHuman(folder, stage, knobs === undefined ? undefined : edited(readFileSync(path, "utf8"), rationale, knobs));
}

/** The file with another config below its comments. JSON is YAML, so every value is written as JSON. */
function edited(text: string, rationale: string, knobs: KnobTable): string {
  const comments = text
    .split("\n")
    .filter((line) => line.startsWith("#") && !line.startsWith("# REFUSED:") && line !== "# waiting or approved");
  const rows = Object.entries(knobs).map(([stratum, row]) => `  ${JSON.stringify(stratum)}: ${JSON.stringify(row)}`);
  return [...comments, `rationale: ${JSON.stringify(rationale)}`, "config:", ...rows, "status: approved", ""].join("\n");
}
