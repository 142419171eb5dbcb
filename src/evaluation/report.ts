/**
 * The report of a run, stage by stage: the stable form of `envwright report --json`. Every rate carries its binomial standard error and a
 * 95 % Wilson interval; every gain is paired over the boards of the validation set and says how many. Draws no conclusion beyond that: the
 * intervals are over boards, and one run says nothing of the spread over training seeds.
 */
import {
  type CellReport,
  mean,
  type PairedDifference,
  type Proposal,
  type Provenance,
  pairedOutcomes,
  type Rate,
  type ValidationReport,
  wilson,
} from "../core/index.js";
import type { RunHistory, StageHistory } from "./history.js";

export interface ReportedRate extends Rate {
  /** Wilson, 95 %. */
  interval: [number, number];
}

export interface ReportedCell {
  n: number;
  valid: ReportedRate;
  optimal: ReportedRate;
}

export interface ReportedValidation extends ReportedCell {
  by_size: Record<string, ReportedCell>;
  /** By the family's other facets, e.g. "agents=3". */
  by_tag: Record<string, ReportedCell>;
  /** Count of every primary code, "valid" included. */
  codes: Record<string, number>;
  /** Mean completion length in tokens. */
  tokens: number;
  /** Mean relative cost gap of valid answers. */
  gap: number;
  /** Outside failures, left out of every rate. */
  failed: number;
}

/** Later minus earlier, in rates, paired over boards. */
export interface ReportedGain {
  valid: PairedDifference;
  optimal: PairedDifference;
}

export interface ReportedStage {
  index: number;
  /** The family's config, normalised. */
  config: unknown;
  provenance: Provenance;
  /** Requested and realised knobs per stratum, with the number of instances. */
  data: Record<string, { count: number; requested: Record<string, number>; realised: Record<string, number> }>;
  /** Absent while the stage is not finished. */
  validation?: ReportedValidation;
  /** Against the base checkpoint. */
  gain?: ReportedGain;
  /** Completion tokens sampled in training: in this stage, and up to its end. */
  tokens?: { stage: number; total: number };
  /** Absent after the last stage. */
  proposal?: Pick<Proposal, "engineer" | "variant" | "outcome" | "reasons"> & { attempts: number; repairs: number; guardrails: string[] };
}

export interface RunReport {
  run: {
    name: string;
    dir: string;
    description: string;
    family: string;
    /** What the family calls its strata, e.g. size. */
    stratum: string;
    seed: number;
    engineer: string;
    variant: string;
    objective: string;
    stages: { planned: number; finished: number };
    /** SHA-256 of the validation set. */
    validation_set: string;
    versions: Record<string, string>;
  };
  /** Validation of the base checkpoint. */
  base?: ReportedValidation;
  stages: ReportedStage[];
  /** Last checkpoint against the base. */
  gain?: ReportedGain;
  /** Base and last checkpoint on boards that no engineer was told about. */
  held_out?: { base: ReportedValidation; last: ReportedValidation; gain: ReportedGain };
  /** The checkpoint with the best valid rate: 0 is the base, i + 1 that of stage i. */
  best?: { checkpoint: number; valid: number };
  /** Mean valid rate over the stages' checkpoints: the area under the validation curve. */
  mean_valid?: number;
  /** Valid rate gained per million completion tokens sampled in training. */
  gain_per_million_tokens?: number;
}

/** @param stratum what the run's family calls its strata */
export function buildReport(history: RunHistory, stratum: string): RunReport {
  const { recipe, base, heldOut } = history;
  let tokens = 0;
  const stages = history.stages.map((stage) => {
    tokens += stage.training?.completion_tokens ?? 0;
    return reportStage(stage, base, tokens);
  });
  const reports = history.stages.flatMap((s) => (s.validation === undefined ? [] : [{ checkpoint: s.index + 1, report: s.validation }]));
  const last = reports.at(-1)?.report;
  const gain = base !== undefined && last !== undefined ? gainOf(base, last) : undefined;
  const trained = history.stages.reduce((sum, s) => sum + (s.validation === undefined ? 0 : (s.training?.completion_tokens ?? 0)), 0);
  const checkpoints = [...(base === undefined ? [] : [{ checkpoint: 0, report: base }]), ...reports];
  const best = checkpoints.reduce<(typeof checkpoints)[number] | undefined>(
    (a, b) => (a === undefined || b.report.total.valid.rate > a.report.total.valid.rate ? b : a),
    undefined,
  );
  return {
    run: {
      name: recipe.name,
      dir: history.dir,
      description: recipe.description,
      family: recipe.family,
      stratum,
      seed: history.seed,
      engineer: recipe.engineer.name,
      variant: recipe.engineer.variant,
      objective: (last ?? base)?.objective ?? "",
      stages: { planned: recipe.stages, finished: reports.length },
      validation_set: (base ?? last)?.set_sha256 ?? "",
      versions: history.versions,
    },
    ...(base === undefined ? {} : { base: reportValidation(base) }),
    stages,
    ...(gain === undefined ? {} : { gain }),
    ...(heldOut === undefined
      ? {}
      : {
          held_out: {
            base: reportValidation(heldOut.base),
            last: reportValidation(heldOut.last),
            gain: gainOf(heldOut.base, heldOut.last),
          },
        }),
    ...(best === undefined ? {} : { best: { checkpoint: best.checkpoint, valid: best.report.total.valid.rate } }),
    ...(reports.length === 0 ? {} : { mean_valid: mean(reports.map((r) => r.report.total.valid.rate)) }),
    ...(gain === undefined || trained === 0 ? {} : { gain_per_million_tokens: (gain.valid.difference / trained) * 1e6 }),
  };
}

/** Later minus earlier over the same boards. @throws {RangeError} when the sets or the objectives differ. */
export function gainOf(earlier: ValidationReport, later: ValidationReport): ReportedGain {
  return { valid: pairedOutcomes(earlier, later, 0), optimal: pairedOutcomes(earlier, later, 1) };
}

function reportStage(stage: StageHistory, base: ValidationReport | undefined, total: number): ReportedStage {
  const { validation, proposal, training, dataset } = stage;
  return {
    index: stage.index,
    config: stage.config.normalised,
    provenance: stage.config.provenance,
    data: dataset?.strata ?? {},
    ...(validation === undefined ? {} : { validation: reportValidation(validation) }),
    ...(validation === undefined || base === undefined ? {} : { gain: gainOf(base, validation) }),
    ...(training === undefined ? {} : { tokens: { stage: training.completion_tokens, total } }),
    ...(proposal === undefined
      ? {}
      : {
          proposal: {
            engineer: proposal.engineer,
            variant: proposal.variant,
            outcome: proposal.outcome,
            reasons: proposal.reasons,
            attempts: proposal.attempts.length,
            repairs: proposal.repairs.length,
            guardrails: proposal.guardrails.map((g) => g.guardrail),
          },
        }),
  };
}

function reportValidation(report: ValidationReport): ReportedValidation {
  const cells = (group: Record<string, CellReport>) =>
    Object.fromEntries(Object.entries(group).map(([name, cell]) => [name, reportCell(cell)]));
  return {
    ...reportCell(report.total),
    by_size: cells(report.by_stratum),
    by_tag: cells(report.by_tag),
    codes: report.total.codes,
    tokens: report.total.tokens,
    gap: report.total.gap,
    failed: report.failed,
  };
}

function reportCell(cell: CellReport): ReportedCell {
  const withInterval = (rate: Rate): ReportedRate => ({ ...rate, interval: wilson(rate.rate, cell.n) });
  return { n: cell.n, valid: withInterval(cell.valid), optimal: withInterval(cell.optimal) };
}
