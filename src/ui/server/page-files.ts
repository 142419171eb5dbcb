/** The built page as it lies in the package: its document, script and style, by name from a list made once. Nothing else is ever read. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import type { Context } from "hono";
import { PACKAGE_ROOT } from "../../store/index.js";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

export const PAGE_DIR = join(PACKAGE_ROOT, "dist", "ui", "page");
const lists = new Map<string, ReadonlyMap<string, string>>();

/** URL path → file, for every file of the page. */
function filesOf(dir: string): ReadonlyMap<string, string> {
  const known = lists.get(dir);
  if (known !== undefined) return known;
  const names = existsSync(dir) ? readdirSync(dir, { recursive: true, encoding: "utf8" }) : [];
  const files = new Map(names.filter((n) => extname(n) in TYPES).map((n) => [`/${n.split(sep).join("/")}`, join(dir, n)]));
  if (files.size > 0) lists.set(dir, files);
  return files;
}

export function pageFile(c: Context, dir: string = PAGE_DIR): Response {
  const files = filesOf(dir);
  if (files.size === 0) {
    return c.text("The page is not built. In a checkout: npm run build. Then reload.\n", 503);
  }
  const path = c.req.path === "/" ? "/index.html" : c.req.path;
  const file = files.get(path);
  if (file === undefined) return c.text("There is no such page. The dashboard is at /\n", 404);
  const hashed = path.startsWith("/assets/");
  return c.body(readFileSync(file), 200, {
    "Content-Type": TYPES[extname(file)]!,
    "Cache-Control": hashed ? "public, max-age=31536000, immutable" : "no-cache",
  });
}
