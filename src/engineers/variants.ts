/**
 * Variants: which modules an engineer's context shows, as data. V1–V6 are built in; a user adds one as a name and a list of modules.
 * A variant chooses what is shown and nothing else: engineers that compute from the record always have all of it.
 *
 * Source: arXiv 2606.17682. Stated there: S of V5, and V6 (failures, guideline and history without the first config, no summary). The
 * other cells are this project's reading.
 */
import { ConfigError, type ContextModule, type ModuleLetter, nearest, parseWith, type Variant, variantSchema } from "../core/index.js";

export type { ContextModule, ModuleLetter, Variant };

export const VARIANTS: readonly Variant[] = [
  { name: "V1", modules: ["F"] },
  { name: "V2", modules: ["F", "G"] },
  { name: "V3", modules: ["F", "G", { module: "H", initial: "include" }] },
  { name: "V4", modules: ["F", "G", { module: "H", initial: "include" }, { module: "T", detail: "full" }] },
  { name: "V5", modules: ["F", "G", { module: "H", initial: "include" }, "S"] },
  { name: "V6", modules: ["F", "G", { module: "H", initial: "exclude" }, { module: "T", detail: "bookkeeping" }] },
].map((variant) => variantSchema.parse(variant));

/**
 * A variant by name: one of `own` (already parsed), else a built-in one.
 * @throws {ConfigError} no such variant, or one of `own` under the name of another: a report could not tell which was meant.
 */
export function variantNamed(name: string, own: readonly Variant[] = []): Variant {
  const all = [...VARIANTS, ...own];
  const twice = own.find((variant) => all.filter((v) => v.name === variant.name).length > 1);
  if (twice !== undefined) {
    throw new ConfigError({
      message: `there are two context variants "${twice.name}"`,
      value: twice.name,
      expected: `another name than ${VARIANTS.map((v) => v.name).join(", ")}, and each name once`,
      remedy: "rename it in engineer.variants",
    });
  }
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
export function parseVariant(value: unknown, what = "context variant"): Variant {
  return parseWith(variantSchema, value, what);
}

export function moduleOf<L extends ModuleLetter>(variant: Variant, letter: L): Extract<ContextModule, { module: L }> | undefined {
  return variant.modules.find((m): m is Extract<ContextModule, { module: L }> => m.module === letter);
}
