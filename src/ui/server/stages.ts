/** One stage: what the engineer was shown, what it answered, and every knob that changed with the failures that speak to it. */
import { join } from "node:path";
import { type KnobTable, type Proposal, type Recipe, stageConfigSchema, type ValidationReport } from "../../core/index.js";
import { ENGINEERS, VARIANTS } from "../../engineers/index.js";
import { type AnyFamily, familyByName } from "../../environments/index.js";
import type { AskChoices, KnobChange, StageDetail } from "../records.js";
import { sizeOf } from "./event-tail.js";
import { humanTurn } from "./human.js";
import { familyFacts, type RunShelf } from "./runs.js";

export async function stageDetail(shelf: RunShelf, id: string, index: number): Promise<StageDetail | undefined> {
  // The offset is taken first: what is appended while the records are read comes by the stream, twice rather than never.
  const offset = await sizeOf(join(shelf.root.folder("run", id), "events.jsonl"));
  const { folder, history } = await shelf.open(id);
  const stage = history.stages.find((s) => s.index === index);
  if (stage === undefined) return undefined;
  const family = familyByName(folder.record.recipe.family);
  const { proposal, validation, training } = stage;
  const current = family.knobTable(stage.config.normalised);
  return {
    run: id,
    index,
    family: familyFacts(family),
    config: stageConfigSchema.parse(stage.config),
    knobs: current,
    taken: proposal === undefined ? null : family.knobTable(proposal.config),
    validation: validation?.by_stratum ?? null,
    training: training ?? null,
    context: (await folder.has(index, "context.md")) ? await folder.readText(index, "context.md") : null,
    proposal: proposal ?? null,
    changes: proposal === undefined ? [] : knobChanges(family, current, proposal, validation, training),
    human: humanTurn(folder, index, current),
    ask: choices(folder.record.recipe.engineer),
    rendering: folder.record.recipe.rendering,
    stages: history.stages.map((s) => s.index),
    offset,
  };
}

function choices({ name, variant, variants, policy }: Recipe["engineer"]): AskChoices {
  return {
    engineers: ENGINEERS.filter((engineer) => engineer !== "human" && engineer !== "replay"),
    variants: [...VARIANTS, ...variants].map((v) => v.name),
    own: { engineer: name, variant, model: policy ?? null },
  };
}

/** Every knob that the next config sets otherwise, in the order of strata and knobs. */
function knobChanges(
  family: AnyFamily,
  current: KnobTable,
  proposal: Proposal,
  validation: ValidationReport | undefined,
  training: StageDetail["training"] | undefined,
): KnobChange[] {
  const next = family.knobTable(proposal.config);
  return Object.keys(next).flatMap((stratum) =>
    family.knobs.flatMap(({ name, answers }): KnobChange[] => {
      const [from, to] = [current[stratum]?.[name] ?? 0, next[stratum]?.[name] ?? 0];
      const marks = marksOf(proposal, stratum, name);
      if (Math.abs(from - to) < 1e-9 && marks.length === 0) return [];
      const cell = validation?.by_stratum[stratum];
      const evidence = answers
        .map((code) => ({ code, count: cell?.codes[code] ?? 0, n: cell?.n ?? 0 }))
        .filter((e) => e.count > 0)
        .sort((a, b) => b.count - a.count);
      const valid = cell?.valid.rate ?? null;
      return [{ stratum, knob: name, from, to, marks, evidence, valid, valid_in_training: training?.strata[stratum]?.valid ?? null }];
    }),
  );
}

/** What repairs did to a knob: they name its path. Guardrails speak of the whole config and are listed apart. */
function marksOf(proposal: Proposal, stratum: string, knob: string): string[] {
  const parts = (path: string): string[] => path.split(/[.[\]"/ ]+/).filter(Boolean);
  const repairs = proposal.repairs.filter(({ path }) => {
    const names = parts(path);
    return names.includes(knob) && (names.includes(stratum) || !names.some((n) => /^\d+$/.test(n)));
  });
  return repairs.map(({ reason, from, to }) => `${reason} (${JSON.stringify(from)} → ${JSON.stringify(to)})`);
}
