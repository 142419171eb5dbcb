/**
 * The dashboard as people meet it: in headless Chromium, on stored runs and on runs that go on. Chromium is CHROMIUM or /usr/bin/chromium;
 * without one the suite is skipped and says so.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { RunFolder } from "../src/store/index.js";
import type { RolloutPage } from "../src/ui/records.js";
import { startUi, type UiOptions, type UiServer } from "../src/ui/server/serve.js";
import { callCli } from "./call-cli.js";
import { runCli } from "./run-cli.js";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const ROOT = resolve(import.meta.dirname, "..");
/** Chromium on a busy machine. */
const PATIENCE = { timeout: 30_000 };
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
if (!existsSync(CHROMIUM)) console.warn(`ui.slow.test.ts is skipped: no Chromium at ${CHROMIUM}; install it or set CHROMIUM`);

describe.skipIf(!existsSync(CHROMIUM))("the dashboard in Chromium", () => {
  const dir = mkdtempSync(join(tmpdir(), "envwright-page-"));
  const runs = join(dir, "runs");
  const pageDir = join(dir, "page");
  let browser: Browser;
  let server: UiServer;
  const serve = (more: Partial<UiOptions> = {}) => startUi({ runs, pageDir, port: 0, ...more });

  beforeAll(async () => {
    mkdirSync(runs);
    await build({ configFile: join(ROOT, "ui/vite.config.ts"), build: { outDir: pageDir } });
    const smoke = ["run", "smoke", "--quiet", "--workers", "1", "--json"];
    expect((await callCli([...smoke, "--out", join(runs, "stored")])).code).toBe(0);
    expect((await callCli([...smoke, "--out", join(runs, "other"), "--set", "engineer.name=rule"])).code).toBe(0);
    const evaluated = await callCli(["eval", "--policy", "random", "--set", "bench-3", "--limit", "40", "--out", join(runs, "evaluated")]);
    expect([evaluated.code, evaluated.stderr]).toEqual([0, expect.any(String)]);
    const experiment = join(runs, "engineers");
    mkdirSync(experiment);
    cpSync(join(ROOT, "docs/results/engineers.json"), join(experiment, "results.json"));
    writeFileSync(
      join(experiment, "matrix.json"),
      JSON.stringify(parse(readFileSync(join(ROOT, "recipes/experiments/engineers.yaml"), "utf8"))),
    );
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
    server = await serve();
  }, 400_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** A page that fails the test on any error of its own and on any request to elsewhere. */
  async function open(hash: string, options: { width?: number; scheme?: "light" | "dark"; base?: string } = {}) {
    const { width = 1200, scheme = "light", base = server.url } = options;
    const page = await browser.newPage({
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
    await page.waitForSelector("h1");
    return { page, faults };
  }

  async function failing(run = "stored"): Promise<{ id: string; stage: number; code: string }> {
    const page = (await (
      await fetch(`${server.url}api/runs/${run}/rollouts?code=vertex-conflict,swap-conflict,hole`)
    ).json()) as RolloutPage;
    const { id, stage, code } = page.rows[0]!;
    return { id, stage, code: code! };
  }

  const views = async (): Promise<Record<string, string>> => {
    const { id, stage } = await failing();
    return {
      runs: "#/runs",
      run: "#/run/stored",
      stage: "#/run/stored/stage/0",
      "last stage": "#/run/stored/stage/1",
      rollouts: "#/run/stored/rollouts?set=training",
      rollout: `#/run/stored/rollout/validation/${stage}/${encodeURIComponent(id)}`,
      compare: "#/compare?runs=stored,other",
      experiments: "#/experiments",
      benchmarks: "#/benchmarks",
      "no such run": "#/run/nothing",
    };
  };

  test("every view is clean under axe in light and dark, says what it is, and asks nobody else", async () => {
    for (const [name, hash] of Object.entries(await views())) {
      for (const scheme of ["light", "dark"] as const) {
        const { page, faults } = await open(name === "no such run" ? "#/runs" : hash, { scheme });
        if (name === "no such run") {
          await page.goto(`${server.url}${hash}`);
          await page.getByRole("alert").waitFor();
        }
        await page.locator(".loading").waitFor({ state: "detached" });
        await page.evaluate(AXE);
        const violations = (await page.evaluate(
          "axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | ')))",
        )) as string[];
        expect([name, scheme, violations.filter((v) => !(name === "no such run" && v.startsWith("page-has-heading-one")))]).toEqual([
          name,
          scheme,
          [],
        ]);
        expect([name, faults]).toEqual([name, []]);
        await page.close();
      }
    }
  });

  test("a phone's width needs no sideways scrolling of the page", async () => {
    for (const [name, hash] of Object.entries(await views())) {
      if (name === "no such run") continue;
      const { page } = await open(hash, { width: 360 });
      await page.locator(".loading").waitFor({ state: "detached" });
      const width = await page.evaluate("document.documentElement.scrollWidth");
      expect([name, width]).toEqual([name, 360]);
      await page.close();
    }
  });

  test("the player steps by buttons and keys, shows the broken rule at its step, and saves pictures", async () => {
    const { id, stage } = await failing();
    const { page, faults } = await open(`#/run/stored/rollout/validation/${stage}/${encodeURIComponent(id)}`);
    const slider = page.getByLabel("Step", { exact: true });
    expect(await page.locator(".alarm").count()).toBe(0);
    await page.getByRole("button", { name: "to the broken rule" }).click();
    expect(await page.locator(".alarm").count()).toBeGreaterThan(0);
    const said = await page.locator(".broken-line").textContent();
    const reason = await page.locator(".bad-text").textContent();
    expect(said).toContain(reason!.replace(/^step \d+: /, ""));
    const at = Number(await slider.inputValue());
    await page.locator("h1").click();
    await page.keyboard.press("ArrowLeft");
    expect(Number(await slider.inputValue())).toBe(at - 1);
    await page.keyboard.press("End");
    const last = Number(await slider.inputValue());
    expect(last).toBe(Number(await slider.getAttribute("max")));
    await page.keyboard.press("Home");
    expect(await slider.inputValue()).toBe("0");
    await page.getByLabel("speed").selectOption("4");
    await page.locator("h1").click();
    await page.keyboard.press("Space");
    await expect.poll(() => slider.inputValue(), PATIENCE).toBe(String(last));
    expect(await page.getByRole("button", { name: "Play" }).count()).toBe(1);
    for (const [name, start] of [
      ["plan as GIF", "GIF89a"],
      ["as SVG", "<svg"],
    ] as const) {
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name }).first().click()]);
      expect(readFileSync(await download.path(), "latin1").slice(0, start.length)).toBe(start);
    }
    expect(faults).toEqual([]);
    await page.close();
  });

  test("filters narrow the rollouts, stand in the address, and the query under them follows", async () => {
    const { page } = await open("#/run/stored/rollouts");
    const found = async (): Promise<number> => Number((await page.locator(".found strong").textContent())!.replaceAll(",", ""));
    await page.waitForSelector(".found");
    const all = await found();
    await page.getByLabel("code").selectOption("hole");
    await page.getByLabel("size").selectOption("4");
    await page.getByLabel("agents").selectOption("3");
    const sql = (): Promise<string | null> => page.locator(".sql").textContent();
    await expect.poll(sql, PATIENCE).toMatch(/string_split\('4'[\s\S]*string_split\('3'[\s\S]*string_split\('hole'/);
    const some = await found();
    expect(some).toBeLessThan(all);
    const address = page.url();
    expect(address).toContain("code=hole&size=4&agents=3");
    await page.reload();
    await page.waitForSelector(".found");
    expect(await found()).toBe(some);
    await page.getByRole("button", { name: "clear" }).click();
    await expect.poll(found, PATIENCE).toBe(all);
    await page.getByLabel("set").selectOption("training");
    await page.getByLabel("reward from").fill("0.5");
    await expect.poll(sql, PATIENCE).toMatch(/reward >= 0.5/);
    await page.locator(".rollouts tbody a").first().click();
    await page.waitForSelector(".player");
    await page.close();
  });

  test("ticked runs are compared", async () => {
    const { page } = await open("#/runs");
    await page.getByLabel("Compare stored").check();
    await page.getByLabel("Compare other").check();
    await page.getByRole("link", { name: "Compare 2 runs" }).click();
    await page.waitForSelector(".curves");
    expect(await page.getByRole("row", { name: /engineer.name/ }).textContent()).toMatch(/self|rule/);
    expect(await page.locator(".forest").getAttribute("aria-label")).toMatch(/other: [+−]|stored: [+−]/);
    await page.close();
  });

  test("what a model wrote is text, whatever it says", async () => {
    const evil = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>";
    const copy = join(runs, "evil");
    cpSync(join(runs, "stored"), copy, { recursive: true });
    const folder = await RunFolder.resume(copy);
    await folder.writeText(0, "context.md", evil);
    folder.close();
    const { page } = await open("#/run/evil/stage/0");
    await page.getByText("<img src=x onerror").waitFor();
    expect([await page.title(), await page.locator("main img").count()]).toEqual(["Envwright", 0]);
    await page.close();
    rmSync(copy, { recursive: true });
  });

  test("a run that goes on is followed without reloading, over a restart of the server", async () => {
    let own = await serve();
    const { port } = own;
    const out = join(runs, "live");
    const ended = runCli(["run", "smoke", "--out", out, "--quiet", "--workers", "1", "--seed", "7"]);
    const { page } = await open("#/runs", { base: own.url });
    await page.getByRole("link", { name: "live", exact: true }).click({ timeout: 60_000 });
    await page.waitForSelector(".loop li.on", { timeout: 60_000 });
    await page.evaluate("window.mark = 1");
    await own.close();
    await page.getByText("The server does not answer").waitFor({ timeout: 20_000 });
    own = await serve({ port });
    await page.getByText("The server does not answer").waitFor({ state: "detached", timeout: 20_000 });
    await page.locator(".state.finished").waitFor({ timeout: 120_000 });
    expect((await ended).code).toBe(0);
    await page.getByRole("link", { name: "Stage 1", exact: true }).first().waitFor();
    expect(await page.locator(".rate.valid circle").count()).toBe(3);
    expect(await page.evaluate("window.mark")).toBe(1);
    expect(await page.locator(".loop").count()).toBe(0);
    await page.close();
    await own.close();
  });

  test("a person's approval on the page changes the next stage", async () => {
    const { proposeAction } = await import("../src/cli/dashboard.js");
    const own = await serve({ actions: { propose: proposeAction } });
    const out = join(runs, "asked");
    const ended = runCli(["run", "smoke", "--out", out, "--quiet", "--workers", "1", "--set", "engineer.name=human"]);
    const { page } = await open("#/runs", { base: own.url });
    await page.locator(".run-card.waiting a").click({ timeout: 120_000 });
    await page.getByRole("link", { name: "Answer in stage 0" }).click();
    await page.getByLabel("size 3, wait, per cent").fill("90");
    await page.getByLabel("Why (kept with the run)").fill("Waits are what fails.");
    await page.getByRole("button", { name: "Approve for the next stage" }).click();
    await page.getByText(/What changes for stage 1/).waitFor({ timeout: 60_000 });
    expect((await ended).code).toBe(0);
    const config = JSON.parse(readFileSync(join(out, "stages/01/config.json"), "utf8"));
    expect(config.normalised.sizes["3"].wait_ratio).toBe(0.9);
    expect(config.provenance).toMatchObject({ source: "proposal", engineer: "human" });
    expect(JSON.parse(readFileSync(join(out, "stages/00/proposal.json"), "utf8")).rationale).toBe("Waits are what fails.");
    await page.close();
    await own.close();
  });
});
