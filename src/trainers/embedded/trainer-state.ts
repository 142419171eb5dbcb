/**
 * What lies beside a checkpoint so that training goes on as if it had not stopped: global step, reward weights, optimiser moments.
 * Random streams are named by stage and step and need no state.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CorruptFileError, canonicalJson, parseJsonWith, SCHEMA_VERSION, schemaVersion } from "../../core/index.js";
import { type OptimiserState, readSafetensors, writeSafetensors } from "../../nn/index.js";

const STATE = "trainer_state.json";
const MOMENTS = "optimizer.safetensors";

export const trainerStateSchema = z.strictObject({
  schema_version: schemaVersion,
  global_step: z.int().nonnegative(),
  scorer: z.strictObject({ ema_valid: z.number() }),
  optimiser: z.record(z.string(), z.number()),
});
export type TrainerState = z.infer<typeof trainerStateSchema>;

export interface LoadedState {
  globalStep: number;
  emaValid: number;
  optimiser: OptimiserState;
}

/** Undefined for a folder that holds weights only (a base checkpoint, a folder of another trainer). */
export async function readTrainerState(folder: string): Promise<LoadedState | undefined> {
  const path = join(folder, STATE);
  if (!existsSync(path)) return undefined;
  const state = parseJsonWith(trainerStateSchema, await readFile(path, "utf8"), path, CorruptFileError);
  const tensors = await readSafetensors(join(folder, MOMENTS));
  const optimiser: OptimiserState = { ...state.optimiser };
  for (const [name, tensor] of tensors) optimiser[name] = tensor.data;
  return { globalStep: state.global_step, emaValid: state.scorer.ema_valid, optimiser };
}

export async function writeTrainerState(folder: string, state: LoadedState): Promise<void> {
  await mkdir(folder, { recursive: true });
  const numbers: Record<string, number> = {};
  const tensors = new Map<string, { shape: number[]; data: Float32Array }>();
  for (const [name, value] of Object.entries(state.optimiser)) {
    if (typeof value === "number") numbers[name] = value;
    else tensors.set(name, { shape: [value.length], data: value });
  }
  const record: TrainerState = {
    schema_version: SCHEMA_VERSION,
    global_step: state.globalStep,
    scorer: { ema_valid: state.emaValid },
    optimiser: numbers,
  };
  await writeSafetensors(join(folder, MOMENTS), tensors);
  await writeFile(join(folder, STATE), `${canonicalJson(record, 2)}\n`);
}
