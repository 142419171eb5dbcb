/** The live view of a run as text: a few lines that are redrawn in place. A pure function of the state, the time and the width. */
import { PHASES, points } from "../../core/index.js";
import { lastCheckpoint, type RunState, secondsLeft } from "./run-state.js";

const BAR = 24;

export function renderLive(state: RunState, now: number, width = 100): string {
  const elapsed = state.startedAt === undefined ? 0 : (now - state.startedAt) / 1000;
  const left = secondsLeft(state, now);
  const time = `${duration(elapsed)} elapsed${left === undefined ? "" : `, about ${duration(left)} left`}`;
  const lines = [
    `${state.name}  engineer ${state.engineer} ${state.variant}  stage ${Math.min(state.stage + 1, state.stages)}/${state.stages}  ${time}`,
    phaseLine(state),
    trainingLine(state),
    ...validationLines(state),
    proposalLine(state),
    ...(state.starting === undefined || state.ended !== undefined
      ? []
      : [`> the server of ${state.starting === 0 ? "the base" : `stage ${state.starting - 1}`} is starting`]),
    ...(state.waiting === undefined ? [] : [`> ${waitingText(state.waiting.path, state.waiting.refusal)}`]),
    ...state.warnings.slice(-2).map((warning) => `! ${warning}`),
  ];
  return lines.flatMap((line) => (line === undefined ? [] : [clip(line, width)])).join("\n");
}

/** "generate · TRAIN ███████░░░░ 12/32 · evaluate · diagnose · propose": where in the stage's sequence the run is. */
function phaseLine(state: RunState): string {
  return PHASES.map((phase) => (phase === state.phase ? `${phase.toUpperCase()} ${bar(state.progress)}` : phase)).join(" → ");
}

function bar(progress: RunState["progress"]): string {
  if (progress === undefined || progress.total <= 0) return "…";
  const share = Math.min(1, progress.done / progress.total);
  const full = Math.round(share * BAR);
  return `${"█".repeat(full)}${"░".repeat(BAR - full)} ${progress.done}/${progress.total}`;
}

function trainingLine(state: RunState): string | undefined {
  if (state.step === undefined) return undefined;
  const { metrics, seconds } = state.step;
  const parts = [
    `step ${state.progress !== undefined && state.phase === "train" ? `${state.progress.done}/${state.stepsPerStage}` : `of stage ${state.step.stage} done`}`,
    named("reward", metrics.reward, (x) => x.toFixed(3)),
    named("valid", metrics.valid, percent),
    named("without variance", metrics.frac_reward_zero_std, percent),
    named("length", metrics["completions/mean_length"], (x) => x.toFixed(1)),
    `${seconds.toFixed(1)} s a step`,
  ];
  return `training    ${parts.filter((part) => part !== undefined).join("  ")}`;
}

/** Valid rate of the last checkpoint in total and by stratum, with the change against the base in points. */
function validationLines(state: RunState): string[] {
  const last = lastCheckpoint(state);
  if (last === undefined) return [];
  const base = state.validations.get(0);
  const { total, byStratum } = state.validations.get(last)!;
  const change = (now: number, before: number | undefined) => (last === 0 || before === undefined ? "" : ` (${points(now - before)})`);
  const cells = Object.entries(byStratum)
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([size, cell]) => `${size}: ${percent(cell.valid.rate)}${change(cell.valid.rate, base?.byStratum[size]?.valid.rate)}`);
  const name = last === 0 ? "base" : `stage ${last - 1}`;
  return [
    `validation  ${name}: valid ${percent(total.valid.rate)}${change(total.valid.rate, base?.total.valid.rate)}  optimal ${percent(total.optimal.rate)}${change(total.optimal.rate, base?.total.optimal.rate)}`,
    `  ${`by ${state.stratum}`.padEnd(10)}${cells.join("  ")}`,
  ];
}

function proposalLine(state: RunState): string | undefined {
  if (state.proposal === undefined) return undefined;
  const { stage, engineer, outcome, reasons } = state.proposal;
  return `proposal    after stage ${stage} by ${engineer}: ${outcome}${reasons.length > 0 ? ` (${reasons.join("; ")})` : ""}`;
}

/** What a person has to do for the run to go on. */
export function waitingText(path: string, refusal: string | undefined): string {
  const why = refusal === undefined ? "" : ` (the last answer: ${refusal})`;
  return `waiting for you: edit ${path}, set its last line to "status: approved" and save${why}`;
}

function named(name: string, value: number | undefined, format: (x: number) => string): string | undefined {
  return value === undefined ? undefined : `${name} ${format(value)}`;
}

export function percent(x: number): string {
  return `${(100 * x).toFixed(1)} %`;
}

export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
  return `${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")} min`;
}

function clip(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}
