/** A made-up run for tests and previews of reports: shapes of a real one, numbers from a seed. Nothing here is a result. */
import { type CellReport, rateOf, recipeSchema, SCHEMA_VERSION, Seed, type ValidationReport } from "../src/core/index.js";
import type { RunHistory, StageHistory } from "../src/evaluation/index.js";

const SIZES = ["3", "4", "5", "6", "7"];

/** `valid[i]` is the valid rate of checkpoint i (0: base). */
export function sampleHistory(options: { valid: readonly number[]; boards?: number; name?: string; seed?: number }): RunHistory {
  const { valid, boards = 1000, name = "sample", seed = 1 } = options;
  const stages = valid.slice(1).map((rate, index): StageHistory => sampleStage(index, rate, boards, index + 2 < valid.length));
  return {
    dir: `runs/${name}`,
    recipe: recipeSchema.parse({ name, stages: Math.max(1, valid.length - 1), instances: 1600, config: {}, base: "base" }),
    seed,
    versions: { envwright: "0.0.0" },
    base: valid[0] === undefined ? undefined : sampleValidation(0, valid[0], boards),
    stages,
    heldOut: undefined,
  };
}

function sampleStage(index: number, rate: number, boards: number, proposes: boolean): StageHistory {
  const random = Seed.root("sample").child("config").at(index);
  const strata = Object.fromEntries(
    SIZES.map((size) => {
      const requested = { data_ratio: 0.1 + random.float() / 5, hole_ratio: random.float() / 2, wait_ratio: random.float() };
      return [
        size,
        { count: Math.round(1600 * requested.data_ratio), requested, realised: { ...requested, hole_ratio: Number(size) / 50 } },
      ];
    }),
  );
  const provenance = { source: index === 0 ? ("initial" as const) : ("proposal" as const) };
  return {
    index,
    config: {
      schema_version: SCHEMA_VERSION,
      stage: index,
      requested: {},
      normalised: { sizes: strata },
      repairs: [],
      provenance,
      from_checkpoint: index,
    },
    dataset: { schema_version: SCHEMA_VERSION, family: "f", count: 1600, seed: "s", sha256: "0", strata, sampling: {}, excluded_hashes: 0 },
    training: { steps: 32, rollouts: 12_288, completion_tokens: 250_000, strata: {} },
    validation: sampleValidation(index + 1, rate, boards),
    diagnosed: true,
    proposal: !proposes
      ? undefined
      : {
          schema_version: SCHEMA_VERSION,
          stage: index,
          engineer: "self",
          variant: "V6",
          rendering: "compact",
          attempts: [{ raw: "…", tokens: 40 }],
          rationale: "",
          outcome: index === 2 ? "repaired" : "accepted",
          reasons: index === 2 ? ["data ratios normalised"] : [],
          repairs: [],
          guardrails: [],
          config: {},
          provenance,
        },
  };
}

/** Board b is valid where its difficulty is below the rate, so that checkpoints are correlated, as real ones are. */
export function sampleValidation(stage: number, rate: number, boards: number): ValidationReport {
  const seed = Seed.root("sample").child("board");
  const noise = Seed.root("sample").child("noise", stage);
  const outcomes = Array.from({ length: boards }, (_, b) => {
    const hard = seed.at(b).float() + 0.1 * (noise.at(b).float() - 0.5) + 0.06 * ((b % 5) - 2);
    return hard < rate ? (hard < 0.9 * rate ? 3 : 1) : 0;
  });
  const cell = (own: readonly number[]): CellReport => {
    const valid = own.filter((o) => o & 1).length;
    const wrong = own.length - valid;
    const hole = Math.floor(wrong / 3);
    return {
      n: own.length,
      valid: rateOf(valid, own.length),
      optimal: rateOf(own.filter((o) => o & 2).length, own.length),
      codes: { valid, hole, "swap-conflict": wrong - hole },
      tokens: 21.5,
      gap: 0.03,
    };
  };
  return {
    schema_version: SCHEMA_VERSION,
    stage,
    objective: "makespan",
    set_sha256: "0".repeat(64),
    total: cell(outcomes),
    by_stratum: Object.fromEntries(SIZES.map((size, s) => [size, cell(outcomes.filter((_, b) => b % SIZES.length === s))])),
    by_tag: {},
    outcomes,
    failed: 0,
  };
}
