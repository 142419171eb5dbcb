/**
 * The dashboard's pictures for the README and the docs, from real runs:
 *
 *     npx tsx scripts/screenshots.ts RUNS_DIR RUN_ID [--out docs/images] [--dark] [--width 1180] [--page dist/ui/page]
 *
 * RUNS_DIR is a folder of runs, RUN_ID one of them. Needs a built page (npm run build) and Chromium (CHROMIUM, or /usr/bin/chromium).
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import type { RolloutPage } from "../src/ui/records.js";
import { startUi } from "../src/ui/server/serve.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: "string", default: "docs/images" },
    dark: { type: "boolean", default: false },
    width: { type: "string", default: "1180" },
    page: { type: "string" },
    full: { type: "boolean", default: false },
  },
});
const QUERY = `SELECT stage, stratum AS size, count(*) AS n, avg(tokens) AS tokens, avg((code = 'hole')::INT) AS into_holes
FROM rollouts
WHERE set = 'training' AND stratum IN ('3', '7')
GROUP BY ALL
ORDER BY ALL
LIMIT 8`;
const [runs, run] = positionals;
if (runs === undefined || run === undefined) throw new Error("usage: tsx scripts/screenshots.ts RUNS_DIR RUN_ID");

const server = await startUi({ runs, port: 0, ...(values.page === undefined ? {} : { pageDir: values.page }) });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const width = Number(values.width);
  const page = await browser.newPage({
    viewport: { width, height: 860 },
    colorScheme: values.dark ? "dark" : "light",
    reducedMotion: "reduce",
  });
  page.on("console", (message) => message.type() === "error" && console.error(message.text()));
  page.on("pageerror", (error) => console.error(error.message));
  const id = encodeURIComponent(run);
  const found = (await (
    await fetch(`${server.url}api/runs/${id}/rollouts?set=validation&stage=2&code=vertex-conflict&agents=3&order=tokens&direction=desc`)
  ).json()) as RolloutPage;
  const rollout = found.rows[0];
  const views: Record<string, string> = {
    runs: "#/runs",
    run: `#/run/${id}`,
    stage: `#/run/${id}/stage/2`,
    rollouts: `#/run/${id}/rollouts?set=training&code=swap-conflict`,
    ...(rollout === undefined ? {} : { board: `#/run/${id}/rollout/validation/${rollout.stage}/${encodeURIComponent(rollout.id)}` }),
    sql: `#/run/${id}/rollouts?${new URLSearchParams({ sql: QUERY })}`,
    experiments: "#/experiments",
    benchmarks: "#/benchmarks",
  };
  const list = (await (await fetch(`${server.url}api/runs`)).json()) as { id: string }[];
  const others = list.map((r) => r.id).filter((r) => r !== run && r.endsWith(run.slice(-1)));
  if (others.length > 0) views.compare = `#/compare?runs=${[run, ...others.slice(0, 2)].map(encodeURIComponent).join(",")}`;
  for (const [name, hash] of Object.entries(views)) {
    await page.goto("about:blank");
    await page.goto(`${server.url}${hash}`);
    await page.waitForSelector("h1");
    await page.locator(".loading").waitFor({ state: "detached" });
    if (name === "sql") {
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.waitForSelector(".answer");
    }
    await page.waitForTimeout(400);
    if (name === "board") {
      const button = page.getByRole("button", { name: "to the broken rule" });
      if (await button.isVisible()) await button.click();
      await page.waitForTimeout(200);
    }
    const height = await page.evaluate(
      () => (globalThis as unknown as { document: { documentElement: { scrollHeight: number } } }).document.documentElement.scrollHeight,
    );
    const path = join(values.out, `ui-${name}.png`);
    await page.setViewportSize({ width, height: values.full ? height : Math.min(height, 1500) });
    await page.screenshot({ path });
    await page.setViewportSize({ width, height: 860 });
    console.log(path);
  }
} finally {
  await browser.close();
  await server.close();
}
