/** Pictures into pixels: PNG and GIF. Needs Node (the rasteriser is native); everything else in this folder is text. Fonts are shipped ones. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { Resvg } from "@resvg/resvg-js";
import type { Board } from "../environments/mapf-frozenlake/instance.js";
import { type BesideOptions, type Panel, stagesBeside } from "./beside.js";
import type { PictureOptions } from "./board-svg.js";
import { momentSvg, type Stage, stageOf } from "./moment-svg.js";
import { type DrawnPlan, replay } from "./replay.js";
import { element } from "./svg-text.js";
import type { Theme } from "./theme.js";
import { MOVE, type Timeline, timelineOf } from "./timeline.js";

/** Pictures a move: one every 80 ms. */
const FRAMES_A_MOVE = 5;
/** One entry of the 256 stands for "as before". */
const MOST_COLOURS = 255;
/** Pictures that are rasterised at once: the rasteriser reads its fonts anew for every call. */
const SHEET = 12;
/** Pixels a unit; heights and widths of layouts are even, so that every picture of a sheet begins on a whole pixel. */
const GIF_ZOOM = 1.5;

interface Gifenc {
  GIFEncoder(): {
    /** `palette` with the first frame holds for all; `delay` in milliseconds; `repeat` 0: for ever. */
    writeFrame(
      index: Uint8Array,
      width: number,
      height: number,
      frame: { palette?: number[][]; delay: number; repeat?: number; transparent?: boolean; transparentIndex?: number },
    ): void;
    finish(): void;
    bytes(): Uint8Array;
  };
  quantize(rgba: Uint8Array, colours: number): number[][];
  applyPalette(rgba: Uint8Array, palette: number[][]): Uint8Array;
}

const require = createRequire(import.meta.url);
/** It comes without types, and its two builds export differently: this is the one that Node loads. */
const gifenc = require("gifenc") as Gifenc;
const fonts = join(require.resolve("dejavu-fonts-ttf/package.json"), "..", "ttf");

function render(svg: string, zoom: number) {
  return new Resvg(svg, {
    fitTo: { mode: "zoom", value: zoom },
    font: {
      loadSystemFonts: false,
      fontFiles: [join(fonts, "DejaVuSans.ttf"), join(fonts, "DejaVuSans-Bold.ttf")],
      defaultFontFamily: "DejaVu Sans",
    },
  }).render();
}

/** A PNG of a picture; an `auto` theme comes out light. `zoom` in pixels a unit. */
export function pngOf(svg: string, zoom = 2): Uint8Array {
  return render(svg, zoom).asPng();
}

interface Frame {
  step: number;
  /** Of the move to `step`. */
  share: number;
  /** Milliseconds. */
  delay: number;
}

/** A plan as a GIF that loops, with the times of the animated SVG. A GIF has one background for everybody: `auto` is light. */
export function animatedGif(board: Board, plan: DrawnPlan, options: PictureOptions = {}): Uint8Array {
  const played = replay(board, plan);
  return gifOf([stageOf(board, played, { ...options, theme: gifTheme(options) })], timelineOf(played));
}

/** Plans beside each other as a GIF that loops, by the clock of their animated SVG. */
export function animatedBesideGif(panels: readonly Panel[], options: BesideOptions = {}): Uint8Array {
  const { stages, timeline } = stagesBeside(panels, { ...options, theme: gifTheme(options) });
  return gifOf(stages, timeline);
}

const gifTheme = ({ theme }: PictureOptions): Theme => (theme === "dark" ? "dark" : "light");

function gifOf(stages: readonly Stage[], { moments }: Timeline): Uint8Array {
  const frames = moments.flatMap(({ step, moved, end }): Frame[] => [
    ...(step === 0 ? [] : tweens(step)),
    { step, share: 1, delay: end - moved },
  ]);
  const width = stages.reduce((sum, { layout }) => sum + layout.width, 0) * GIF_ZOOM;
  const height = Math.max(...stages.map(({ layout }) => layout.height)) * GIF_ZOOM;
  // Start and first broken step hold every colour there is; the other frames differ in the blends of edges only.
  const brokenFirst = stages.flatMap(({ played }) => played.broken.slice(0, 1).map(({ step }) => step));
  const told = [0, brokenFirst[0] ?? moments.length - 1].map((step) => ({ step, share: 1, delay: 0 }));
  const palette = gifenc.quantize(sheet(stages, told), MOST_COLOURS);
  const asBefore = palette.length;
  const table = [...palette, [0, 0, 0]];

  const gif = gifenc.GIFEncoder();
  let shown: Uint8Array | undefined;
  for (let first = 0; first < frames.length; first += SHEET) {
    const some = frames.slice(first, first + SHEET);
    const index = gifenc.applyPalette(sheet(stages, some), palette);
    some.forEach(({ delay }, i) => {
      const whole = index.subarray(i * width * height, (i + 1) * width * height);
      if (shown === undefined) gif.writeFrame(whole, width, height, { palette: table, delay, repeat: 0 });
      else {
        const before = shown;
        const changed = whole.map((colour, at) => (colour === before[at] ? asBefore : colour));
        gif.writeFrame(changed, width, height, { delay, transparent: true, transparentIndex: asBefore });
      }
      shown = whole;
    });
  }
  gif.finish();
  return gif.bytes();
}

/** The pictures between two steps; the first shows the move begun. They share the time of the move. */
function tweens(step: number): Frame[] {
  return Array.from({ length: FRAMES_A_MOVE }, (_, i) => ({ step, share: (i + 0.5) / FRAMES_A_MOVE, delay: MOVE / FRAMES_A_MOVE }));
}

/** RGBA of the frames below each other, each of all stages beside each other. */
function sheet(stages: readonly Stage[], frames: readonly Frame[]): Uint8Array {
  const height = Math.max(...stages.map(({ layout }) => layout.height));
  let width = 0;
  const pictures = stages.flatMap((stage) => {
    const x = width;
    width += stage.layout.width;
    return frames.map(({ step, share }, i) => momentSvg(stage, step, share).replace("<svg ", `<svg x="${x}" y="${i * height}" `));
  });
  const all = { xmlns: "http://www.w3.org/2000/svg", width, height: height * frames.length };
  // The page's rounded corners would be half transparent: a white sheet lies below.
  return render(element("svg", all, [element("rect", { width, height: all.height, fill: "#FFFFFF" }), ...pictures]), GIF_ZOOM).pixels;
}
