/**
 * What the dashboard's server answers and its page reads: one record a view. Types only, so that the page carries none of the server's code.
 * Rates are in [0, 1]; positions are [row, column] from 0; ids of runs are their paths below the served folder, with forward slashes.
 */

import type { Phase } from "../core/events.js";
import type {
  CellReport,
  FailureCode,
  KnobSpec,
  KnobTable,
  Proposal,
  Reward,
  StageConfig,
  TrainingSummary,
  Verdict,
} from "../core/index.js";
import type { KnobDistance } from "../engineers/compare-proposals.js";
import type { PublishedRow } from "../evaluation/published.js";
import type { ReportedGain, RunReport } from "../evaluation/report.js";
import type { SetReport } from "../evaluation/set-report.js";
import type { ArmSummary } from "../experiments/summary.js";
import type { SqlLimits } from "../store/read-only-sql.js";

/** `waiting`: a live run whose engineer is a person, who has not answered yet. */
export type RunState = "running" | "waiting" | "finished" | "failed" | "interrupted";

export interface Meta {
  version: string;
  /** The served folder, as it was given. */
  root: string;
  /** Whether POST requests are answered (`--allow-actions`). */
  actions: boolean;
}

/** A run that cannot be read is listed with why, never left out. */
export interface RunEntry {
  id: string;
  state: RunState;
  recipe: string;
  engineer: string;
  variant: string;
  seed: number;
  stages: { planned: number; finished: number };
  /** Valid rate by checkpoint, the base first. */
  valid: number[];
  best: number | null;
  last: number | null;
  started: string | null;
  updated: string | null;
  problem: string | null;
}

export interface FamilyFacts {
  name: string;
  stratumLabel: string;
  knobs: KnobSpec[];
  failureCodes: FailureCode[];
  /** Whether instances are boards that the player can draw. */
  boards: boolean;
}

/** A training step, in the order of the run. */
export interface StepPoint {
  stage: number;
  step: number;
  reward: number;
  accuracy: number;
  length: number;
  weight: number;
  valid: number;
  entropy: number | null;
}

export interface StageFacts {
  index: number;
  provenance: StageConfig["provenance"];
  requested: KnobTable;
  realised: KnobTable;
  repairs: number;
  training: TrainingSummary | null;
  codes: Record<string, number> | null;
}

export interface RunDetail {
  id: string;
  state: RunState;
  problem: string | null;
  /** How to go on with it on the command line. */
  resume: string;
  family: FamilyFacts;
  report: RunReport;
  stages: StageFacts[];
  steps: StepPoint[];
  steps_per_stage: number;
  /** Where a live run is; null between phases and for one that does not go on. */
  now: { stage: number; phase: Phase } | null;
  /** Byte offset in events.jsonl up to which this record is true: where the stream goes on. */
  offset: number;
}

export interface KnobChange {
  stratum: string;
  knob: string;
  from: number;
  to: number;
  /** What repairs did to this knob. */
  marks: string[];
  /** The failures of this stratum that the knob answers, most frequent first, on the validation set. */
  evidence: { code: string; count: number; n: number }[];
  valid: number | null;
  valid_in_training: number | null;
}

export interface HumanTurn {
  /** The config as it stands, to start editing from: knobs by stratum. */
  knobs: KnobTable;
  rationale: string;
  /** Why an earlier answer was refused. */
  refused: string | null;
  /** The question as it stands in the stage's folder. */
  text: string;
}

/** What the stage can be asked again with. */
export interface AskChoices {
  /** Engineers that can be asked without a run: all but a person and a replay. */
  engineers: string[];
  variants: string[];
  /** The recipe's. */
  own: { engineer: string; variant: string; model: string | null };
}

export interface StageDetail {
  run: string;
  index: number;
  family: FamilyFacts;
  config: StageConfig;
  /** The config as knobs by stratum. */
  knobs: KnobTable;
  /** The next config, as the run took it; null before there is a proposal. */
  taken: KnobTable | null;
  /** Validation by stratum. */
  validation: Record<string, CellReport> | null;
  training: TrainingSummary | null;
  context: string | null;
  proposal: Proposal | null;
  changes: KnobChange[];
  /** Present while the run waits for a person's answer. */
  human: HumanTurn | null;
  ask: AskChoices;
  rendering: string;
  stages: number[];
  /** Byte offset in events.jsonl up to which this record is true: where the stream goes on. */
  offset: number;
}

export interface ReproposeAnswer {
  engineer: string;
  variant: string;
  temperature: number;
  proposals: Proposal[];
  /** How far each goes from the stage's config and from the proposal that the run took. */
  distance: { change: KnobDistance; from_taken: KnobDistance | null }[];
  knobs: KnobTable[];
}

export type RolloutSet = "training" | "validation";

export interface RolloutRow {
  id: string;
  stage: number;
  step: number;
  sample: number;
  stratum: string;
  agents: number | null;
  code: string | null;
  reward: number | null;
  tokens: number;
  optimal: boolean | null;
  failure: string | null;
}

export interface RolloutPage {
  rows: RolloutRow[];
  total: number;
  /** Count of every code under the filter. */
  codes: Record<string, number>;
  /** The query that found them, with its values written in, over the tables of a free query. */
  sql: string;
  /** What `rollouts` is in it, over the run's files, for any DuckDB; of this set alone. */
  view: string;
  milliseconds: number;
}

/** The answer to a free query in SQL. */
export type { SqlAnswer } from "../store/read-only-sql.js";

/** What a free query may name. */
export interface SqlTables {
  tables: { name: string; columns: { name: string; type: string }[] }[];
  limits: SqlLimits;
}

export type Cell = [number, number];

/** A plan as it goes: `positions[t][agent]` after t steps, and every rule that it breaks. */
export interface Track {
  positions: Cell[][];
  broken: { rule: string; step: number; agents: number[]; cell: Cell; other: Cell | null; sentence: string }[];
}

export interface BoardFacts {
  size: number;
  holes: Cell[];
  agents: { start: Cell; goal: Cell }[];
  optimum: { sum_of_costs: number; makespan: number };
  conflict: boolean;
  wait_required: boolean;
  hash: string;
}

export interface RolloutDetail {
  run: string;
  set: RolloutSet;
  id: string;
  stage: number;
  step: number;
  sample: number;
  instance: string;
  stratum: string;
  objective: string;
  completion: string;
  finish_reason: string;
  tokens: number;
  prompt: string;
  verdict: Verdict | null;
  reward: Reward | null;
  advantage: number | null;
  failure: { boundary: string; message: string } | null;
  board: BoardFacts | null;
  /** Null where the answer holds no plan. */
  model: Track | null;
  optimum: Track | null;
  /** Any other family's instance, as JSON. */
  other: string | null;
}

export interface Comparison {
  runs: { id: string; report: RunReport; state: RunState }[];
  /** Recipe values that are not the same in all runs; by run, in the order of `runs`. */
  differences: { path: string; values: string[] }[];
  /** Last checkpoint of each later run against the first one's, or why that cannot be said. */
  paired: { id: string; set: string; gain: ReportedGain | null; problem: string | null }[];
}

export interface EvaluationEntry {
  id: string;
  /** Rates are over the instances that were answered; `partial`: so much failed outside that they are not the set's. */
  report: (Omit<SetReport, "outcomes"> & { instances: number; partial: boolean }) | null;
  problem: string | null;
}

/** Later minus earlier, paired over instances. */
export interface Difference {
  difference: number;
  interval: readonly [number, number];
  n: number;
}

export interface Benchmarks {
  evaluations: EvaluationEntry[];
  /** Differences between evaluations of the same boards, against one of them. */
  paired: { id: string; reference: string; valid: Difference; optimal: Difference }[];
  published: PublishedTables;
}

/** The paper's rows by number of agents, in per cent; other instances, without intervals. */
export interface PublishedTables {
  source: string;
  tables: Record<string, readonly PublishedRow[]>;
}

export interface ExperimentEntry {
  id: string;
  name: string;
  reference: string;
  description: string;
  arms: ArmSummary[];
  cells: { arm: string; seed: number; state: string; run: string | null }[];
  problem: string | null;
}

/** Every refusal of the API. */
export interface ApiProblem {
  error: string;
  remedy: string | null;
}
