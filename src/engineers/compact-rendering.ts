/**
 * EngineerContext → the compact prompt. History is thinned from the oldest to a budget of words, failures never are: every word costs the
 * miniature time, and the newest stage says most.
 */
import type { EnvironmentFamily } from "../core/index.js";
import { levelOf } from "./compact-language.js";
import { type CompactView, currentView, earlierView, viewWords } from "./compact-view.js";
import { type EngineerContext, stageFacts } from "./context.js";
import { moduleOf, type Variant } from "./variants.js";

export interface CompactOptions {
  /** Earlier stages shown at most. */
  earlierStages?: number;
  /** Words of the prompt; earlier stages are left out until it fits. */
  words?: number;
}

export const COMPACT_DEFAULTS: Required<CompactOptions> = { earlierStages: 1, words: 240 };

export function renderCompact(context: EngineerContext, variant: Variant, family: EnvironmentFamily, options: CompactOptions = {}): string {
  return viewWords(compactView(context, variant, family, options), family).join("");
}

/** What the compact prompt of this context shows; the engineers `rule` and `graded` read nothing else. */
export function compactView(
  context: EngineerContext,
  variant: Variant,
  family: EnvironmentFamily,
  options: CompactOptions = {},
): CompactView {
  const { earlierStages, words } = { ...COMPACT_DEFAULTS, ...options };
  const history = shownHistory(context, variant);
  const training = moduleOf(variant, "T");
  const view: CompactView = {
    guideline: moduleOf(variant, "G") !== undefined,
    training:
      training === undefined
        ? null
        : {
            progress: levelOf((context.stage + 1) / context.stages),
            full:
              training.detail === "full"
                ? { objective: context.failures.objective, weight: levelOf(context.training.accuracy_weight) }
                : null,
          },
    history: history.slice(Math.max(0, history.length - earlierStages)).map((stage) => earlierView(stageFacts(family, stage), family)),
    current: currentView(stageFacts(family, context), context.max_tokens, family),
  };
  while (view.history.length > 0 && viewWords(view, family).length > words) view.history.shift();
  return view;
}

/** The earlier stages that a variant shows, oldest first. */
export function shownHistory(context: EngineerContext, variant: Variant): EngineerContext["history"] {
  const module = moduleOf(variant, "H");
  if (module === undefined) return [];
  return context.history.filter((stage) => module.initial === "include" || !stage.initial);
}
