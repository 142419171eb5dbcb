/**
 * Config → instances, with their manifest. `generateTraining` meets the config's quotas exactly or refuses; `streamTraining` makes the same
 * set and hands it out in batches, for sets too large to hold as objects; `generateBalanced` makes the sets that are evaluated, balanced
 * over size, agent count and conflict whatever the config's ratios, and says where it could not.
 */
import { type GenerateOptions, InfeasibleError, InputError } from "../../core/index.js";
import { holeCount, type MapfConfig, normalise, sizesOf } from "./config.js";
import { infeasible } from "./feasibility.js";
import { refusal } from "./feasibility-probe.js";
import type { Tally } from "./fill-slot.js";
import { fillSlots } from "./fill-slots.js";
import { type GeneratedSet, StreamedSet } from "./generated-set.js";
import { BALANCED_HOLES, balancedSlots, type Slot, trainingSlots } from "./quota.js";

/** More would take hours, and numbers of more than 32 bits. */
const MAX_COUNT = 100_000_000;

/** Exactly `count` instances meeting the quotas of `given` (normalised first) exactly. @throws {InfeasibleError} */
export async function generateTraining(given: MapfConfig, options: GenerateOptions): Promise<GeneratedSet> {
  return (await streamTraining(given, options)).whole();
}

/**
 * The set of `generateTraining`, packed: some 50 bytes an instance of two agents until it is read out, in `scratch` if that is given.
 * @throws {InfeasibleError} @throws {StorageError} of the scratch file
 */
export async function streamTraining(given: MapfConfig, options: GenerateOptions): Promise<StreamedSet> {
  requireCount(options.count);
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
  return StreamedSet.of(filled, tally, options, sizesOf(config), requested);
}

/**
 * `count` instances in equal parts over size × agents × conflict, hole ratios spread over BALANCED_HOLES. A cell that cannot be filled
 * first takes any hole count of the range, then boards of the other kind; the manifest counts both (`balance_any_holes`,
 * `balance_other_kind`). @throws {InfeasibleError} when there are no more boards of a size and agent count at all
 */
export async function generateBalanced(given: MapfConfig, options: GenerateOptions): Promise<GeneratedSet> {
  requireCount(options.count);
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
  return (await StreamedSet.of(filled, { ...tally, ...extra }, options, sizesOf(config), requested)).whole();
}

function requireCount(count: number): void {
  if (Number.isInteger(count) && count >= 0 && count <= MAX_COUNT) return;
  throw new InputError({
    message: `${count} instances cannot be made at once`,
    value: count,
    expected: `a whole number of at most ${MAX_COUNT}`,
    remedy: "make several sets, each without the boards of those before it",
  });
}

export function fillOptions(options: GenerateOptions) {
  return {
    seed: options.seed,
    exclude: options.exclude ?? new Set<string>(),
    repeats: options.repeats ?? ("refuse" as const),
    workers: options.workers ?? 1,
    signal: options.signal,
    onProgress: options.onProgress,
    scratch: options.scratch,
  };
}
