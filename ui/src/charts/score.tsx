/**
 * A run as one picture, read like a score: time runs to the right, and every row follows one thing. Checkpoints stand on lines (B is the base), stages are the
 * spaces between them: a stage's config and training stand in its space, what came of it on the line behind it. Grows while the run goes on.
 */
import type { Phase } from "../../../src/core/events.js";
import type { RunDetail, StepPoint } from "../../../src/ui/records.js";
import { byNumber, codeColour, knobLabel, percent, whole } from "../format.js";
import { href } from "../route.js";
import { useWidth } from "./width.js";

export interface Now {
  stage: number;
  phase: Phase | undefined;
}

const GUTTER = 104;
const RIGHT = 54;
const LEAST = 58;
const ROW = 19;

interface Frame {
  run: RunDetail;
  /** x of checkpoint c. */
  at: (c: number) => number;
  /** Width of a stage. */
  step: number;
  strata: string[];
}

export function Score({ run, steps, now }: { run: RunDetail; steps: readonly StepPoint[]; now: Now | undefined }) {
  const [ref, width] = useWidth<HTMLElement>();
  const planned = Math.max(run.report.run.stages.planned, run.stages.length);
  const step = Math.max(LEAST, (width - GUTTER - RIGHT) / Math.max(1, planned));
  const full = GUTTER + RIGHT + step * planned;
  const at = (c: number): number => GUTTER + c * step;
  const strata = [
    ...new Set([...Object.keys(run.report.base?.by_size ?? {}), ...run.stages.flatMap((s) => Object.keys(s.requested))]),
  ].sort(byNumber);
  const frame: Frame = { run, at, step, strata };

  let y = 52;
  const rows: { title: string; top: number; height: number; body: preact.JSX.Element }[] = [];
  const add = (title: string, height: number, body: (top: number) => preact.JSX.Element): void => {
    rows.push({ title, top: y, height, body: body(y) });
    y += height + 34;
  };
  const chosen = run.family.knobs.length;
  add("Valid and optimal rate", 130, (top) => <Rates frame={frame} top={top} height={130} />);
  add(`Valid rate by ${run.family.stratumLabel}`, strata.length * ROW, (top) => <BySize frame={frame} top={top} />);
  add("Config: what each stage trains on", chosen * (strata.length * ROW + 18) - 18, (top) => <Configs frame={frame} top={top} />);
  add("Failures on the validation set", 120, (top) => <Failures frame={frame} top={top} height={120} />);
  add("Reward in training", 92, (top) => <Rewards frame={frame} steps={steps} stepsPerStage={run.steps_per_stage} top={top} height={92} />);
  add("Proposals", 34, (top) => <Proposals frame={frame} top={top} />);
  const height = y - 16;

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section ref={ref} class="score" tabIndex={0} aria-label="The run, stage by stage">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot stand for a picture */}
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
            <text class="row-title" x={0} y={top - 10}>
              {title}
            </text>
            {body}
          </g>
        ))}
      </svg>
    </section>
  );
}

function Rates({ frame, top, height }: { frame: Frame; top: number; height: number }) {
  const { run, at } = frame;
  const list = [run.report.base, ...run.report.stages.map((s) => s.validation)];
  const points = list.flatMap((v, c) => (v === undefined ? [] : [{ c, v }]));
  const all = points.flatMap(({ v }) => [...v.valid.interval, ...v.optimal.interval]);
  const low = Math.max(0, Math.floor(20 * Math.min(1, ...all) - 0.4) / 20);
  const high = Math.min(1, Math.ceil(20 * Math.max(0, ...all) + 0.4) / 20);
  const y = (rate: number): number => top + height - ((rate - low) / Math.max(0.05, high - low)) * height;
  const ticks = [low, (low + high) / 2, high];
  const line = (pick: "valid" | "optimal") => {
    const path = points.map(({ c, v }, i) => `${i === 0 ? "M" : "L"}${at(c)} ${y(v[pick].rate)}`).join("");
    const band = [
      ...points.map(({ c, v }) => `${at(c)} ${y(v[pick].interval[1])}`),
      ...[...points].reverse().map(({ c, v }) => `${at(c)} ${y(v[pick].interval[0])}`),
    ];
    const last = points.at(-1);
    return (
      <g class={`rate ${pick}`}>
        {points.length > 1 ? <path class="band" d={`M${band.join("L")}Z`} /> : null}
        <path class="line" d={path} />
        {points.map(({ c, v }) =>
          pick === "valid" ? (
            <circle key={c} class="dot" cx={at(c)} cy={y(v.valid.rate)} r="4.5">
              <title>{`${name(c)}: valid ${percent(v.valid.rate)} (${percent(v.valid.interval[0])} to ${percent(v.valid.interval[1])})`}</title>
            </circle>
          ) : (
            <rect key={c} class="dot" x={at(c) - 4} y={y(v.optimal.rate) - 4} width="8" height="8">
              <title>{`${name(c)}: optimal ${percent(v.optimal.rate)} (${percent(v.optimal.interval[0])} to ${percent(v.optimal.interval[1])})`}</title>
            </rect>
          ),
        )}
        {last === undefined ? null : (
          <text class="end" x={at(last.c) + 9} y={y(last.v[pick].rate) + 4}>
            {whole(last.v[pick].rate)} %
          </text>
        )}
      </g>
    );
  };
  return (
    <g>
      {ticks.map((t) => (
        <g key={t}>
          <line class="grid" x1={at(0)} x2={at(run.report.run.stages.planned)} y1={y(t)} y2={y(t)} />
          <text class="tick" x={GUTTER - 14} y={y(t) + 4} text-anchor="end">
            {percent(t, t * 100 === Math.round(t * 100) ? 0 : 1)}
          </text>
        </g>
      ))}
      <g class="legend">
        <circle class="rate-mark valid" cx={6} cy={top + 10} r="4.5" />
        <text x={16} y={top + 14}>
          valid
        </text>
        <rect class="rate-mark optimal" x={2} y={top + 26} width="8" height="8" />
        <text x={16} y={top + 34}>
          optimal
        </text>
      </g>
      {line("optimal")}
      {line("valid")}
    </g>
  );
}

function BySize({ frame, top }: { frame: Frame; top: number }) {
  const { run, at, step, strata } = frame;
  const cells = [run.report.base, ...run.report.stages.map((s) => s.validation)];
  const w = Math.min(step - 8, 56);
  return (
    <g>
      {strata.map((stratum, r) => (
        <g key={stratum}>
          <text class="tick" x={GUTTER - 42} y={top + r * ROW + 13} text-anchor="end">
            {run.family.stratumLabel} {stratum}
          </text>
          {cells.map((v, c) => {
            const cell = v?.by_size[stratum];
            return cell === undefined ? null : (
              <Heat
                key={c}
                x={at(c) - w / 2}
                y={top + r * ROW}
                w={w}
                value={cell.valid.rate}
                kind="rate"
                title={`${name(c)}, ${run.family.stratumLabel} ${stratum}: valid ${percent(cell.valid.rate)} of ${cell.n}`}
              />
            );
          })}
        </g>
      ))}
    </g>
  );
}

function Heat(props: {
  x: number;
  y: number;
  w: number;
  value: number;
  realised?: number;
  kind: "rate" | "knob";
  scale?: number;
  change?: number;
  title: string;
}) {
  const { x, y, w, value, realised, kind, title } = props;
  const level = Math.max(0, Math.min(1, value / (props.scale ?? 1)));
  const change = props.change ?? 0;
  return (
    <g class={`heat ${kind} ${level > 0.55 ? "strong" : ""}`}>
      <title>{title}</title>
      <rect x={x} y={y} width={w} height={ROW - 3} rx="3" style={{ "--level": `${(100 * level).toFixed(0)}%` }} />
      <text x={x + w / 2} y={y + 12} text-anchor="middle">
        {whole(value)}
        {Math.abs(change) < 0.005 ? "" : change > 0 ? " ▴" : " ▾"}
      </text>
      {realised === undefined ? null : (
        <rect
          class="realised"
          x={x + 3}
          y={y + ROW - 6}
          width={Math.max(0, (w - 6) * Math.min(1, realised / (props.scale ?? 1)))}
          height="2"
        />
      )}
    </g>
  );
}

function Configs({ frame, top }: { frame: Frame; top: number }) {
  const { run, at, step, strata } = frame;
  const w = step - 10;
  return (
    <g>
      {run.family.knobs.map((knob, k) => {
        const y = top + k * (strata.length * ROW + 18);
        const values = run.stages.flatMap((s) => strata.map((x) => s.requested[x]?.[knob.name] ?? 0));
        const scale = knob.kind === "share" ? Math.max(0.01, ...values) : knob.max;
        return (
          <g key={knob.name}>
            <text class="knob" x={0} y={y + 13}>
              {knobLabel(knob.name)}
            </text>
            {strata.map((stratum, r) => (
              <text key={stratum} class="tick" x={GUTTER - 14} y={y + r * ROW + 13} text-anchor="end">
                {stratum}
              </text>
            ))}
            {run.stages.map((stage, i) =>
              strata.map((stratum, r) => {
                const value = stage.requested[stratum]?.[knob.name];
                if (value === undefined) return null;
                const realised = stage.realised[stratum]?.[knob.name];
                const before = run.stages[i - 1]?.requested[stratum]?.[knob.name];
                return (
                  <Heat
                    key={`${stage.index}/${stratum}`}
                    kind="knob"
                    x={at(stage.index) + 5}
                    y={y + r * ROW}
                    w={w}
                    value={value}
                    scale={scale}
                    change={before === undefined ? 0 : value - before}
                    {...(realised === undefined ? {} : { realised })}
                    title={`Stage ${stage.index}, ${run.family.stratumLabel} ${stratum}, ${knobLabel(knob.name)}: asked ${percent(value)}${realised === undefined ? "" : `, realised ${percent(realised)}`}${before === undefined ? "" : `, before ${percent(before)}`}`}
                  />
                );
              }),
            )}
          </g>
        );
      })}
    </g>
  );
}

function Failures({ frame, top, height }: { frame: Frame; top: number; height: number }) {
  const { run, at, step } = frame;
  const list = [run.report.base, ...run.report.stages.map((s) => s.validation)];
  const codes = run.family.failureCodes.map((c) => c.code).filter((code) => list.some((v) => (v?.codes[code] ?? 0) > 0));
  const share = (c: number, code: string): number => {
    const v = list[c];
    return v === undefined || v.n === 0 ? 0 : (v.codes[code] ?? 0) / v.n;
  };
  const most = Math.max(0.01, ...list.map((_, c) => codes.reduce((sum, code) => sum + share(c, code), 0)));
  const bar = 12;
  const stack = (c: number): Record<string, [number, number]> => {
    let y = top + height;
    return Object.fromEntries(
      codes.map((code) => {
        const h = (share(c, code) / most) * height;
        y -= h;
        return [code, [y, y + h]];
      }),
    );
  };
  const stacks = list.map((v, c) => (v === undefined ? undefined : stack(c)));
  const labels: { code: string; y: number }[] = [];
  for (const code of codes) {
    const [y0, y1] = stacks[0]?.[code] ?? [0, 0];
    const y = Math.min((y0 + y1) / 2 + 4, (labels.at(-1)?.y ?? 1e9) - 13);
    if (y1 - y0 > 3) labels.push({ code, y });
  }
  return (
    <g class="flows">
      {codes.map((code) =>
        stacks.map((s, c) => {
          const next = stacks[c + 1];
          if (s === undefined) return null;
          const [a0, a1] = s[code]!;
          const x0 = at(c) + bar / 2;
          const x1 = at(c + 1) - bar / 2;
          const mid = (x0 + x1) / 2;
          const [b0, b1] = next?.[code] ?? [0, 0];
          return (
            <g key={`${code}${c}`} style={{ fill: codeColour(run.family, code) }}>
              <title>{`${name(c)}: ${code} ${percent(share(c, code))}`}</title>
              {next === undefined ? null : (
                <path
                  class="ribbon"
                  d={`M${x0} ${a0}C${mid} ${a0} ${mid} ${b0} ${x1} ${b0}L${x1} ${b1}C${mid} ${b1} ${mid} ${a1} ${x0} ${a1}Z`}
                />
              )}
              <rect x={at(c) - bar / 2} y={a0} width={bar} height={Math.max(0, a1 - a0)} />
              {step > 70 && a1 - a0 > 15 && next !== undefined ? (
                <text class="in-flow" x={x0 + 5} y={(a0 + a1) / 2 + 4}>
                  {whole(share(c, code))}
                </text>
              ) : null}
            </g>
          );
        }),
      )}
      {labels.map(({ code, y }) => (
        <text key={code} class="flow-label" x={at(0) - 12} y={y} text-anchor="end">
          {code.replace("-conflict", "")}
        </text>
      ))}
    </g>
  );
}

const REWARD_LINES = [
  ["weight", "accuracy weight"],
  ["length", "length"],
  ["accuracy", "accuracy"],
  ["reward", "reward"],
] as const;

function Rewards({
  frame,
  steps,
  stepsPerStage,
  top,
  height,
}: {
  frame: Frame;
  steps: readonly StepPoint[];
  stepsPerStage: number | undefined;
  top: number;
  height: number;
}) {
  const { at, step } = frame;
  const stages = [...new Set(steps.map((s) => s.stage))];
  const y = (v: number): number => top + height - Math.max(0, Math.min(1, v)) * height;
  // Steps are numbered through the run; within a stage they count from its first.
  const own = (s: number): StepPoint[] => {
    const list = steps.filter((p) => p.stage === s).sort((a, b) => a.step - b.step);
    return list.map((p) => ({ ...p, step: p.step - list[0]!.step }));
  };
  const longest = Math.max(1, stepsPerStage ?? 0, ...stages.map((s) => own(s).length));
  return (
    <g class="rewards">
      {[0, 0.5, 1].map((t) => (
        <g key={t}>
          <line class="grid" x1={at(0)} x2={at(frame.run.report.run.stages.planned)} y1={y(t)} y2={y(t)} />
          <text class="tick" x={GUTTER - 14} y={y(t) + 4} text-anchor="end">
            {t}
          </text>
        </g>
      ))}
      {REWARD_LINES.map(([field, label], i) => (
        <g key={field} class={`series ${field}`}>
          <line x1={0} x2={14} y1={top + 18 + i * 20} y2={top + 18 + i * 20} />
          <text x={19} y={top + 22 + i * 20}>
            {label.replace("accuracy weight", "weight")}
          </text>
          {stages.map((s) => {
            const line = smooth(own(s), field);
            return (
              <path
                key={s}
                d={line
                  .map(([i2, v], j) => `${j === 0 ? "M" : "L"}${(at(s) + 3 + (i2 / longest) * (step - 6)).toFixed(1)} ${y(v).toFixed(1)}`)
                  .join("")}
              />
            );
          })}
        </g>
      ))}
    </g>
  );
}

/** Means over up to 20 pieces of a stage: single steps are noise at this size. */
function smooth(points: readonly StepPoint[], field: "weight" | "length" | "accuracy" | "reward"): [number, number][] {
  const size = Math.max(1, Math.ceil(points.length / 20));
  const out: [number, number][] = [];
  for (let i = 0; i < points.length; i += size) {
    const piece = points.slice(i, i + size);
    out.push([piece.reduce((sum, p) => sum + p.step + 0.5, 0) / piece.length, piece.reduce((sum, p) => sum + p[field], 0) / piece.length]);
  }
  return out;
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

const name = (c: number): string => (c === 0 ? "Base" : `Checkpoint ${c}`);
