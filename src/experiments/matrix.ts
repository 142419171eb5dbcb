/**
 * A matrix of runs, arms × seeds, as data: one recipe, arms that change some of its values, seeds. A cell is one run in its own folder
 * and its own process; finished cells are kept, a failed one does not lose the others. A cell may replay what the engineer of another one
 * proposed; it starts when that one is finished.
 */
import { z } from "zod";
import { ConfigError, nearest, parseWith } from "../core/index.js";

/** The only value of a recipe that can be the run of another cell. */
const REPLAYED = "engineer.from";

const name = z.string().regex(/^[a-z0-9][a-z0-9._-]*$/i);
/** A list is kept as the text that `--set` takes. */
const valueSchema = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.union([z.string(), z.number(), z.boolean()])).transform((list) => JSON.stringify(list)),
]);
/** The run of another cell; of the same seed unless one is given. */
const cellReferenceSchema = z.strictObject({ arm: z.string(), seed: z.int().nonnegative().optional() });

export const matrixSchema = z.strictObject({
  name,
  description: z.string().default(""),
  /** Recipe name, or a path relative to the matrix file. */
  recipe: z.string(),
  seeds: z
    .array(z.int().nonnegative())
    .min(1)
    .refine((seeds) => new Set(seeds).size === seeds.length, "must differ: one seed twice is one run, and no spread"),
  /** Arm → `--set` overrides of the recipe, e.g. { "engineer.name": "rule" }. */
  arms: z.record(name, z.object({ [REPLAYED]: z.union([valueSchema, cellReferenceSchema]).optional() }).catchall(valueSchema)),
  /** Overrides shared by all arms. */
  set: z.record(z.string(), valueSchema).default({}),
  /** The arm every other one is compared with, paired by seed and board. */
  reference: z.string(),
});
export type Matrix = z.infer<typeof matrixSchema>;

export interface Cell {
  arm: string;
  seed: number;
  /** Folder name inside the experiment's folder. */
  folder: string;
  overrides: Record<string, z.infer<typeof valueSchema>>;
  /** Folder name of the cell whose proposals this one replays (`engineer.from`); it has to be finished first. */
  replays?: string;
}

export function parseMatrix(value: unknown, what: string): Matrix {
  const matrix = parseWith(
    matrixSchema.refine((m) => Object.hasOwn(m.arms, m.reference), { message: "must be one of the arms", path: ["reference"] }),
    value,
    what,
  );
  refuseOwnSeeds(matrix, what);
  refuseUnknownCells(matrix, what);
  return matrix;
}

/** Seed by seed, so that a stopped experiment has every arm for the seeds that are done. */
export function cells(matrix: Pick<Matrix, "seeds" | "arms" | "set">): Cell[] {
  return matrix.seeds.flatMap((seed) =>
    Object.entries(matrix.arms).map(([arm, own]): Cell => {
      const { [REPLAYED]: from, ...rest } = own;
      const cell = { arm, seed, folder: folderOf(arm, seed), overrides: { ...matrix.set, ...rest } };
      if (typeof from === "object") return { ...cell, replays: folderOf(from.arm, from.seed ?? seed) };
      return from === undefined ? cell : { ...cell, overrides: { ...cell.overrides, [REPLAYED]: from } };
    }),
  );
}

function folderOf(arm: string, seed: number): string {
  return `${arm}-seed${seed}`;
}

/** @throws {ConfigError} for a seed among the overrides: a cell's seed is that of the matrix. */
function refuseOwnSeeds(matrix: Matrix, what: string): void {
  const places = Object.entries({ set: matrix.set, ...matrix.arms }).filter(([, overrides]) => Object.hasOwn(overrides, "seed"));
  const place = places[0]?.[0];
  if (place === undefined) return;
  throw new ConfigError({
    message: `${what}: ${place === "set" ? place : `arms.${place}`} gives a seed, which no cell would take`,
    value: "seed",
    expected: "the training seeds as the matrix's seeds",
    remedy: "name it in seeds, where every arm is run with it",
  });
}

/** @throws {ConfigError} for a reference to a cell that the matrix does not have, or to one that waits for the cell itself. */
function refuseUnknownCells(matrix: Matrix, what: string): void {
  const all = new Map(cells(matrix).map((cell) => [cell.folder, cell]));
  const refuse = (cell: Cell, problem: string, expected: string, remedy: string) =>
    new ConfigError({ message: `${what}: arms.${cell.arm}.${REPLAYED}: ${problem}`, value: cell.replays, expected, remedy });
  for (const cell of all.values()) {
    const { replays } = cell;
    if (replays === undefined) continue;
    if (!all.has(replays)) {
      const close = nearest(replays, [...all.keys()]);
      const remedy = close === undefined ? "name an arm of the matrix, and one of its seeds" : `did you mean ${close}?`;
      throw refuse(cell, `there is no cell ${replays}`, [...all.keys()].join(", "), remedy);
    }
    const passed = new Set([cell.folder]);
    for (let next: string | undefined = replays; next !== undefined; next = all.get(next)?.replays) {
      if (passed.has(next)) throw refuse(cell, `${[...passed, next].join(" waits for ")}`, "cells that do not wait for themselves", "name another arm, or another seed"); // biome-ignore format: one call
      passed.add(next);
    }
  }
}
