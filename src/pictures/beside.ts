/**
 * Plans on one board beside each other, e.g. the optimum and a model's answer: still, or moving by one clock, in which the plan that is over
 * first waits for the others. A panel without a plan shows its board and says why.
 */
import type { Board } from "../environments/mapf-frozenlake/instance.js";
import { animatedStage } from "./animated-svg.js";
import { boardSvg, type PictureOptions } from "./board-svg.js";
import { type Stage, stageOf } from "./moment-svg.js";
import { planLines, planSvg } from "./plan-svg.js";
import { type DrawnPlan, type Replay, replay } from "./replay.js";
import { element, escapeText, wrapped } from "./svg-text.js";
import { type Timeline, timelineOf } from "./timeline.js";

export interface Panel {
  board: Board;
  /** Without one the board stands alone. */
  plan?: DrawnPlan;
  /** What the panel shows. */
  caption: string;
}

/** Title and theme of the whole; the panels have their own captions. */
export type BesideOptions = Pick<PictureOptions, "title" | "theme">;

/** All panels as one still picture. */
export function besideSvg(panels: readonly Panel[], options: BesideOptions = {}): string {
  const lines = Math.max(...panels.map(({ board, plan, caption }) => (plan === undefined ? wrapped(caption, 40).length : planLines(replay(board, plan))))); // biome-ignore format: one line
  return inRow(
    panels.map(({ board, plan, caption }) => {
      const own = { ...options, title: caption, caption, lines };
      return plan === undefined ? boardSvg(board, own) : planSvg(board, plan, own);
    }),
    options,
  );
}

/** All panels as one animated SVG. */
export function animatedBesideSvg(panels: readonly Panel[], options: BesideOptions = {}): string {
  const { stages, timeline } = stagesBeside(panels, options);
  return inRow(
    stages.map((stage) => animatedStage(stage, timeline)),
    options,
  );
}

/** The panels as stages of one size, and the clock they share. */
export function stagesBeside(panels: readonly Panel[], options: PictureOptions): { stages: Stage[]; timeline: Timeline } {
  const played = panels.map(
    ({ board, plan }): Replay =>
      plan === undefined ? { positions: [board.agents.map(({ start }) => start)], broken: [] } : replay(board, plan),
  );
  const alone = panels.map(({ board, caption }, i) => stageOf(board, played[i]!, { ...options, caption }));
  const lines = 1 + Math.max(...alone.map((stage) => stage.lines));
  const stages = panels.map(({ board, caption }, i) => stageOf(board, played[i]!, { ...options, title: caption, caption, lines }));
  return { stages, timeline: timelineOf(...played) };
}

/** Whole pictures of one height as one, from left to right. */
function inRow(pictures: readonly string[], { title, theme }: BesideOptions): string {
  const sizes = pictures.map((svg) => {
    const [, width, height] = /<svg [^>]*?width="([\d.]+)" height="([\d.]+)"/.exec(svg)!;
    return { width: Number(width), height: Number(height) };
  });
  const width = sizes.reduce((sum, size) => sum + size.width, 0);
  const height = Math.max(...sizes.map((size) => size.height));
  let x = 0;
  const placed = pictures.map((svg, i) => {
    const at = x;
    x += sizes[i]!.width;
    return svg.replace("<svg ", `<svg x="${at}" `);
  });
  const whole = { xmlns: "http://www.w3.org/2000/svg", class: `ew-${theme ?? "auto"}`, viewBox: `0 0 ${width} ${height}`, width, height, role: "img" }; // biome-ignore format: attributes
  return element("svg", whole, [
    element("title", {}, escapeText(title ?? "MAPF-FrozenLake plans")),
    element("rect", { class: "ew-page", width, height, rx: 10 }),
    ...placed,
  ]);
}
