/**
 * A run as one picture, read like a score: time runs to the right, and every row follows one thing. Checkpoints stand on lines (B is the base), stages are the
 * spaces between them: a stage's config and training stand in its space, what came of it on the line behind it. Grows while the run goes on.
 */
import type { Phase } from "../../../../src/core/events.js";
import type { RunDetail, StepPoint } from "../../../../src/ui/records.js";
import { byNumber } from "../../format.js";
import { href } from "../../route.js";
import { useWidth } from "../width.js";
import { BySize, Configs } from "./cells.js";
import { Failures } from "./failures.js";
import { type Frame, GUTTER, ROW } from "./frame.js";
import { Rates } from "./rates.js";
import { Rewards } from "./rewards.js";

export interface Now {
  stage: number;
  phase: Phase | undefined;
}

const RIGHT = 54;
const LEAST = 58;

interface ScoreProps {
  run: RunDetail;
  steps: readonly StepPoint[];
  now: Now | undefined;
}

export function Score(props: ScoreProps) {
  const [ref, width] = useWidth<HTMLElement>();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section ref={ref} class="score" tabIndex={0} aria-label="The run, stage by stage">
      {width === 0 ? null : <Picture {...props} width={width} />}
    </section>
  );
}

function Picture({ run, steps, now, width }: ScoreProps & { width: number }) {
  const planned = Math.max(run.report.run.stages.planned, run.stages.length);
  const step = Math.max(LEAST, (width - GUTTER - RIGHT) / Math.max(1, planned));
  const full = GUTTER + RIGHT + step * planned;
  const at = (c: number): number => GUTTER + c * step;
  const strata = [
    ...new Set([...Object.keys(run.report.base?.by_size ?? {}), ...run.stages.flatMap((s) => Object.keys(s.requested))]),
  ].sort(byNumber);
  const frame: Frame = { run, at, step, strata };

  let y = 56;
  const rows: { title: string; top: number; height: number; body: preact.JSX.Element }[] = [];
  const add = (title: string, height: number, body: (top: number) => preact.JSX.Element): void => {
    rows.push({ title, top: y, height, body: body(y) });
    y += height + 38;
  };
  const chosen = run.family.knobs.length;
  add("Valid and optimal rate", 130, (top) => <Rates frame={frame} top={top} height={130} />);
  add(`Valid · optimal rate by ${run.family.stratumLabel}`, strata.length * ROW, (top) => <BySize frame={frame} top={top} />);
  add("Config: what each stage trains on", chosen * (strata.length * ROW + 18) - 18, (top) => <Configs frame={frame} top={top} />);
  add("Failures on the validation set", 120, (top) => <Failures frame={frame} top={top} height={120} />);
  add("Reward in training", 92, (top) => <Rewards frame={frame} steps={steps} stepsPerStage={run.steps_per_stage} top={top} height={92} />);
  add("Proposals", 34, (top) => <Proposals frame={frame} top={top} />);
  const height = y - 20;

  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot stand for a picture
    <svg
      width={full}
      height={height}
      viewBox={`0 0 ${full} ${height}`}
      role="group"
      aria-label="Picture of the run; the numbers are in the tables below"
    >
      {now === undefined ? null : <rect class="now" x={at(now.stage)} y={26} width={step} height={height - 40} rx="6" />}
      {Array.from({ length: planned }, (_, s) => {
        const known = run.stages.some((stage) => stage.index === s);
        const label = (
          <text x={at(s) + step / 2} y={14} class={known ? "stage-label" : "stage-label ahead"} text-anchor="middle">
            stage {s}
          </text>
        );
        return known ? (
          <a key={`s${s}`} href={href("run", run.id, "stage", s)} aria-label={`Stage ${s}`}>
            {label}
          </a>
        ) : (
          <g key={`s${s}`}>{label}</g>
        );
      })}
      {Array.from({ length: planned + 1 }, (_, c) => (
        <g key={`c${c}`}>
          <line class="checkpoint" x1={at(c)} x2={at(c)} y1={26} y2={height - 14} />
          <text class="tiny" x={at(c)} y={height - 2} text-anchor="middle">
            {c === 0 ? "base" : c}
          </text>
        </g>
      ))}
      {rows.map(({ title, top, body }) => (
        <g key={title}>
          <text class="row-title" x={0} y={top - 13}>
            {title}
          </text>
          {body}
        </g>
      ))}
    </svg>
  );
}

function Proposals({ frame, top }: { frame: Frame; top: number }) {
  const { run, at } = frame;
  return (
    <g class="proposals">
      {run.report.stages.map(({ index, proposal }) =>
        proposal === undefined ? null : (
          <a key={index} href={href("run", run.id, "stage", index)} aria-label={`Proposal of stage ${index}: ${proposal.outcome}`}>
            <title>{`${proposal.engineer} ${proposal.variant}: ${proposal.outcome}${proposal.reasons.length > 0 ? ` (${proposal.reasons.join("; ")})` : ""}`}</title>
            <circle class={`glyph ${proposal.outcome}`} cx={at(index + 1)} cy={top + 8} r="9" />
            <text class="glyph-text" x={at(index + 1)} y={top + 12} text-anchor="middle">
              {proposal.outcome === "accepted" ? "✓" : proposal.outcome === "repaired" ? "~" : "✕"}
            </text>
            <text class="tiny" x={at(index + 1)} y={top + 30} text-anchor="middle">
              {proposal.outcome}
            </text>
          </a>
        ),
      )}
    </g>
  );
}
