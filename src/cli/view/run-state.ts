/**
 * What the event stream has said so far, folded into the little that a view shows. A pure function of the events: the live view, the plain
 * lines and tests share it.
 */
import { type CellReport, PHASES, type Phase, type RunEvent } from "../../core/index.js";

export interface RunState {
  name: string;
  engineer: string;
  variant: string;
  /** What the family calls its strata. */
  stratum: string;
  stages: number;
  stepsPerStage: number;
  resumed: boolean;
  /** Where the run is; undefined between phases. */
  stage: number;
  phase: Phase | undefined;
  progress: { done: number; total: number } | undefined;
  /** Latest training step. */
  step: { stage: number; metrics: Record<string, number>; seconds: number } | undefined;
  /** Validation of checkpoints: 0 is the base. */
  validations: Map<number, { total: CellReport; byStratum: Record<string, CellReport> }>;
  proposal: { stage: number; engineer: string; outcome: string; reasons: string[] } | undefined;
  /** The checkpoint (0: the base) whose model server is starting. */
  starting: number | undefined;
  /** The file that a person is asked to edit and approve. */
  waiting: { path: string; refusal: string | undefined } | undefined;
  warnings: string[];
  ended: "finished" | "failed" | "interrupted" | undefined;
  /** Seconds that each kind of work took when it was last done, for the time left. */
  durations: Map<Phase, number>;
  startedAt: number | undefined;
  phaseStartedAt: number | undefined;
}

export function newRunState(): RunState {
  return {
    name: "",
    engineer: "",
    variant: "",
    stratum: "size",
    stages: 0,
    stepsPerStage: 0,
    resumed: false,
    stage: 0,
    phase: undefined,
    progress: undefined,
    step: undefined,
    validations: new Map(),
    proposal: undefined,
    starting: undefined,
    waiting: undefined,
    warnings: [],
    ended: undefined,
    durations: new Map(),
    startedAt: undefined,
    phaseStartedAt: undefined,
  };
}

/** Folds one event in; changes `state`. */
export function applyEvent(state: RunState, event: RunEvent): void {
  const time = Date.parse(event.time);
  switch (event.type) {
    case "run-started":
      state.name = event.name;
      state.engineer = event.engineer;
      state.variant = event.variant;
      state.stratum = event.stratum ?? state.stratum;
      state.stages = event.stages;
      state.stepsPerStage = event.steps_per_stage;
      state.resumed = event.resumed;
      state.startedAt = time;
      state.ended = undefined;
      state.waiting = undefined;
      state.starting = undefined;
      return;
    case "phase-started":
      state.stage = event.stage;
      state.phase = event.phase;
      state.progress = undefined;
      state.phaseStartedAt = time;
      return;
    case "progress":
      state.progress = { done: event.done, total: event.total };
      return;
    case "step":
      state.step = { stage: event.stage, metrics: event.metrics, seconds: event.seconds };
      return;
    case "phase-finished":
      state.durations.set(event.phase, event.seconds);
      state.phase = undefined;
      state.progress = undefined;
      return;
    case "validation":
      state.validations.set(event.checkpoint, { total: event.total, byStratum: event.by_stratum });
      return;
    case "proposal":
      state.proposal = { stage: event.stage, engineer: event.engineer, outcome: event.outcome, reasons: event.reasons };
      return;
    case "serving":
      state.starting = event.state === "starting" ? event.checkpoint : undefined;
      return;
    case "human-waiting":
      state.waiting = { path: event.path, refusal: event.refusal };
      return;
    case "human-answered":
      state.waiting = undefined;
      return;
    case "warning":
      state.warnings.push(event.message);
      return;
    case "run-finished":
      state.ended = "finished";
      return;
    case "run-failed":
      state.ended = "failed";
      return;
    case "run-interrupted":
      state.ended = "interrupted";
      return;
  }
}

/** The number of the last validated checkpoint; undefined before the base was. */
export function lastCheckpoint(state: RunState): number | undefined {
  return state.validations.size === 0 ? undefined : Math.max(...state.validations.keys());
}

/**
 * Seconds until the run ends, at the pace of the latest step and of each kind of work when it was last done; undefined before a first
 * training step. An estimate from below: work of a kind that has not been done yet counts nothing.
 */
export function secondsLeft(state: RunState, now: number): number | undefined {
  if (state.step === undefined || state.stages === 0 || state.ended !== undefined) return undefined;
  const training = state.phase === "train";
  const stepsDone = training ? (state.progress?.done ?? 0) : 0;
  const at = state.phase === undefined ? PHASES.length : PHASES.indexOf(state.phase);
  const whole = (phase: Phase): number =>
    phase === "train" ? state.stepsPerStage * (state.step?.seconds ?? 0) : (state.durations.get(phase) ?? 0);
  const thisStage = PHASES.slice(at + 1).reduce((sum, phase) => sum + whole(phase), 0);
  const elapsed = state.phaseStartedAt === undefined ? 0 : (now - state.phaseStartedAt) / 1000;
  const thisPhase =
    state.phase === undefined
      ? 0
      : training
        ? (state.stepsPerStage - stepsDone) * state.step.seconds
        : Math.max(0, whole(state.phase) - elapsed);
  const later = (state.stages - state.stage - 1) * PHASES.reduce((sum, phase) => sum + whole(phase), 0);
  return thisPhase + thisStage + later;
}
