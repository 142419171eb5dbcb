/** What lies beside a checkpoint that an engine made: the steps so far and the reward's moving average. Engines start each stage with a fresh optimiser. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CorruptFileError, canonicalJson, parseJsonWith, SCHEMA_VERSION, schemaVersion } from "../../core/index.js";

const FILE = "engine_state.json";
const engineStateSchema = z.strictObject({
  schema_version: schemaVersion,
  global_step: z.int().nonnegative(),
  scorer: z.strictObject({ ema_valid: z.number() }),
});

export interface EngineState {
  globalStep: number;
  emaValid: number;
}

/** Undefined for a folder that no engine made. */
export async function readEngineState(folder: string): Promise<EngineState | undefined> {
  const path = join(folder, FILE);
  if (!existsSync(path)) return undefined;
  const state = parseJsonWith(engineStateSchema, await readFile(path, "utf8"), path, CorruptFileError);
  return { globalStep: state.global_step, emaValid: state.scorer.ema_valid };
}

export async function writeEngineState(folder: string, { globalStep, emaValid }: EngineState): Promise<void> {
  const record = { schema_version: SCHEMA_VERSION, global_step: globalStep, scorer: { ema_valid: emaValid } };
  await writeFile(join(folder, FILE), `${canonicalJson(record, 2)}\n`);
}
