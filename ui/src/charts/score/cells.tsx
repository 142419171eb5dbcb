/** Heat maps: the valid and optimal rate by stratum at every checkpoint, and the config of every stage, asked and realised. */
import { knobLabel, percent, whole } from "../../format.js";
import { checkpointName, type Frame, GUTTER, ROW } from "./frame.js";

export function BySize({ frame, top }: { frame: Frame; top: number }) {
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
                text={`${whole(cell.valid.rate)} · ${whole(cell.optimal.rate)}`}
                kind="rate"
                title={`${checkpointName(c)}, ${run.family.stratumLabel} ${stratum}: valid ${percent(cell.valid.rate)}, optimal ${percent(cell.optimal.rate)} of ${cell.n}`}
              />
            );
          })}
        </g>
      ))}
    </g>
  );
}

export function Configs({ frame, top }: { frame: Frame; top: number }) {
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

function Heat(props: {
  x: number;
  y: number;
  w: number;
  value: number;
  realised?: number;
  /** Instead of the value in per cent. */
  text?: string;
  kind: "rate" | "knob";
  scale?: number;
  change?: number;
  title: string;
}) {
  const { x, y, w, value, realised, kind, title } = props;
  const level = Math.max(0, Math.min(1, value / (props.scale ?? 1)));
  const change = props.change ?? 0;
  return (
    <g class={`heat ${kind} ${level > 0.69 ? "full" : level > 0.49 ? "half" : ""}`}>
      <title>{title}</title>
      <rect x={x} y={y} width={w} height={ROW - 3} rx="3" style={{ "--level": `${(100 * level).toFixed(0)}%` }} />
      <text x={x + w / 2} y={y + 12} text-anchor="middle">
        {props.text ?? whole(value)}
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
