/** Estimates with their intervals, one a line: what a comparison says at a glance. */
import { niceTicks, percentTick } from "./ticks.js";
import { useWidth } from "./width.js";

export interface ForestRow {
  label: string;
  /** Where labels repeat. */
  key?: string;
  mean: number;
  interval: readonly [number, number] | undefined;
  note: string;
  /** Single results behind the estimate, as small marks. */
  values: readonly number[];
  /** Drawn as the second measure of the row above it. */
  quiet?: boolean;
}

export function Forest({ rows, zero, unit }: { rows: ForestRow[]; zero: boolean; unit: string }) {
  const [ref, full] = useWidth<HTMLDivElement>();
  if (rows.length === 0) return <p class="muted">There is nothing to compare yet.</p>;
  const narrow = full < 560;
  const w = Math.max(280, full);
  const left = narrow ? 8 : Math.min(220, 16 + 7.5 * Math.max(...rows.map((r) => r.label.length)));
  const right = narrow ? 8 : Math.min(260, 20 + 6.6 * Math.max(...rows.map((r) => r.note.length)));
  const rowHeight = narrow ? 50 : 30;
  const all = rows.flatMap((r) => [r.mean, ...(r.interval ?? []), ...r.values]);
  const low = Math.min(zero ? 0 : 1, ...all);
  const high = Math.max(zero ? 0 : -1, ...all);
  const pad = 0.08 * Math.max(0.01, high - low);
  const x = (v: number): number => left + ((v - low + pad) / (high - low + 2 * pad)) * (w - left - right);
  const h = rows.length * rowHeight + 30;
  const ticks = niceTicks(low - pad, high + pad, 6);
  return (
    <div ref={ref}>
      {full === 0 ? null : (
        <svg
          class="forest"
          role="img"
          aria-label={rows.map((r) => `${r.key ?? r.label}: ${r.note}`).join("; ")}
          width={w}
          height={h}
          viewBox={`0 0 ${w} ${h}`}
        >
          {ticks.map((t) => (
            <g key={t}>
              <line class={zero && Math.abs(t) < 1e-9 ? "zero" : "grid"} x1={x(t)} x2={x(t)} y1={4} y2={h - 24} />
              <text class="tick" x={x(t)} y={h - 8} text-anchor="middle">
                {zero ? `${t > 1e-9 ? "+" : t < -1e-9 ? "−" : ""}${percentTick(Math.abs(t), ticks)}` : percentTick(t, ticks)}
                {unit === "%" ? " %" : ""}
              </text>
            </g>
          ))}
          {rows.map((r, i) => {
            const y = 4 + i * rowHeight + (narrow ? 34 : 15);
            return (
              <g key={r.key ?? r.label} class={r.quiet ? "quiet" : ""}>
                <text x={narrow ? 8 : left - 12} y={narrow ? y - 18 : y + 4} text-anchor={narrow ? "start" : "end"} class="label">
                  {r.label}
                </text>
                {r.interval === undefined ? null : <line class="interval" x1={x(r.interval[0])} x2={x(r.interval[1])} y1={y} y2={y} />}
                {r.values.map((v, j) => (
                  <circle key={String(j)} class="single" cx={x(v)} cy={y} r="3" />
                ))}
                <path class="estimate" d={`M${x(r.mean)} ${y - 6}l6 6l-6 6l-6 -6Z`} />
                <text class="note" x={narrow ? w - 8 : w - right + 12} y={narrow ? y - 18 : y + 4} text-anchor={narrow ? "end" : "start"}>
                  {r.note}
                </text>
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}
