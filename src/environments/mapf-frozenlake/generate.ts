/**
 * Config → instances, with their manifest. `generateTraining` meets the config's quotas exactly or refuses; `generateBalanced` makes the
 * sets that are evaluated, balanced over size, agent count and conflict whatever the config's ratios, and says where it could not.
 */
import { createHash } from "node:crypto";
import { canonicalJson, type DatasetManifest, type GenerateOptions, InfeasibleError, SCHEMA_VERSION, type Seed } from "../../core/index.js";
import { holeCount, type MapfConfig, normalise, sizesOf } from "./config.js";
import { infeasible } from "./feasibility.js";
import { refusal } from "./feasibility-probe.js";
import type { Tally } from "./fill-slot.js";
import { type FilledSlot, fillSlots } from "./fill-slots.js";
import type { Cell, Instance } from "./instance.js";
import { BALANCED_HOLES, balancedSlots, type Slot, trainingSlots } from "./quota.js";

export interface GeneratedSet {
  instances: Instance[];
  manifest: DatasetManifest;
}

/** Exactly `count` instances meeting the quotas of `given` (normalised first) exactly. @throws {InfeasibleError} */
export async function generateTraining(given: MapfConfig, options: GenerateOptions): Promise<GeneratedSet> {
  const { config } = normalise(given);
  const problems = infeasible(config);
  if (problems.length > 0) {
    throw new InfeasibleError({
      message: problems.map(({ stratum, problem }) => `size ${stratum}: ${problem}`).join("; "),
      value: config,
      expected: problems.map(({ stratum, nearest }) => `size ${stratum}: ${nearest}`).join("; "),
      remedy: "move the knobs to the nearest feasible values",
    });
  }
  const slots = trainingSlots(config, options.count);
  const { filled, tally } = await fillSlots(slots, { ...fillOptions(options), refuse: refusal });
  const requested = (size: string) => ({ ...config.sizes[size]! });
  return describeSet(filled, tally, options, sizesOf(config), requested);
}

/**
 * `count` instances in equal parts over size × agents × conflict, hole ratios spread over BALANCED_HOLES. A cell that cannot be filled
 * first takes any hole count of the range, then boards of the other kind; the manifest counts both (`balance_any_holes`,
 * `balance_other_kind`). @throws {InfeasibleError} when there are no more boards of a size and agent count at all
 */
export async function generateBalanced(given: MapfConfig, options: GenerateOptions): Promise<GeneratedSet> {
  const { config } = normalise(given);
  const extra: Tally = {};
  const fallback = (slot: Slot): Slot | undefined => {
    const any: [number, number] = [holeCount(slot.size, BALANCED_HOLES[0]), holeCount(slot.size, BALANCED_HOLES[1])];
    const planned = slots[slot.index]!;
    if (slot.holes[0] !== any[0] || slot.holes[1] !== any[1]) {
      extra.balance_any_holes = (extra.balance_any_holes ?? 0) + 1;
      return { ...slot, holes: any };
    }
    if (slot.want !== planned.want || slot.agents === 1) return undefined;
    extra.balance_other_kind = (extra.balance_other_kind ?? 0) + 1;
    return { ...slot, want: slot.want === "conflict" ? "no-conflict" : "conflict" };
  };
  const slots = balancedSlots(config, options.count);
  const { filled, tally } = await fillSlots(slots, { ...fillOptions(options), fallback, refuse: refusal });
  const parts = sizesOf(config).length;
  const conflict_ratio = config.agents.includes(1) ? (0.5 * (config.agents.length - 1)) / config.agents.length : 0.5;
  const requested = () => ({ data_ratio: 1 / parts, hole_ratio: (BALANCED_HOLES[0] + BALANCED_HOLES[1]) / 2, conflict_ratio });
  return describeSet(filled, { ...tally, ...extra }, options, sizesOf(config), requested);
}

export function fillOptions(options: GenerateOptions) {
  return {
    seed: options.seed,
    exclude: options.exclude ?? new Set<string>(),
    repeats: options.repeats ?? ("refuse" as const),
    workers: options.workers ?? 1,
    signal: options.signal,
    onProgress: options.onProgress,
  };
}

/** Order, ids and manifest of a filled set. `requested` gives the knobs of a size as they were asked for. */
export function describeSet(
  filled: FilledSlot[],
  tally: Tally,
  options: GenerateOptions,
  sizes: string[],
  requested: (size: string) => Record<string, number>,
): GeneratedSet {
  const order = options.seed.child("order").at(0);
  const instances = order.shuffle([...filled]).map((slot, i) => instanceOf(slot, options.seed, i));
  const strata: DatasetManifest["strata"] = {};
  for (const size of sizes) {
    const own = instances.filter((instance) => instance.size === Number(size));
    strata[size] = { count: own.length, requested: requested(size), realised: realised(own, instances.length) };
  }
  const digest = createHash("sha256");
  for (const instance of instances) digest.update(`${canonicalJson(instance)}\n`);
  const manifest: DatasetManifest = {
    schema_version: SCHEMA_VERSION,
    family: "mapf-frozenlake",
    count: instances.length,
    seed: options.seed.path,
    sha256: digest.digest("hex"),
    strata,
    sampling: tally,
    excluded_hashes: options.exclude?.size ?? 0,
  };
  return { instances, manifest };
}

function instanceOf({ slot, filling, hash, seed }: FilledSlot, set: Seed, index: number): Instance {
  const cell = (id: number): Cell => [Math.floor(id / slot.size), id % slot.size];
  const { sum_of_costs, makespan, sum_of_shortest } = filling;
  return {
    id: `${set.path}:${index}`,
    size: slot.size,
    holes: filling.holes.map(cell),
    agents: filling.starts.map((start, a) => ({ start: cell(start), goal: cell(filling.goals[a]!) })),
    optimum: { sum_of_costs, makespan, sum_of_shortest },
    conflict: sum_of_costs > sum_of_shortest,
    wait_required: filling.wait_required,
    seed,
    hash,
  };
}

/** The knobs as they came out, and what else describes the boards: conflict share, mean agents, mean shortest distance of an agent. */
function realised(own: Instance[], total: number): Record<string, number> {
  const mean = (value: (instance: Instance) => number) => own.reduce((sum, instance) => sum + value(instance), 0) / own.length;
  if (own.length === 0) return { data_ratio: 0 };
  return {
    data_ratio: own.length / total,
    // All of one size, so this is the mean of the boards' ratios, without its rounding.
    hole_ratio: mean(({ holes }) => holes.length) / own[0]!.size ** 2,
    wait_ratio: mean(({ wait_required }) => Number(wait_required)),
    conflict_ratio: mean(({ conflict }) => Number(conflict)),
    agents: mean(({ agents }) => agents.length),
    distance: mean(({ optimum, agents }) => optimum.sum_of_shortest / agents.length),
  };
}
