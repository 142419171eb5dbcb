/** A board at one step of a plan: holes, goals, the way so far, agents that glide, and the rules that break at this step. */

import { AGENT_COLOURS } from "../../../src/pictures/theme.js";
import type { BoardFacts, Cell, Track } from "../../../src/ui/records.js";

const U = 48;

export function BoardPicture({
  board,
  track,
  step,
  seconds,
  label,
}: {
  board: BoardFacts;
  track: Track | null;
  step: number;
  seconds: number;
  label: string;
}) {
  const { size, holes, agents } = board;
  const side = size * U;
  const x = ([, column]: Cell): number => (column + 0.5) * U;
  const y = ([row]: Cell): number => (row + 0.5) * U;
  const at = (agent: number, t: number): Cell => {
    if (track === null) return agents[agent]!.start;
    return track.positions[Math.min(t, track.positions.length - 1)]![agent]!;
  };
  const broken = track?.broken.filter((b) => b.step === step) ?? [];
  const alarmed = new Set(broken.flatMap((b) => b.agents));
  const places = agents.map(
    (_, a) => `agent ${a} at row ${at(a, step)[0]}, column ${at(a, step)[1]}${same(at(a, step), agents[a]!.goal) ? ", its goal" : ""}`,
  );
  return (
    <svg
      class="board"
      viewBox={`-4 -4 ${side + 8} ${side + 8}`}
      role="img"
      aria-label={`${label}, step ${step}: ${places.join("; ")}${broken.length > 0 ? `. Broken: ${broken.map((b) => b.sentence).join("; ")}` : ""}`}
    >
      <rect class="ice" x={-2} y={-2} width={side + 4} height={side + 4} rx="10" />
      {Array.from({ length: size * size }, (_, i) => (
        <rect key={i} class="cell" x={(i % size) * U + 1.5} y={Math.floor(i / size) * U + 1.5} width={U - 3} height={U - 3} rx="6" />
      ))}
      {holes.map((h) => (
        <g key={`${h}`} class="hole">
          <ellipse cx={x(h)} cy={y(h)} rx={U * 0.4} ry={U * 0.36} />
          <path d={`M${x(h) - 10} ${y(h) + 2}q5 -5 10 0t10 0`} />
        </g>
      ))}
      {broken.map((b, i) => (
        <g key={i} class="alarm">
          <rect x={b.cell[1] * U + 1.5} y={b.cell[0] * U + 1.5} width={U - 3} height={U - 3} rx="6" />
          {b.other === null || b.rule === "illegal-move" ? null : (
            <rect x={b.other[1] * U + 1.5} y={b.other[0] * U + 1.5} width={U - 3} height={U - 3} rx="6" />
          )}
        </g>
      ))}
      {agents.map(({ goal }, a) => (
        <g key={`g${String(a)}`}>
          <rect
            class="goal"
            x={goal[1] * U + 6}
            y={goal[0] * U + 6}
            width={U - 12}
            height={U - 12}
            rx="6"
            style={{ stroke: AGENT_COLOURS[a % 8]![0] }}
          />
          <text class="goal-number" x={goal[1] * U + U - 8} y={goal[0] * U + 15} text-anchor="end">
            {a}
          </text>
        </g>
      ))}
      {agents.map((_, a) => {
        const way = Array.from({ length: Math.min(step, (track?.positions.length ?? 1) - 1) + 1 }, (_, t) => at(a, t));
        return (
          <path
            key={`w${String(a)}`}
            class="way"
            style={{ stroke: AGENT_COLOURS[a % 8]![0] }}
            d={way
              .map(
                (c, i) => `${i === 0 ? "M" : "L"}${x(c) + (a - (agents.length - 1) / 2) * 4} ${y(c) + (a - (agents.length - 1) / 2) * 4}`,
              )
              .join("")}
          />
        );
      })}
      {agents.map((_, a) => {
        const here = at(a, step);
        // Agents on one cell stand a little apart, so that both are seen.
        const sharing = agents.map((_, b) => b).filter((b) => same(at(b, step), here));
        const shift = sharing.length > 1 ? (sharing.indexOf(a) - (sharing.length - 1) / 2) * 20 : 0;
        const [fill, ink] = AGENT_COLOURS[a % 8]!;
        return (
          <g
            key={`a${String(a)}`}
            class={`agent ${alarmed.has(a) ? "alarmed" : ""}`}
            style={{ transform: `translate(${x(here) + shift}px, ${y(here)}px)`, transitionDuration: `${Math.min(0.45, seconds * 0.7)}s` }}
          >
            <circle r="14" style={{ fill }} />
            <text y="5" text-anchor="middle" style={{ fill: ink }}>
              {a}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

const same = (a: Cell, b: Cell): boolean => a[0] === b[0] && a[1] === b[1];
