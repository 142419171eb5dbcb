/**
 * What of a recipe says where and with which means it is run, not what is run. An interrupted run may go on with other values of these, and two
 * runs that differ in nothing else are the same experiment. Engines outside of this process give no equal bytes, whatever these are.
 */
import type { Recipe } from "./recipe.js";

/** Paths in a recipe; what lies below one belongs to it. */
export const MACHINE_SETTINGS: readonly string[] = [
  "workers",
  ...["python", "launch", "processes", "micro_batch", "retries", "reward_host", "environment"].map((name) => `trainer.${name}`),
  ...["nodes", "gpus_per_node", "tensor_parallel", "gpu_memory", "ray", "shared"].map((name) => `trainer.${name}`),
  ...["command", "host", "port", "startup_timeout", "retries", "max_failed", "concurrency", "timeout"].map((name) => `serving.${name}`),
  ...["environment", "tensor_parallel", "data_parallel", "gpu_memory", "weights", "extra_args"].map((name) => `serving.${name}`),
];

/** Whether a path names one of them, or something below one. */
export function isMachineSetting(path: string): boolean {
  return MACHINE_SETTINGS.some((setting) => path === setting || path.startsWith(`${setting}.`));
}

/** `PATH=VALUE` as it may be told: variables of an environment may be keys, so their values are left out. */
export function toldSetting(assignment: string): string {
  const [path] = assignment.split("=", 1) as [string];
  return /^(trainer|serving)\.environment(\.|$)/.test(path) ? `${path}=…` : assignment;
}

/** The recipe as it is wherever it is run. */
export function withoutMachineSettings(recipe: Recipe): Record<string, unknown> {
  const rest: Record<string, unknown> = structuredClone(recipe);
  for (const setting of MACHINE_SETTINGS) {
    const [first, second] = setting.split(".") as [string, string | undefined];
    if (second === undefined) delete rest[first];
    else delete (rest[first] as Record<string, unknown> | undefined)?.[second];
  }
  return rest;
}
