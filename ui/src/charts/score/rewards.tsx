/** The reward of training, its parts and the weight between them, step by step. */
import type { StepPoint } from "../../../../src/ui/records.js";
import { type Frame, GUTTER } from "./frame.js";

/** In the order in which they are drawn: the accuracy is often the reward, and must be seen on it. */
const REWARD_LINES = [
  ["weight", "weight"],
  ["length", "length"],
  ["reward", "reward"],
  ["accuracy", "accuracy"],
] as const;

export function Rewards({
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
            {label}
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
