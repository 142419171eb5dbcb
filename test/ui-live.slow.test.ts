/** The dashboard beside runs that go on, in headless Chromium: followed without reloading, over restarts of server and run; a person's approval. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ACTIONS, Dashboard, HAS_CHROMIUM, PATIENCE, violations } from "./dashboard-page.js";
import { MAIN, runCli, TSX } from "./run-cli.js";

describe.skipIf(!HAS_CHROMIUM)("the dashboard in Chromium, beside runs that go on", () => {
  let dashboard: Dashboard;
  beforeAll(async () => {
    dashboard = await Dashboard.start();
  }, 120_000);
  afterAll(() => dashboard?.close());
  const smoke = (out: string, ...more: string[]) => ["run", "smoke", "--out", out, "--quiet", "--workers", "1", ...more];

  test("a run is followed without reloading, over a restart of the server and one of the run", async () => {
    let own = await dashboard.serve();
    const { port } = own;
    const out = join(dashboard.runs, "live");
    const run = smoke(out, "--seed", "7", "--set", "trainer.grpo.steps=12");
    const started: ChildProcess = spawn(process.execPath, ["--import", TSX, MAIN, ...run], { stdio: "ignore" });
    const stopped = new Promise<number | null>((done) => started.once("close", done));
    const { page, faults } = await dashboard.open("#/runs", { base: own.url });
    await page.getByRole("link", { name: "live", exact: true }).click({ timeout: 120_000 });
    await page.waitForSelector(".loop li.on", { timeout: 120_000 });
    // Held where it is, so that it cannot finish before it is interrupted, however slow the browser.
    started.kill("SIGSTOP");
    await page.evaluate("window.mark = 1");

    await own.close();
    await page.getByText("The server does not answer").waitFor(PATIENCE);
    own = await dashboard.serve({ port });
    await page.getByText("The server does not answer").waitFor({ state: "detached", ...PATIENCE });

    await page.waitForSelector(".state.running", PATIENCE);
    started.kill("SIGINT");
    started.kill("SIGCONT");
    expect(await stopped).toBe(130);
    await page.locator(".state.interrupted").waitFor(PATIENCE);
    await page.getByText("envwright run --resume").waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await page.locator(".loop").count()).toBe(0);

    const ended = runCli(["run", "--resume", out, "--quiet"]);
    await page.locator(".state.running").waitFor({ timeout: 120_000 });
    await page.locator(".state.finished").waitFor({ timeout: 240_000 });
    expect((await ended).code).toBe(0);
    await page.getByRole("link", { name: "Stage 1", exact: true }).first().waitFor(PATIENCE);
    await expect.poll(() => page.locator(".rate.valid circle").count(), PATIENCE).toBe(3);
    expect(await page.evaluate("window.mark")).toBe(1);
    expect(await page.locator(".loop").count()).toBe(0);
    expect(faults).toEqual([]);
    await page.close();
    await own.close();
  });

  test("a person's approval on the page changes the next stage; the stage's view follows by the stream alone", async () => {
    const own = await dashboard.serve({ actions: ACTIONS });
    const out = join(dashboard.runs, "asked");
    const ended = runCli(smoke(out, "--set", "engineer.name=human"));
    const { page } = await dashboard.open("#/runs", { base: own.url });
    await page.locator(".run-card.waiting a").click({ timeout: 240_000 });
    await page.getByRole("link", { name: "Answer in stage 0" }).click();
    await page.getByLabel("size 3, wait ratio, per cent").fill("90");
    expect(await violations(page)).toEqual([]);
    const asked: string[] = [];
    // The stream begins with the state of the run, on which the view asks once more.
    await page.waitForTimeout(3000);
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.waitForTimeout(4000);
    // No polling: while nothing happens nothing is asked.
    expect(asked).toEqual([]);
    await page.getByLabel("Why (kept with the run)").fill("Waits are what fails.");
    await page.getByRole("button", { name: "Approve for the next stage" }).click();
    await page.getByText(/What changes for stage 1/).waitFor({ timeout: 120_000 });
    expect(await page.locator(".changes li", { hasText: "size 3 · wait ratio" }).textContent()).toContain("90 %");
    expect((await ended).code).toBe(0);
    const config = JSON.parse(readFileSync(join(out, "stages/01/config.json"), "utf8"));
    expect(config.normalised.sizes["3"].wait_ratio).toBe(0.9);
    expect(config.provenance).toMatchObject({ source: "proposal", engineer: "human" });
    expect(JSON.parse(readFileSync(join(out, "stages/00/proposal.json"), "utf8")).rationale).toBe("Waits are what fails.");
    await page.close();
    await own.close();
  });
});
