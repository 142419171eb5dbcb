/**
 * A board as SVG text: ice, holes, goals, starts, agents. Readable without colour: a hole is an oval of dark water with ripples, a start
 * a dashed ring, a goal a square frame with a flag, an agent a disc; all but holes carry the agent's number. No Node, no browser.
 */
import { counted } from "../core/index.js";
import type { Board, Cell } from "../environments/mapf-frozenlake/instance.js";
import { element, escapeText, round, text, wrapped } from "./svg-text.js";
import { AGENT_COLOURS, type Theme, themeStyle } from "./theme.js";

export interface PictureOptions {
  /** Names the picture for screen readers, e.g. the instance's id. */
  title?: string;
  theme?: Theme;
  /** A line below the grid, e.g. what kind of plan this is. */
  caption?: string;
  /** The row that explains the marks; on by default. */
  legend?: boolean;
  /** Lines below the grid to keep free at least, so that pictures beside each other are alike. */
  lines?: number;
}

/** Side of a cell, in units of the drawing. */
export const CELL = 56;
/** Room for the row and column numbers, and around. */
export const MARGIN = 30;
const LEAST_WIDTH = 372;
const LEGEND_HEIGHT = 30;
export const LINE_HEIGHT = 20;

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Left and top edge of the grid. */
  readonly left: number;
  readonly top: number;
  /** Where captions begin. */
  readonly captions: number;
}

/** Places everything; `captionLines` lines of text stand below the grid. */
export function layoutOf(board: Board, captionLines: number, legend: boolean): Layout {
  const side = board.size * CELL;
  const width = Math.max(side + 2 * MARGIN, LEAST_WIDTH);
  const captions = MARGIN + side + 30;
  const height = captions + captionLines * LINE_HEIGHT + (legend ? LEGEND_HEIGHT : 0);
  return { width, height, left: (width - side) / 2, top: MARGIN, captions };
}

export function centre(layout: Layout, [row, column]: Cell): [x: number, y: number] {
  return [layout.left + (column + 0.5) * CELL, layout.top + (row + 0.5) * CELL];
}

/** A whole picture around `layers`. `description` is what a screen reader says. */
export function picture(layout: Layout, layers: readonly string[], description: string, options: PictureOptions, style = ""): string {
  const theme = options.theme ?? "auto";
  const { width, height } = layout;
  return element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      class: `ew-${theme}`,
      viewBox: `0 0 ${round(width)} ${round(height)}`,
      width,
      height,
      role: "img",
      "font-family": "DejaVu Sans, Verdana, sans-serif",
    },
    [
      element("title", {}, escapeText(options.title ?? "MAPF-FrozenLake board")),
      element("desc", {}, escapeText(description)),
      `<style>${themeStyle(theme)}${style === "" ? "" : `\n${style}`}</style>`,
      element("rect", { class: "ew-page", width, height, rx: 10 }),
      ...layers,
      "\n",
    ],
  );
}

/** The board with its agents at their starts. */
export function boardSvg(board: Board, options: PictureOptions = {}): string {
  const legend = options.legend ?? true;
  const lines = wrapped(options.caption ?? "", Math.floor(layoutOf(board, 0, legend).width / 8));
  const layout = layoutOf(board, Math.max(lines.length, options.lines ?? 0), legend);
  const told = lines.map((line, i) => text(line, { class: "ew-ink", x: 24, y: layout.captions + i * LINE_HEIGHT, "font-size": 12 }));
  const discs = board.agents.map(({ start }, agent) => discAt(agent, centre(layout, start)));
  const layers = [...ground(board, layout), goals(board, layout), ...discs, ...told, ...(legend ? [legendRow(layout)] : [])];
  return picture(layout, layers, describeBoard(board), options);
}

export function describeBoard({ size, holes, agents }: Board): string {
  const at = ([row, column]: Cell) => `row ${row}, column ${column}`;
  return [
    `A ${size} by ${size} grid with ${counted(holes.length, "hole")} and ${counted(agents.length, "agent")}.`,
    ...(holes.length === 0 ? [] : [`Holes: ${holes.map(at).join("; ")}.`]),
    ...agents.map(({ start, goal }, i) => `Agent ${i} starts at ${at(start)} and has its goal at ${at(goal)}.`),
  ].join(" ");
}

/** Ice, holes and the numbers of rows and columns. */
export function ground({ size, holes }: Board, layout: Layout): string[] {
  const isHole = new Set(holes.map(([row, column]) => row * size + column));
  const cells: string[] = [];
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const [x, y] = centre(layout, [row, column]);
      const half = CELL / 2 - 1.5;
      cells.push(
        element("rect", { class: "ew-ice", x: x - half, y: y - half, width: 2 * half, height: 2 * half, rx: 6, "stroke-width": 1 }),
      );
      if (isHole.has(row * size + column)) cells.push(hole(x, y, 1));
    }
  }
  const numbers = Array.from({ length: size }, (_, i) => [
    label(String(i), layout.left + (i + 0.5) * CELL, layout.top - 10),
    label(String(i), layout.left - 14, layout.top + (i + 0.5) * CELL + 4),
  ]).flat();
  return [element("g", { class: "ew-ground" }, [...cells, ...numbers])];
}

function label(content: string, x: number, y: number): string {
  return text(content, { class: "ew-faint", x, y, "font-size": 11, "text-anchor": "middle" });
}

function hole(x: number, y: number, scale: number): string {
  const [rx, ry] = [22 * scale, 19 * scale];
  return element("g", { class: "ew-hole" }, [
    element("ellipse", { class: "ew-water", cx: x, cy: y, rx, ry, "stroke-width": 2 * scale }),
    ...[
      [-7, 13],
      [0, 9],
      [7, 12],
    ].map(([dy, w]) =>
      element("path", {
        class: "ew-ripple",
        d: `M${round(x - w! * scale)} ${round(y + dy! * scale)}q${round((w! / 2) * scale)} ${round(-4 * scale)} ${round(w! * scale)} 0t${round(w! * scale)} 0`,
        "stroke-width": 1.5 * scale,
        "stroke-linecap": "round",
      }),
    ),
  ]);
}

/** Frames with flags; an agent's disc leaves both to be seen. */
export function goals(board: Board, layout: Layout): string {
  return element(
    "g",
    { class: "ew-goals" },
    board.agents.map(({ goal }, agent) => goalAt(agent, ...centre(layout, goal), 1, String(agent))),
  );
}

function goalAt(agent: number, x: number, y: number, scale: number, number: string): string {
  const [fill, ink] = colour(agent);
  const half = 23 * scale;
  const right = x + half;
  const top = y - half;
  return element("g", { class: "ew-goal" }, [
    element("rect", {
      x: x - half,
      y: top,
      width: 2 * half,
      height: 2 * half,
      rx: 7 * scale,
      fill: "none",
      stroke: fill,
      "stroke-width": 3.5 * scale,
    }),
    element("path", {
      d: `M${round(right + 2 * scale)} ${round(top - 2 * scale)}h${round(-17 * scale)}v${round(15 * scale)}h${round(17 * scale)}l${round(-4 * scale)} ${round(-7.5 * scale)}z`,
      fill,
    }),
    text(number, {
      x: right - 8.5 * scale,
      y: top + 9.6 * scale,
      "font-size": 11 * scale,
      "font-weight": "bold",
      "text-anchor": "middle",
      fill: ink,
    }),
  ]);
}

/** Dashed rings where agents came from. */
export function starts(board: Board, layout: Layout): string {
  return element(
    "g",
    { class: "ew-starts" },
    board.agents.map(({ start }, agent) => startAt(agent, ...centre(layout, start), 1, String(agent))),
  );
}

function startAt(agent: number, x: number, y: number, scale: number, number: string): string {
  return element("g", { class: "ew-start" }, [
    element("circle", {
      cx: x,
      cy: y,
      r: 15 * scale,
      fill: "none",
      stroke: colour(agent)[0],
      "stroke-width": 2.5 * scale,
      "stroke-dasharray": `${round(4 * scale)} ${round(3.2 * scale)}`,
    }),
    text(number, { class: "ew-faint", x, y: y + 4.5 * scale, "font-size": 12 * scale, "text-anchor": "middle" }),
  ]);
}

/** An agent's disc with its number. `attributes` go to its group. */
export function discAt(agent: number, [x, y]: readonly [number, number], attributes: Readonly<Record<string, string>> = {}): string {
  const [fill, ink] = colour(agent);
  return element("g", { class: "ew-agent", "data-agent": agent, ...attributes }, [
    element("circle", { class: "ew-disc", cx: x, cy: y, r: 15, fill, "stroke-width": 2 }),
    text(String(agent), { x, y: y + 5.5, "font-size": 16, "font-weight": "bold", "text-anchor": "middle", fill: ink }),
  ]);
}

export function colour(agent: number): readonly [fill: string, ink: string] {
  return AGENT_COLOURS[agent % AGENT_COLOURS.length]!;
}

/** What the marks mean, along the lower edge; with a start ring only where pictures show one. */
export function legendRow(layout: Layout, withStarts = false): string {
  const y = layout.height - 17;
  const marks: [string, (x: number) => string][] = [
    ["agent", (x) => element("g", { transform: `translate(${round(x)} ${y}) scale(.55)` }, discAt(0, [0, 0]))],
    ...(withStarts ? ([["start", (x: number) => startAt(0, x, y, 0.6, "0")]] satisfies [string, (x: number) => string][]) : []),
    ["goal", (x) => goalAt(0, x, y + 1, 0.42, "")],
    ["hole", (x) => hole(x, y, 0.5)],
  ];
  const pitch = 78;
  const from = layout.width / 2 - (pitch * marks.length) / 2 + 14;
  return element(
    "g",
    { class: "ew-legend" },
    marks.map(
      ([name, mark], i) => mark(from + i * pitch) + text(name, { class: "ew-faint", x: from + i * pitch + 16, y: y + 4, "font-size": 11 }),
    ),
  );
}
