/**
 * What of a recipe says where and with which means it is run, not what is run: an interrupted run may go on with other values of these. Engines
 * outside of this process give no equal bytes, whatever these are.
 */
import { canonicalJson } from "./json.js";
import type { Recipe } from "./recipe.js";
import { valueAt } from "./schema.js";

/** Settings that no result hangs on but by rounding: two runs that differ in nothing else are the same experiment. */
const WITHOUT_EFFECT: readonly string[] = [
  "workers",
  ...["python", "micro_batch", "retries", "reward_host", "gpu_memory", "ray", "shared"].map((name) => `trainer.${name}`),
  ...["host", "port", "startup_timeout", "retries", "concurrency", "timeout", "gpu_memory"].map((name) => `serving.${name}`),
];

/** Paths in a recipe; what lies below one belongs to it. */
export const MACHINE_SETTINGS: readonly string[] = [
  ...WITHOUT_EFFECT,
  ...["launch", "processes", "environment", "nodes", "gpus_per_node", "tensor_parallel"].map((name) => `trainer.${name}`),
  ...["command", "environment", "tensor_parallel", "data_parallel", "weights"].map((name) => `serving.${name}`),
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
  for (const path of WITHOUT_EFFECT) {
    const names = path.split(".");
    const place = valueAt(rest, names.slice(0, -1)) as Record<string, unknown> | undefined;
    delete place?.[names.at(-1)!];
  }
  return rest;
}

/** `PATH=VALUE` for each of these settings that a recipe gives otherwise than the one that a run was begun with. */
export function changedMachineSettings(wanted: Recipe, begun: Recipe): string[] {
  return WITHOUT_EFFECT.filter((path) => path !== "workers").flatMap((path) => {
    const [value, before] = [wanted, begun].map((recipe) => valueAt(recipe, path.split(".")));
    const isSame = canonicalJson({ value }) === canonicalJson({ value: before });
    return value === undefined || isSame ? [] : [`${path}=${JSON.stringify(value)}`];
  });
}
