/**
 * A plan at a glance: each agent's way as a line with an arrow a move, beside the others' lines where ways overlap; waits as small
 * pause marks; every broken rule with its cells and its step.
 */
import { counted } from "../core/index.js";
import type { Board, Cell } from "../environments/mapf-frozenlake/instance.js";
import {
  CELL,
  centre,
  colour,
  describeBoard,
  discAt,
  goals,
  ground,
  type Layout,
  layoutOf,
  legendRow,
  type PictureOptions,
  picture,
} from "./board-svg.js";
import { captionLines, captions, signs, washes } from "./highlight.js";
import { brokenSentence, type DrawnPlan, type Replay, replay, same } from "./replay.js";
import { element, round } from "./svg-text.js";

const MOST_LINES = 8;

/** Lines that `planSvg` writes below the grid. */
export function planLines({ broken }: Replay): number {
  return 1 + Math.min(MOST_LINES, broken.length);
}

export function planSvg(board: Board, plan: DrawnPlan, options: PictureOptions = {}): string {
  const played = replay(board, plan);
  const told = captionLines(played.broken, MOST_LINES, true);
  const headline = options.caption ?? planHeadline(played);
  const legend = options.legend ?? true;
  const layout = layoutOf(board, Math.max(1 + told.length, options.lines ?? 0), legend);
  return picture(
    layout,
    [
      ...ground(board, layout),
      washes(played.broken, layout),
      goals(board, layout),
      ways(played, layout),
      ...board.agents.map(({ start }, agent) => discAt(agent, centre(layout, start))),
      signs(played.broken, layout),
      captions([headline], layout, 0, false),
      captions(told, layout, 1, true),
      ...(legend ? [legendRow(layout)] : []),
    ],
    describePlan(board, played),
    { title: "MAPF-FrozenLake plan", ...options },
  );
}

export function planHeadline({ positions, broken }: Replay): string {
  const steps = positions.length - 1;
  return `${counted(steps, "step")}, ${broken.length === 0 ? "every rule holds" : counted(broken.length, "broken rule")}`;
}

export function describePlan(board: Board, played: Replay): string {
  const told = played.broken.map((b) => `Step ${b.step}: ${brokenSentence(b)}.`);
  return [describeBoard(board), `The plan: ${planHeadline(played)}.`, ...told].join(" ");
}

/** Lines and arrows of all agents. Agent i's line is moved aside by its lane, down and right alike, so that no two lie on each other. */
function ways({ positions }: Replay, layout: Layout): string {
  const agents = positions[0]!.length;
  const pitch = Math.min(6, 26 / agents);
  const drawn = Array.from({ length: agents }, (_, agent) => {
    const lane = (agent - (agents - 1) / 2) * pitch;
    const points = positions.map((cells) => centre(layout, cells[agent]!).map((v) => v + lane) as [number, number]);
    const stops = positions.map((cells) => cells[agent]!);
    return way(agent, stops, points);
  });
  return element("g", { class: "ew-ways" }, drawn);
}

function way(agent: number, stops: readonly Cell[], points: readonly (readonly [number, number])[]): string {
  const [stroke] = colour(agent);
  const moved = points.filter((_, i) => i === 0 || !same(stops[i]!, stops[i - 1]!));
  if (moved.length < 2) return "";
  const d = moved.map(([x, y], i) => `${i === 0 ? "M" : "L"}${round(x)} ${round(y)}`).join("");
  const line = { d, "stroke-linejoin": "round", "stroke-linecap": "round" };
  const arrows = moved.slice(1).map(([x, y], i) => {
    const [fx, fy] = moved[i]!;
    const angle = (Math.atan2(y - fy, x - fx) * 180) / Math.PI;
    return element("path", {
      class: "ew-arrow",
      d: "M5 0L-4-5.5L-1.5 0L-4 5.5z",
      fill: stroke,
      transform: `translate(${round((fx + x) / 2)} ${round((fy + y) / 2)}) rotate(${round(angle)})`,
    });
  });
  return element("g", { class: "ew-way", "data-agent": agent }, [
    element("path", { class: "ew-halo", ...line, fill: "none", "stroke-width": 6, "stroke-opacity": 0.7 }),
    element("path", { ...line, fill: "none", stroke, "stroke-width": 3 }),
    ...arrows,
    ...pauses(stops, points, stroke),
  ]);
}

/** Two bars where an agent waits on its way; waiting after the last move is not a pause. */
function pauses(stops: readonly Cell[], points: readonly (readonly [number, number])[], fill: string): string[] {
  const lastMove = stops.findLastIndex((cell, i) => i > 0 && !same(cell, stops[i - 1]!));
  const seen = new Set<number>();
  const marks: string[] = [];
  for (let step = 1; step < lastMove; step++) {
    if (!same(stops[step]!, stops[step - 1]!)) continue;
    const began = stops.slice(0, step).findLastIndex((cell) => !same(cell, stops[step]!)) + 1;
    if (seen.has(began)) continue;
    seen.add(began);
    const waited = stops.slice(began).findIndex((cell) => !same(cell, stops[began]!)) - 1;
    const [x, y] = points[step]!;
    // At the start the disc lies on it: the mark stands at the disc's foot.
    const [cx, cy] = [x, began === 0 ? y + CELL / 2 - 8 : y];
    const half = 3 * waited;
    marks.push(
      element("g", { class: "ew-wait", "data-steps": waited, transform: `translate(${round(cx)} ${round(cy)})` }, [
        element("rect", {
          class: "ew-page",
          x: -half - 3,
          y: -6.5,
          width: 2 * half + 6,
          height: 13,
          rx: 3,
          stroke: fill,
          "stroke-width": 1.5,
        }),
        ...Array.from({ length: waited }, (_, i) => element("rect", { x: -half + i * 6 + 1.5, y: -4, width: 3, height: 8, fill })),
      ]),
    );
  }
  return marks;
}
