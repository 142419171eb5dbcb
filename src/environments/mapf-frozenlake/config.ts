/**
 * Config C of MAPF-FrozenLake (paper: map-size distribution, hole density, conflict density, data ratio): what the engineer edits. The
 * schema refuses what has no meaning (unknown keys, NaN, negative values, no data at all); `normalise` repairs what has one meaning.
 */
import { z } from "zod";
import { ConfigError, type KnobSpec, type KnobTable, nearest, type Random, type Repair } from "../../core/index.js";
import { MAX_AGENTS, MAX_SIZE, MIN_SIZE } from "./instance.js";
import { OBJECTIVES, type Objective } from "./rules.js";

export interface SizeKnobs {
  /** Share of the stage's instances at this size. */
  data_ratio: number;
  /** Holes / n²; every board of the size has exactly round(hole_ratio · n²) holes. */
  hole_ratio: number;
  /** Share of the size's instances in which waiting is necessary. */
  wait_ratio: number;
}

export interface MapfConfig {
  /** Agent counts, drawn evenly. */
  agents: number[];
  objective: Objective;
  /** Map size ("2" to "10") → knobs. */
  sizes: Record<string, SizeKnobs>;
}

export const KNOBS: readonly KnobSpec[] = [
  {
    name: "data_ratio",
    kind: "share",
    min: 0,
    max: 1,
    description: "More training boards of this map size.",
    answers: [],
  },
  {
    name: "hole_ratio",
    kind: "ratio",
    min: 0,
    max: 0.5,
    description: "More holes on the boards of this size: longer detours, narrower passages, more cells to avoid.",
    answers: ["hole"],
  },
  {
    name: "wait_ratio",
    kind: "ratio",
    min: 0,
    max: 1,
    description: "More boards of this size on which an agent has to wait for another in every optimal plan.",
    answers: ["vertex-conflict", "swap-conflict"],
  },
];

const ratio = z.number().nonnegative();
const sizeSchema = z.strictObject({ data_ratio: ratio, hole_ratio: ratio, wait_ratio: ratio });
/** Every map size a config can name. */
export const SIZE_KEYS: readonly string[] = Array.from({ length: MAX_SIZE - MIN_SIZE + 1 }, (_, i) => String(MIN_SIZE + i));

export const configSchema: z.ZodType<MapfConfig> = z.strictObject({
  agents: z
    .array(z.int().min(1).max(MAX_AGENTS))
    .min(1)
    .refine((counts) => new Set(counts).size === counts.length, "an agent count is given twice"),
  objective: z.enum(OBJECTIVES).default("makespan"),
  sizes: z
    .strictObject(Object.fromEntries(SIZE_KEYS.map((key) => [key, sizeSchema.optional()])))
    .transform((sizes) => Object.fromEntries(Object.entries(sizes).filter(([, knobs]) => knobs !== undefined)) as Record<string, SizeKnobs>)
    .refine(
      (sizes) => Object.values(sizes).some((knobs) => knobs.data_ratio > 0),
      "every data_ratio is zero: there is nothing to generate",
    ),
});

/** Sizes of the config in ascending order. */
export function sizesOf(config: MapfConfig): string[] {
  return Object.keys(config.sizes).sort((a, b) => Number(a) - Number(b));
}

/** Holes on every board of a size. */
export function holeCount(size: number, holeRatio: number): number {
  return Math.round(holeRatio * size * size);
}

export function knobTable(config: MapfConfig): KnobTable {
  return Object.fromEntries(Object.entries(copySizes(config)).map(([size, knobs]) => [size, { ...knobs }]));
}

function copySizes(config: MapfConfig): Record<string, SizeKnobs> {
  return Object.fromEntries(sizesOf(config).map((size) => [size, { ...config.sizes[size]! }]));
}

/** The config with the knobs of `table`; does not normalise. @throws {ConfigError} for a size or knob that the config does not have */
export function withKnobs(config: MapfConfig, table: KnobTable): MapfConfig {
  const sizes = copySizes(config);
  const names = KNOBS.map((knob) => knob.name);
  for (const [size, knobs] of Object.entries(table)) {
    const target = sizes[size];
    if (target === undefined) throw unknownName("map size", size, Object.keys(sizes));
    for (const [name, value] of Object.entries(knobs)) {
      if (!names.includes(name)) throw unknownName("knob", name, names);
      target[name as keyof SizeKnobs] = value;
    }
  }
  return { ...config, sizes };
}

function unknownName(what: string, given: string, known: string[]): ConfigError {
  const close = nearest(given, known);
  return new ConfigError({
    message: `unknown ${what} "${given}"${close === undefined ? "" : `, did you mean "${close}"?`}`,
    value: given,
    expected: `one of ${known.join(", ")}`,
    remedy: `leave out the ${what}; what is left out keeps its value`,
  });
}

/** Clamps ratios to their bounds and scales the data ratios to sum 1; says what it did. */
export function normalise(config: MapfConfig): { config: MapfConfig; repairs: Repair[] } {
  const repairs: Repair[] = [];
  const table = copySizes(config);
  for (const [size, knobs] of Object.entries(table)) {
    for (const { name, kind, min, max } of KNOBS) {
      if (kind !== "ratio") continue;
      const key = name as keyof SizeKnobs;
      const clamped = Math.min(max, Math.max(min, knobs[key]));
      if (clamped === knobs[key]) continue;
      repairs.push({ path: `sizes.${size}.${key}`, from: knobs[key], to: clamped, reason: `clamped to [${min}, ${max}]` });
      knobs[key] = clamped;
    }
  }
  const sum = Object.values(table).reduce((total, knobs) => total + knobs.data_ratio, 0);
  if (Math.abs(sum - 1) > 1e-9) {
    for (const [size, knobs] of Object.entries(table)) {
      const share = knobs.data_ratio / sum;
      if (share === knobs.data_ratio) continue;
      repairs.push({
        path: `sizes.${size}.data_ratio`,
        from: knobs.data_ratio,
        to: share,
        reason: `scaled so that the shares sum to 1 (sum ${sum})`,
      });
      knobs.data_ratio = share;
    }
  }
  return { config: { ...config, sizes: table }, repairs };
}

/**
 * A fresh random config over the sizes of `like` (paper: starting point and fixed baseline): data ratios from a flat Dirichlet, each
 * size's hole ratio uniform in [0.05, 0.35] and wait ratio uniform in [0, 0.8], all to three decimals. `feasible` moves a size's knobs
 * to values that can be generated.
 */
export function randomConfig(
  like: MapfConfig,
  random: Random,
  feasible: (size: number, agents: number[], knobs: SizeKnobs) => SizeKnobs,
): MapfConfig {
  const names = sizesOf(like);
  // Normalised unit exponentials are uniform on the simplex.
  const weights = names.map(() => -Math.log(1 - random.float()));
  const shares = toThousandths(weights);
  const sizes = Object.fromEntries(
    names.map((name, i) => {
      const hole_ratio = Math.round((0.05 + 0.3 * random.float()) * 1000) / 1000;
      const wait_ratio = Math.round(0.8 * random.float() * 1000) / 1000;
      return [name, feasible(Number(name), like.agents, { data_ratio: shares[i]!, hole_ratio, wait_ratio })];
    }),
  );
  return { ...like, sizes };
}

function toThousandths(weights: number[]): number[] {
  return largestRemainder(1000, weights).map((count) => count / 1000);
}

/** Splits `total` into whole parts in proportion to `weights` (Hamilton's method); ties go to the earlier part. Weights sum above 0. */
export function largestRemainder(total: number, weights: readonly number[]): number[] {
  const sum = weights.reduce((a, b) => a + b, 0);
  const exact = weights.map((weight) => (total * weight) / sum);
  // A part that is whole but for rounding error stays whole.
  const parts = exact.map((x) => Math.floor(x + 1e-9));
  const order = exact.map((x, i) => ({ i, remainder: x - parts[i]! })).sort((a, b) => b.remainder - a.remainder || a.i - b.i);
  let left = total - parts.reduce((a, b) => a + b, 0);
  for (let j = 0; left > 0; j = (j + 1) % order.length, left--) {
    const { i } = order[j]!;
    parts[i] = parts[i]! + 1;
  }
  return parts;
}
