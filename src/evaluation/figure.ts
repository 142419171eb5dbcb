/** Panels into one figure, and the figure into a PNG: what drawing without a browser needs. Knows nothing of reports. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { Resvg } from "@resvg/resvg-js";
import { parseHTML } from "linkedom";

/** What is used of an SVG element; the project compiles without the browser's types. */
export interface Drawing {
  readonly outerHTML: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  querySelectorAll(selector: string): Iterable<{ remove(): void }>;
}

export interface Panel {
  title: string;
  svg: Drawing;
}

const TITLE_HEIGHT = 34;
const PANEL_TITLE_HEIGHT = 20;
const GAP = 16;
/** The PNG has two pixels for a unit of the drawing. */
const ZOOM = 2;

/** A document for Observable Plot to draw into. */
export function newDocument() {
  return parseHTML("<!doctype html><html><body></body></html>").document;
}

/** Rows of panels under one title, as the text of one SVG. */
export function composeFigure(figure: { title: string; rows: readonly (readonly Panel[])[] }): string {
  let y = TITLE_HEIGHT;
  let width = 0;
  const parts: string[] = [];
  for (const row of figure.rows) {
    let x = GAP;
    let height = 0;
    for (const panel of row) {
      const [w, h] = ["width", "height"].map((name) => Number(panel.svg.getAttribute(name))) as [number, number];
      parts.push(text(panel.title, x + 4, y + 13, 12, "bold"));
      parts.push(embed(panel.svg, x, y + PANEL_TITLE_HEIGHT));
      x += w + GAP;
      height = Math.max(height, h + PANEL_TITLE_HEIGHT);
    }
    width = Math.max(width, x);
    y += height + GAP;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" viewBox="0 0 ${width} ${y}" font-family="DejaVu Sans, sans-serif">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    text(figure.title, GAP + 4, 22, 15, "bold"),
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

export function renderPng(svg: string): Uint8Array {
  const fonts = join(createRequire(import.meta.url).resolve("dejavu-fonts-ttf/package.json"), "..", "ttf");
  const image = new Resvg(svg, {
    fitTo: { mode: "zoom", value: ZOOM },
    background: "white",
    font: {
      loadSystemFonts: false,
      fontFiles: [join(fonts, "DejaVuSans.ttf"), join(fonts, "DejaVuSans-Bold.ttf")],
      defaultFontFamily: "DejaVu Sans",
    },
  });
  return image.render().asPng();
}

/** A panel at a place. Plot's style sheet is for pages (it would match by class over the whole document); what it sets is set here. */
function embed(svg: Drawing, x: number, y: number): string {
  for (const style of svg.querySelectorAll("style")) style.remove();
  svg.setAttribute("x", String(x));
  svg.setAttribute("y", String(y));
  svg.setAttribute("fill", "currentColor");
  svg.setAttribute("color", "#222");
  return svg.outerHTML;
}

function text(content: string, x: number, y: number, size: number, weight: string): string {
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x}" y="${y}" font-size="${size}" font-weight="${weight}" fill="#222">${escaped}</text>`;
}
