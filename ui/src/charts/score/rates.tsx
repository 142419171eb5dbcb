/** Valid and optimal rate of every checkpoint, with their intervals. */
import { percent, whole } from "../../format.js";
import { niceTicks, percentTick } from "../ticks.js";
import { checkpointName, type Frame, GUTTER } from "./frame.js";

/** Where the legend begins: behind the row's title, since a tick may stand anywhere in the gutter. */
const LEGEND = 172;

export function Rates({ frame, top, height }: { frame: Frame; top: number; height: number }) {
  const { run, at } = frame;
  const list = [run.report.base, ...run.report.stages.map((s) => s.validation)];
  const points = list.flatMap((v, c) => (v === undefined ? [] : [{ c, v }]));
  const all = points.flatMap(({ v }) => [...v.valid.interval, ...v.optimal.interval]);
  const low = Math.max(0, Math.floor(20 * Math.min(1, ...all) - 0.4) / 20);
  const high = Math.min(1, Math.ceil(20 * Math.max(0, ...all) + 0.4) / 20);
  const y = (rate: number): number => top + height - ((rate - low) / Math.max(0.05, high - low)) * height;
  const ticks = niceTicks(low, high, 4);
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
              <title>{`${checkpointName(c)}: valid ${percent(v.valid.rate)} (${percent(v.valid.interval[0])} to ${percent(v.valid.interval[1])})`}</title>
            </circle>
          ) : (
            <rect key={c} class="dot" x={at(c) - 4} y={y(v.optimal.rate) - 4} width="8" height="8">
              <title>{`${checkpointName(c)}: optimal ${percent(v.optimal.rate)} (${percent(v.optimal.interval[0])} to ${percent(v.optimal.interval[1])})`}</title>
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
            {`${percentTick(t, ticks)} %`}
          </text>
        </g>
      ))}
      <g class="legend">
        <circle class="rate-mark valid" cx={LEGEND} cy={top - 17} r="4.5" />
        <text x={LEGEND + 10} y={top - 13}>
          valid
        </text>
        <rect class="rate-mark optimal" x={LEGEND + 50} y={top - 21} width="8" height="8" />
        <text x={LEGEND + 64} y={top - 13}>
          optimal
        </text>
      </g>
      {line("optimal")}
      {line("valid")}
    </g>
  );
}
