/** The dashboard in headless Chromium for tests: the page built anew, a browser, pages that fail on any error of their own. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { build } from "vite";
import { proposeBy } from "../src/cli/dashboard.js";
import type { Actions } from "../src/ui/server/app.js";
import { startUi, type UiOptions, type UiServer } from "../src/ui/server/serve.js";
import { MAIN, TSX } from "./run-cli.js";

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const HAS_CHROMIUM = existsSync(CHROMIUM);
if (!HAS_CHROMIUM) console.warn(`the dashboard's tests are skipped: no Chromium at ${CHROMIUM}; install it or set CHROMIUM`);

/** Chromium on a busy machine. */
export const PATIENCE = { timeout: 60_000 };
export const ROOT = resolve(import.meta.dirname, "..");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What the page may do: the command line from the sources asks engineers again. */
export const ACTIONS: Actions = {
  propose: (request, signal) => proposeBy([process.execPath, "--import", TSX, MAIN], request, signal),
};

export interface Opened {
  page: Page;
  /** Errors of the page, and requests to anywhere but its server. */
  faults: string[];
}
export interface OpenOptions {
  width?: number;
  scheme?: "light" | "dark";
  /** Address of the server. */
  base: string;
}

export class Dashboard {
  private constructor(
    readonly dir: string,
    readonly runs: string,
    private readonly pageDir: string,
    private readonly browser: Browser,
  ) {}

  static async start(): Promise<Dashboard> {
    const dir = mkdtempSync(join(tmpdir(), "envwright-page-"));
    const [runs, pageDir] = [join(dir, "runs"), join(dir, "page")];
    mkdirSync(runs);
    await build({ configFile: join(ROOT, "ui/vite.config.ts"), build: { outDir: pageDir } });
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
    return new Dashboard(dir, runs, pageDir, browser);
  }

  serve(more: Partial<UiOptions> = {}): Promise<UiServer> {
    return startUi({ runs: this.runs, pageDir: this.pageDir, port: 0, ...more });
  }

  async open(hash: string, { width = 1200, scheme = "light", base }: OpenOptions): Promise<Opened> {
    const page = await this.browser.newPage({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      reducedMotion: "reduce",
      acceptDownloads: true,
    });
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" && !/Failed to load resource|ERR_/.test(message.text())) faults.push(message.text());
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(base) && !/^(data|blob):/.test(request.url())) faults.push(`request to ${request.url()}`);
    });
    await page.goto(`${base}${hash}`);
    await page.locator("h1").waitFor(PATIENCE);
    return { page, faults };
  }

  async close(): Promise<void> {
    await this.browser.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Goes to another view of the same page, and waits until it has read what it shows. */
export async function visit(page: Page, address: string): Promise<void> {
  await page.goto("about:blank");
  await page.goto(address);
  await page.locator("h1").waitFor(PATIENCE);
  await page.locator(".loading").waitFor({ state: "detached", ...PATIENCE });
}

/** What axe finds wrong: rule and elements. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | ')))",
  )) as string[];
}
