/**
 * A matrix of runs, arms × seeds, as data: one recipe, arms that change some of its values, seeds. A cell is one run in its own folder
 * and its own process; finished cells are kept, a failed one does not lose the others.
 */
import { z } from "zod";
import { parseWith } from "../core/index.js";

export const matrixSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]*$/i),
  description: z.string().default(""),
  /** Recipe name, or a path relative to the matrix file. */
  recipe: z.string(),
  seeds: z.array(z.int().nonnegative()).min(1),
  /** Arm → `--set` overrides of the recipe, e.g. { "engineer.name": "rule" }. */
  arms: z.record(z.string().regex(/^[a-z0-9][a-z0-9._-]*$/i), z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))),
  /** Overrides shared by all arms. */
  set: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  /** The arm every other one is compared with, paired by seed and board. */
  reference: z.string(),
});
export type Matrix = z.infer<typeof matrixSchema>;

export interface Cell {
  arm: string;
  seed: number;
  /** Folder name inside the experiment's folder. */
  folder: string;
  overrides: Record<string, string | number | boolean>;
}

export function parseMatrix(value: unknown, what: string): Matrix {
  return parseWith(
    matrixSchema.refine((m) => m.reference in m.arms, { message: "must be one of the arms", path: ["reference"] }),
    value,
    what,
  );
}

/** Seed by seed, so that a stopped experiment has every arm for the seeds that are done. */
export function cells(matrix: Matrix): Cell[] {
  return matrix.seeds.flatMap((seed) =>
    Object.entries(matrix.arms).map(([arm, overrides]) => ({
      arm,
      seed,
      folder: `${arm}-seed${seed}`,
      overrides: { ...matrix.set, ...overrides },
    })),
  );
}
