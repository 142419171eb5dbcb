/**
 * A plan as an animated SVG: CSS only, no script, in a loop; it also moves inside an <img>. Readers who asked for less motion see the end
 * of the plan standing still, with all that it broke. The names of the key frames derive from the content, so that several pictures can
 * stand in one page.
 */
import type { Board } from "../environments/mapf-frozenlake/instance.js";
import { discAt, goals, ground, legendRow, type PictureOptions, picture, starts } from "./board-svg.js";
import { signs, washes } from "./highlight.js";
import { brokenAt, brokenLines, lastStep, type Stage, stageOf, standing, stepLine } from "./moment-svg.js";
import { describePlan } from "./plan-svg.js";
import { type DrawnPlan, replay } from "./replay.js";
import { element, round } from "./svg-text.js";
import { type Timeline, timelineOf } from "./timeline.js";

export function animatedSvg(board: Board, plan: DrawnPlan, options: PictureOptions = {}): string {
  const played = replay(board, plan);
  return animatedStage(stageOf(board, played, options), timelineOf(played));
}

/** A stage as it moves by a clock, which may go on longer than its own plan. */
export function animatedStage(stage: Stage, timeline: Timeline): string {
  const { board, played, options } = stage;
  const name = `ew${fingerprint(JSON.stringify([board, played, options, timeline.duration]))}`;
  const run = `${round(timeline.duration)}ms infinite`;
  const style: string[] = [];
  const shown: string[] = [];
  const under: string[] = [];

  const discs = board.agents.map((_, agent) => {
    style.push(wayFrames(`${name}-a${agent}`, stage, timeline, agent));
    style.push(`.${name}-a${agent}{animation:${name}-a${agent} ${run} linear}`);
    // The attribute is for readers without animation; where there is one, the style sheet's transform takes its place.
    const [x, y] = standing(stage, 0, agent);
    return element("g", { class: `${name}-a${agent}`, transform: `translate(${round(x)} ${round(y)})` }, discAt(agent, [0, 0]));
  });
  for (const { step, begin, moved, end } of timeline.moments) {
    const words = `${name}-s${step}`;
    style.push(windowFrames(words, begin, end, timeline), `.${words}{opacity:0;animation:${words} ${run} step-end}`);
    shown.push(element("g", { class: words }, stepLine(stage, step)));
    const broken = brokenAt(stage, step);
    if (broken.length === 0) continue;
    const alarm = `${name}-b${step}`;
    style.push(
      windowFrames(alarm, step > lastStep(stage) ? begin : moved, end, timeline),
      `.${alarm},.${alarm}w{opacity:0;animation:${alarm} ${run} step-end}`,
    );
    under.push(element("g", { class: `${alarm} ew-alarm` }, washes(broken, stage.layout)));
    shown.push(element("g", { class: `${alarm} ew-alarm` }, signs(broken, stage.layout)));
    shown.push(element("g", { class: `${alarm}w` }, brokenLines(stage, step)));
  }
  style.push(stillStyle(name, stage, timeline));

  return picture(
    stage.layout,
    [
      ...ground(board, stage.layout),
      ...under,
      goals(board, stage.layout),
      starts(board, stage.layout),
      ...discs,
      ...shown,
      ...((options.legend ?? true) ? [legendRow(stage.layout, true)] : []),
    ],
    describePlan(board, played),
    { title: "MAPF-FrozenLake plan, animated", ...options },
    style.join("\n"),
  );
}

const percent = (time: number, { duration }: Timeline) => `${Math.round((time / duration) * 1e5) / 1e3}%`;

/** Where the agent is: still while a step rests, eased while it moves. */
function wayFrames(name: string, stage: Stage, timeline: Timeline, agent: number): string {
  const at = (step: number) => {
    const [x, y] = standing(stage, step, agent);
    return `transform:translate(${round(x)}px,${round(y)}px)`;
  };
  const frames = timeline.moments.flatMap(({ step, begin, moved }) =>
    step === 0
      ? [`0%{${at(0)}}`]
      : [`${percent(begin, timeline)}{${at(step - 1)};animation-timing-function:ease-in-out}`, `${percent(moved, timeline)}{${at(step)}}`],
  );
  return `@keyframes ${name}{${frames.join("")}100%{${at(timeline.moments.length - 1)}}}`;
}

/** Seen from `from` until `to`. */
function windowFrames(name: string, from: number, to: number, timeline: Timeline): string {
  const before = from === 0 ? "" : "0%{opacity:0}";
  const after = to >= timeline.duration ? "100%{opacity:1}" : `${percent(to, timeline)},100%{opacity:0}`;
  return `@keyframes ${name}{${before}${percent(from, timeline)}{opacity:1}${after}}`;
}

/** Without motion: the agents where they end, everything that was broken, and the last step's words. */
function stillStyle(name: string, stage: Stage, timeline: Timeline): string {
  const last = timeline.moments.at(-1)!.step;
  const rules = stage.board.agents.map((_, agent) => {
    const [x, y] = standing(stage, last, agent);
    return `.${name}-a${agent}{animation:none;transform:translate(${round(x)}px,${round(y)}px)}`;
  });
  // Lines of several steps would lie on each other: the last step's alone are told.
  const windows = timeline.moments.flatMap(({ step }) => [
    `.${name}-s${step}{animation:none;opacity:${step === last ? 1 : 0}}`,
    `.${name}-b${step}{animation:none;opacity:1}`,
    `.${name}-b${step}w{animation:none;opacity:${step === last ? 1 : 0}}`,
  ]);
  return `@media (prefers-reduced-motion: reduce) {\n${[...rules, ...windows].join("\n")}\n}`;
}

/** FNV-1a, 32 bits: names only. */
function fingerprint(content: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < content.length; i++) hash = Math.imul(hash ^ content.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}
