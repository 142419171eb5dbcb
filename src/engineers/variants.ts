/**
 * Variants: which modules an engineer's context shows, as data. V1–V6 are built in; a user adds one as a name and a list of modules.
 * A variant chooses what is shown and nothing else: engineers that compute from the record always have all of it.
 *
 * Source: arXiv 2606.17682. Stated there: S of V5, and V6 (failures, guideline and history without the first config, no summary). The
 * other cells are this project's reading.
 */
import { z } from "zod";
import { ConfigError, nearest, parseWith } from "../core/index.js";

const failuresModule = z.strictObject({
  module: z.literal("F"),
  /** Failed instances quoted at most; absent: as many as the failure summary holds. */
  examples: z.int().nonnegative().optional(),
});
const guidelineModule = z.strictObject({ module: z.literal("G") });
const historyModule = z.strictObject({
  module: z.literal("H"),
  /** Whether the first config and its failures are shown among the earlier stages. */
  initial: z.enum(["include", "exclude"]).default("exclude"),
});
const summaryModule = z.strictObject({ module: z.literal("S") });
const trainingModule = z.strictObject({
  module: z.literal("T"),
  /** `bookkeeping`: stage, steps, epochs, budget left. `full`: objective, reward design and its weights as well. */
  detail: z.enum(["bookkeeping", "full"]).default("bookkeeping"),
});
const moduleSchema = z.discriminatedUnion("module", [failuresModule, guidelineModule, historyModule, summaryModule, trainingModule]);
export type ContextModule = z.infer<typeof moduleSchema>;
export type ModuleLetter = ContextModule["module"];

/** In files a module without options may be its letter alone. */
const modules = z
  .array(z.preprocess((given) => (typeof given === "string" ? { module: given } : given), moduleSchema))
  .refine((list) => list.some((m) => m.module === "F"), { message: "a variant shows at least the failures (F)" })
  .refine((list) => new Set(list.map((m) => m.module)).size === list.length, { message: "a module stands in a variant once" });

export const variantSchema = z.strictObject({ name: z.string().min(1), modules });
export type Variant = z.infer<typeof variantSchema>;

export const VARIANTS: readonly Variant[] = [
  { name: "V1", modules: ["F"] },
  { name: "V2", modules: ["F", "G"] },
  { name: "V3", modules: ["F", "G", { module: "H", initial: "include" }] },
  { name: "V4", modules: ["F", "G", { module: "H", initial: "include" }, { module: "T", detail: "full" }] },
  { name: "V5", modules: ["F", "G", { module: "H", initial: "include" }, "S"] },
  { name: "V6", modules: ["F", "G", { module: "H", initial: "exclude" }, { module: "T", detail: "bookkeeping" }] },
].map((variant) => variantSchema.parse(variant));

/** A variant by name: one of `own` (already parsed), else a built-in one. @throws {ConfigError} no such variant. */
export function variantNamed(name: string, own: readonly Variant[] = []): Variant {
  const all = [...own, ...VARIANTS];
  const found = all.find((variant) => variant.name === name);
  if (found !== undefined) return found;
  const names = all.map((variant) => variant.name);
  const close = nearest(name, names);
  throw new ConfigError({
    message: `there is no context variant "${name}"`,
    value: name,
    expected: names.join(", "),
    remedy: close === undefined ? "name one of these, or define it" : `did you mean "${close}"?`,
  });
}

/** A user's variant from a file. @throws {ConfigError} naming what is wrong. */
export function parseVariant(value: unknown): Variant {
  return parseWith(variantSchema, value, "context variant");
}

export function moduleOf<L extends ModuleLetter>(variant: Variant, letter: L): Extract<ContextModule, { module: L }> | undefined {
  return variant.modules.find((m): m is Extract<ContextModule, { module: L }> => m.module === letter);
}
