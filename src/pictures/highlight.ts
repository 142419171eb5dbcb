/** Broken rules in a picture: the cells washed and framed, a warning sign with "!", and captions that say what happened. */
import type { Cell } from "../environments/mapf-frozenlake/instance.js";
import { CELL, centre, type Layout, LINE_HEIGHT } from "./board-svg.js";
import { type Broken, brokenSentence } from "./replay.js";
import { element, round, text } from "./svg-text.js";

type Point = readonly [x: number, y: number];

/** Lies under the agents: the cells of each broken rule. A hole is framed only, so that it still shows. */
export function washes(broken: readonly Broken[], layout: Layout): string {
  return broken
    .map((b) => {
      const data = { "data-rule": b.rule, "data-step": b.step, "data-cell": b.cell.join(","), "data-agents": b.agents.join(",") };
      return element("g", { class: "ew-broken", ...data }, cellsOf(b).map((cell) => frame(centre(layout, cell), b.rule === "hole" ? 0 : 0.75))); // biome-ignore format: one line
    })
    .join("");
}

/** The cells a broken rule is about that lie on the board. */
function cellsOf({ rule, cell, other, towards }: Broken): Cell[] {
  if (rule === "illegal-move") return [...(other === undefined ? [] : [other]), ...(towards === undefined ? [cell] : [])];
  return other === undefined ? [cell] : [cell, other];
}

function frame([x, y]: Point, wash: number): string {
  const half = CELL / 2 - 2.5;
  const box = { x: x - half, y: y - half, width: 2 * half, height: 2 * half, rx: 6 };
  return (
    element("rect", { class: "ew-wash", ...box, "fill-opacity": wash }) +
    element("rect", { class: "ew-alert", ...box, "stroke-width": 3, "stroke-dasharray": "7 4" })
  );
}

/** Lies above the agents: the signs, and lines between what belongs together. */
export function signs(broken: readonly Broken[], layout: Layout): string {
  return broken.map((b) => signOf(b, layout)).join("");
}

function signOf({ rule, cell, other, towards }: Broken, layout: Layout): string {
  const at = centre(layout, cell);
  const second = other === undefined ? at : centre(layout, other);
  switch (rule) {
    case "illegal-move": {
      const [tx, ty] = centre(layout, towards ?? cell);
      // A move off the grid is drawn to just beyond the edge.
      const reach = towards === undefined ? 1 : Math.min(1, 0.66 * (CELL / Math.max(1, Math.hypot(tx - second[0], ty - second[1]))));
      const end: Point = [second[0] + (tx - second[0]) * reach, second[1] + (ty - second[1]) * reach];
      return joint(second, end) + sign(end);
    }
    case "swap-conflict":
      return sign([(at[0] + second[0]) / 2, (at[1] + second[1]) / 2]);
    case "goal-missed":
      return joint(at, second) + sign(corner(at));
    default:
      return sign(corner(at));
  }
}

function corner([x, y]: Point): Point {
  return [x - CELL / 2 + 10, y - CELL / 2 + 11];
}

function joint([ax, ay]: Point, [bx, by]: Point): string {
  const line = { d: `M${round(ax)} ${round(ay)}L${round(bx)} ${round(by)}`, "stroke-linecap": "round" };
  return element("path", { class: "ew-alert", ...line, "stroke-width": 3, "stroke-dasharray": "1 6" });
}

function sign([x, y]: Point): string {
  const triangle = { d: "M0-9.5L10.5 8.5h-21z", "stroke-linejoin": "round" };
  return element("g", { class: "ew-sign", transform: `translate(${round(x)} ${round(y)})` }, [
    element("path", { class: "ew-halo", ...triangle, "stroke-width": 4 }),
    element("path", { class: "ew-alert-fill", ...triangle }),
    text("!", { class: "ew-alert-ink", y: 6.8, "font-size": 13, "font-weight": "bold", "text-anchor": "middle" }),
  ]);
}

/** One line a broken rule, at most `most` lines, the last of them counting what is left out. */
export function captionLines(broken: readonly Broken[], most: number, withStep: boolean): string[] {
  const lines = broken.map((b) => `${withStep ? `step ${b.step}: ` : ""}${brokenSentence(b)}`);
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), `and ${lines.length - most + 1} more broken rules`];
}

/** Lines of text below the grid, from line `first` on. `alert`: each with a sign before it. */
export function captions(lines: readonly string[], layout: Layout, first: number, alert: boolean): string {
  const left = Math.min(layout.left, 24);
  return lines
    .map((line, i) => {
      const y = layout.captions + (first + i) * LINE_HEIGHT;
      if (!alert) return text(line, { class: "ew-ink", x: left, y, "font-size": 13, "font-weight": "bold" });
      const mark = element("path", { class: "ew-alert-fill", d: `M${round(left + 6)} ${round(y - 10.5)}l6.5 11h-13z` });
      return mark + text(line, { class: "ew-ink", x: left + 19, y, "font-size": 12 });
    })
    .join("");
}
