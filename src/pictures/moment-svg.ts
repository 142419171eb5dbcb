/** The parts of an animation that one moment shows, and a single moment as a picture: the frames of a GIF are made of it. */
import type { Board } from "../environments/mapf-frozenlake/instance.js";
import { centre, discAt, goals, ground, type Layout, layoutOf, legendRow, type PictureOptions, picture, starts } from "./board-svg.js";
import { captionLines, captions, signs, washes } from "./highlight.js";
import { describePlan } from "./plan-svg.js";
import type { Broken, Replay } from "./replay.js";

/** Lines that are kept free for what a step may break. */
const MOST_LINES = 3;

export interface Stage {
  readonly board: Board;
  readonly played: Replay;
  readonly layout: Layout;
  readonly options: PictureOptions;
  /** Lines kept for captions below the line that tells the step. */
  readonly lines: number;
}

export function stageOf(board: Board, played: Replay, options: PictureOptions): Stage {
  const perStep = new Map<number, number>();
  for (const { step } of played.broken) perStep.set(step, (perStep.get(step) ?? 0) + 1);
  const lines = Math.max((options.lines ?? 0) - 1, Math.min(MOST_LINES, Math.max(0, ...perStep.values())));
  return { board, played, layout: layoutOf(board, 1 + lines, options.legend ?? true), options, lines };
}

/** What a step breaks; of a plan that is over, what its last one broke. */
export function brokenAt(stage: Stage, step: number): Broken[] {
  const now = Math.min(step, lastStep(stage));
  return stage.played.broken.filter((b) => b.step === now);
}

export function lastStep({ played }: Stage): number {
  return played.positions.length - 1;
}

/** Which step it is. A plan that is over stays at its last one, however long the animation goes on. */
export function stepLine(stage: Stage, step: number): string {
  const steps = lastStep(stage);
  const { caption } = stage.options;
  const now = Math.min(step, steps);
  const line = `${now === 0 ? "start" : `step ${now} of ${steps}`}${caption === undefined ? "" : ` · ${caption}`}`;
  return captions([line], stage.layout, 0, false);
}

/** What the step breaks. */
export function brokenLines(stage: Stage, step: number): string {
  return captions(captionLines(brokenAt(stage, step), Math.max(1, stage.lines), false), stage.layout, 1, true);
}

/** Where an agent is drawn: several on one cell stand side by side, so that each is seen. */
export function standing(stage: Stage, step: number, agent: number): [x: number, y: number] {
  const cells = stage.played.positions[Math.min(step, lastStep(stage))]!;
  const cell = cells[agent]!;
  const here = cells.flatMap((c, i) => (c[0] === cell[0] && c[1] === cell[1] ? [i] : []));
  const [x, y] = centre(stage.layout, cell);
  if (here.length === 1) return [x, y];
  const angle = (2 * Math.PI * here.indexOf(agent)) / here.length + Math.PI;
  return [x + 10 * Math.cos(angle), y + 10 * Math.sin(angle)];
}

/** The picture on the way to `step`: `share` of the move is done; the step's broken rules show when it is all done. */
export function momentSvg(stage: Stage, step: number, share: number): string {
  const { board, layout, options, played } = stage;
  const told = share >= 1 || step > lastStep(stage);
  const broken = told ? brokenAt(stage, step) : [];
  const discs = board.agents.map((_, agent) => {
    const [fx, fy] = standing(stage, Math.max(0, step - 1), agent);
    const [tx, ty] = standing(stage, step, agent);
    const s = eased(share);
    return discAt(agent, [fx + (tx - fx) * s, fy + (ty - fy) * s]);
  });
  return picture(
    layout,
    [
      ...ground(board, layout),
      washes(broken, layout),
      goals(board, layout),
      starts(board, layout),
      ...discs,
      signs(broken, layout),
      stepLine(stage, step),
      told ? brokenLines(stage, step) : "",
      ...((options.legend ?? true) ? [legendRow(layout, true)] : []),
    ],
    describePlan(board, played),
    options,
  );
}

/** Slow, fast, slow: as CSS's ease-in-out looks. */
function eased(share: number): number {
  return share * share * (3 - 2 * share);
}
