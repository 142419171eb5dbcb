/**
 * A context variant as data: a name and the modules that an engineer's context shows, as a recipe or a file of its own gives it. What the
 * modules say, and the built-in variants, are the engineers' business.
 */
import { z } from "zod";

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

export const variantSchema = z.strictObject({ name: z.string().regex(/^[\w][\w.-]*$/, "letters, digits, dots, dashes"), modules });
export type Variant = z.infer<typeof variantSchema>;
