/** Several curves over one axis, each with its own colour, dash and mark, so that colour is never the only difference. */
import { tokens, whole } from "../format.js";
import { niceTicks, percentTick } from "./ticks.js";
import { useWidth } from "./width.js";

export interface Curve {
  label: string;
  points: { x: number; y: number; low: number; high: number }[];
}
export const SERIES = 6;
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "", "7 4"];

export function Curves({ curves, x: xLabel, y: yLabel }: { curves: Curve[]; x: string; y: string }) {
  const [ref, full] = useWidth<HTMLDivElement>();
  const all = curves.flatMap((c) => c.points);
  if (all.length === 0) return <p class="muted">No checkpoint has been validated yet.</p>;
  const [w, h] = [Math.max(300, full), 300];
  const [left, right, top, bottom] = [48, 16, 14, 40];
  const most = Math.max(1, ...all.map((p) => p.x));
  const low = Math.floor(20 * Math.min(...all.map((p) => p.low))) / 20;
  const high = Math.ceil(20 * Math.max(...all.map((p) => p.high))) / 20;
  const x = (v: number): number => left + (v / most) * (w - left - right);
  const y = (v: number): number => h - bottom - ((v - low) / Math.max(0.05, high - low)) * (h - top - bottom);
  const ticks = niceTicks(low, high, 6);
  return (
    <div ref={ref}>
      <ul class="legend-list">
        {curves.map((c, i) => (
          <li key={c.label}>
            <svg width="30" height="12" aria-hidden="true" class={`curve s${i % SERIES}`}>
              <line x1="0" x2="30" y1="6" y2="6" stroke-dasharray={DASHES[i % SERIES]} />
              <Mark kind={i} x={15} y={6} />
            </svg>{" "}
            {c.label}
          </li>
        ))}
      </ul>
      {full === 0 ? null : (
        <svg
          class="curves"
          role="img"
          aria-label={`${yLabel} over ${xLabel}: ${curves.map((c) => `${c.label} ends at ${whole(c.points.at(-1)?.y ?? 0)} %`).join("; ")}`}
          width={w}
          height={h}
          viewBox={`0 0 ${w} ${h}`}
        >
          {ticks.map((t) => (
            <g key={t}>
              <line class="grid" x1={left} x2={w - right} y1={y(t)} y2={y(t)} />
              <text class="tick" x={left - 8} y={y(t) + 4} text-anchor="end">
                {percentTick(t, ticks)} %
              </text>
            </g>
          ))}
          {niceTicks(0, most, 6).map((t) => (
            <text key={t} class="tick" x={x(t)} y={h - bottom + 18} text-anchor="middle">
              {tokens(t)}
            </text>
          ))}
          <text class="tick" x={(left + w - right) / 2} y={h - 4} text-anchor="middle">
            {xLabel}
          </text>
          {curves.map((c, i) => (
            <g key={c.label} class={`curve s${i % SERIES}`}>
              {c.points.length > 1 ? (
                <path
                  class="band"
                  d={`M${c.points.map((p) => `${x(p.x)} ${y(p.high)}`).join("L")}L${[...c.points]
                    .reverse()
                    .map((p) => `${x(p.x)} ${y(p.low)}`)
                    .join("L")}Z`}
                />
              ) : null}
              <path
                class="line"
                stroke-dasharray={DASHES[i % SERIES]}
                d={c.points.map((p, j) => `${j === 0 ? "M" : "L"}${x(p.x)} ${y(p.y)}`).join("")}
              />
              {c.points.map((p) => (
                <Mark key={p.x} kind={i} x={x(p.x)} y={y(p.y)} />
              ))}
            </g>
          ))}
        </svg>
      )}
    </div>
  );
}

function Mark({ kind, x, y }: { kind: number; x: number; y: number }) {
  const r = 4;
  switch (kind % 4) {
    case 1:
      return <rect class="mark" x={x - r + 0.5} y={y - r + 0.5} width={2 * r - 1} height={2 * r - 1} />;
    case 2:
      return <path class="mark" d={`M${x} ${y - r - 1}L${x + r + 1} ${y + r}L${x - r - 1} ${y + r}Z`} />;
    case 3:
      return <path class="mark" d={`M${x} ${y - r - 1}L${x + r + 1} ${y}L${x} ${y + r + 1}L${x - r - 1} ${y}Z`} />;
    default:
      return <circle class="mark" cx={x} cy={y} r={r} />;
  }
}
