/**
 * Quotas as a list of slots: what each instance of a set has to be, before any is drawn. Every quota is met exactly by largest remainder:
 * first over map sizes, then over wait-required within a size; agent counts go round within that, so that any two counts differ by at
 * most one overall.
 */
import { holeCount, largestRemainder, type MapfConfig, sizesOf } from "./config.js";

/** What is asked of a board's interaction. */
export type Want = "wait" | "no-wait" | "conflict" | "no-conflict";

export interface Slot {
  /** Position in the set's plan; names the slot's random stream. */
  index: number;
  size: number;
  agents: number;
  /** Bounds of the hole count, inclusive; drawn evenly between them for every candidate. */
  holes: [low: number, high: number];
  want: Want;
  /** Nodes a candidate may cost the solver before it is dropped; default NODE_BUDGET of fill-slot.ts. */
  budget?: number;
  /** Canonical hashes of candidates that are passed over and counted like those that exhaust the budget; default none. */
  dropped?: readonly string[];
}

/** The slots of a set by their index, made when they are asked for; an array of slots is one. */
export type SlotPlan = Pick<readonly Slot[], "length" | "at"> & {
  /** Of any slot; where it is not given, every slot is looked at. */
  readonly mostAgents?: number;
};

/** Slots of a training set. `config` is normalised. */
export function trainingSlots(config: MapfConfig, count: number): SlotPlan {
  const sizes = sizesOf(config);
  const perSize = largestRemainder(
    count,
    sizes.map((size) => config.sizes[size]!.data_ratio),
  );
  const counts = [...config.agents].sort((a, b) => a - b);
  let end = 0;
  const parts = sizes.map((name, s) => {
    const size = Number(name);
    const knobs = config.sizes[name]!;
    const holes = holeCount(size, knobs.hole_ratio);
    const first = end;
    end += perSize[s]!;
    return { size, holes, first, end, waits: waitQuota(perSize[s]!, knobs.wait_ratio) };
  });
  return {
    length: count,
    mostAgents: counts.at(-1)!,
    at(index) {
      const part = parts.find((p) => index < p.end);
      if (index < 0 || part === undefined) return undefined;
      const { size, holes, first, waits } = part;
      return {
        index,
        size,
        agents: counts[index % counts.length]!,
        holes: [holes, holes],
        want: index - first < waits ? "wait" : "no-wait",
      };
    },
  };
}

/** Wait-required instances among `count`; a tie goes to the boards without a wait. */
export function waitQuota(count: number, waitRatio: number): number {
  return largestRemainder(count, [1 - waitRatio, waitRatio])[1]!;
}

/** Hole ratios of evaluation sets: spread evenly over this range within every cell. */
export const BALANCED_HOLES: readonly [number, number] = [0.05, 0.35];

/**
 * Slots of an evaluation set: sizes × agent counts × conflict in equal parts (they differ by at most one), hole ratios spread evenly over
 * BALANCED_HOLES within each cell. One agent has no one to conflict with.
 */
export function balancedSlots(config: MapfConfig, count: number): Slot[] {
  const cells: { size: number; agents: number; want: Want }[] = [];
  for (const want of ["no-conflict", "conflict"] as const) {
    for (const agents of [...config.agents].sort((a, b) => a - b)) {
      for (const name of sizesOf(config)) cells.push({ size: Number(name), agents, want: agents === 1 ? "no-conflict" : want });
    }
  }
  const slots: Slot[] = [];
  cells.forEach((cell, c) => {
    const share = Math.floor(count / cells.length) + (c < count % cells.length ? 1 : 0);
    const [low, high] = BALANCED_HOLES;
    for (let i = 0; i < share; i++) {
      const holes = holeCount(cell.size, low + ((high - low) * (i + 0.5)) / share);
      slots.push({ index: slots.length, ...cell, holes: [holes, holes] });
    }
  });
  return slots;
}
