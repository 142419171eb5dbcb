/** The dashboard as people meet it, in headless Chromium on stored runs: every view, the player, filters and SQL, asking again. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { rolloutSchema } from "../src/core/index.js";
import { instanceSchema, mapfFrozenLake } from "../src/environments/mapf-frozenlake/index.js";
import { chat, startTestEndpoint } from "../src/policies/endpoint/test-endpoint.js";
import { RunFolder, readRows, writeParquet } from "../src/store/index.js";
import type { RolloutDetail, RolloutPage, RunDetail } from "../src/ui/records.js";
import type { UiServer } from "../src/ui/server/serve.js";
import { callCli } from "./call-cli.js";
import { ACTIONS, Dashboard, HAS_CHROMIUM, type OpenOptions, PATIENCE, ROOT, violations, visit } from "./dashboard-page.js";
import { folderBytes } from "./folder-bytes.js";

describe.skipIf(!HAS_CHROMIUM)("the dashboard in Chromium, on stored runs", () => {
  let dashboard: Dashboard;
  let runs: string;
  let server: UiServer;
  const open = (hash: string, options: Partial<OpenOptions> = {}) => dashboard.open(hash, { base: server.url, ...options });
  const answer = async <T>(path: string): Promise<T> => (await (await fetch(`${server.url}api/${path}`)).json()) as T;

  beforeAll(async () => {
    dashboard = await Dashboard.start();
    runs = dashboard.runs;
    const smoke = ["run", "smoke", "--quiet", "--workers", "1", "--json"];
    expect((await callCli([...smoke, "--out", join(runs, "stored")])).code).toBe(0);
    expect((await callCli([...smoke, "--out", join(runs, "other"), "--set", "engineer.name=rule"])).code).toBe(0);
    for (const policy of ["random", "oracle"]) {
      const evaluated = await callCli(["eval", "--policy", policy, "--set", "bench-3", "--limit", "40", "--out", join(runs, policy)]);
      expect([evaluated.code, evaluated.stderr]).toEqual([0, expect.any(String)]);
    }
    const experiment = join(runs, "engineers");
    mkdirSync(experiment);
    cpSync(join(ROOT, "docs/results/engineers.json"), join(experiment, "results.json"));
    writeFileSync(
      join(experiment, "matrix.json"),
      JSON.stringify(parse(readFileSync(join(ROOT, "recipes/experiments/engineers.yaml"), "utf8"))),
    );
    server = await dashboard.serve();
  }, 600_000);
  afterAll(async () => {
    await server?.close();
    await dashboard?.close();
  });

  async function rowsOf(path: string): Promise<unknown[]> {
    const rows: unknown[] = [];
    for await (const batch of readRows(path)) rows.push(...batch);
    return rows;
  }
  async function failing(): Promise<{ id: string; stage: number; address: string }> {
    const { id, stage } = (await answer<RolloutPage>("runs/stored/rollouts?code=vertex-conflict,swap-conflict,hole")).rows[0]!;
    return { id, stage, address: `#/run/stored/rollout/validation/${stage}/${encodeURIComponent(id)}` };
  }

  async function views(): Promise<Record<string, string>> {
    const sql = (text: string): string => `#/run/stored/rollouts?sql=${encodeURIComponent(text)}`;
    return {
      runs: "#/runs",
      run: "#/run/stored",
      stage: "#/run/stored/stage/0",
      "last stage": "#/run/stored/stage/1",
      rollouts: "#/run/stored/rollouts?set=training",
      "no rollouts": "#/run/stored/rollouts?size=99",
      "a query answered": sql("SELECT set, stage, id, code FROM rollouts LIMIT 3"),
      "a query refused": sql("SELECT nothing FROM rollouts"),
      rollout: (await failing()).address,
      compare: "#/compare?runs=stored,other",
      "nothing to compare": "#/compare",
      experiments: "#/experiments",
      benchmarks: "#/benchmarks",
      "no such run": "#/run/nothing",
      "no such stage": "#/run/stored/stage/9",
      "no such rollout": "#/run/stored/rollout/validation/0/none",
    };
  }

  test.each([
    ["light", 1200],
    ["dark", 1200],
    ["light", 360],
    ["dark", 360],
  ] as const)(
    "every view, %s and %i pixels wide, is clean under axe, needs no sideways scrolling, and asks nobody else",
    async (scheme, width) => {
      const { page, faults } = await open("#/runs", { scheme, width });
      for (const [name, hash] of Object.entries(await views())) {
        await visit(page, `${server.url}${hash}`);
        if (name.startsWith("a query")) {
          await page.getByRole("button", { name: "Run", exact: true }).click();
          await page.locator(".sql-box .answer, .sql-box .problem").waitFor(PATIENCE);
        }
        if (name.startsWith("no such")) await page.getByRole("alert").waitFor(PATIENCE);
        expect([name, await violations(page)]).toEqual([name, []]);
        expect([name, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([name, width]);
        expect([name, faults]).toEqual([name, []]);
      }
      await page.close();
    },
  );

  test("behind the picture of a run stand its numbers: the report's, stage by stage", async () => {
    const { report } = await answer<RunDetail>("runs/stored");
    const { page } = await open("#/run/stored");
    await page.getByText("Rates as a table").click();
    const rows = await page.locator("section[aria-label='Rates'] tbody tr").allTextContents();
    const percent = (rate: number): string => `${(100 * rate).toFixed(1)} %`;
    const checkpoints = [report.base, ...report.stages.map((s) => s.validation)];
    expect(rows).toHaveLength(checkpoints.length);
    checkpoints.forEach((v, i) => {
      expect(rows[i]).toContain(percent(v!.valid.rate));
      expect(rows[i]).toContain(["3", "4", "5"].map((s) => percent(v!.by_size[s]!.optimal.rate)).join(""));
    });
    await page.close();
  });

  test("a folder without runs says how to make one", async () => {
    const empty = join(dashboard.dir, "empty");
    mkdirSync(empty);
    const own = await dashboard.serve({ runs: empty });
    const { page } = await dashboard.open("#/runs", { base: own.url });
    for (const [hash, command] of [
      ["#/runs", "envwright run smoke"],
      ["#/experiments", "envwright experiment"],
      ["#/benchmarks", "envwright eval"],
    ]) {
      await visit(page, `${own.url}${hash}`);
      expect([hash, await page.locator(".empty pre").textContent()]).toEqual([hash, expect.stringContaining(command!)]);
      expect([hash, await violations(page)]).toEqual([hash, []]);
    }
    await page.close();
    await own.close();
  });

  test("the player steps by buttons and keys, shows the broken rule at its step, and both plans where they are", async () => {
    const { id, stage, address } = await failing();
    const { model, optimum } = await answer<RolloutDetail>(
      `runs/stored/rollout?${new URLSearchParams({ set: "validation", stage: String(stage), id })}`,
    );
    const { page, faults } = await open(address);
    const slider = page.getByLabel("Step", { exact: true });
    const at = async (): Promise<number> => Number(await slider.inputValue());
    const [policyBoard, optimalBoard] = [page.locator("svg.board").nth(0), page.locator("svg.board").nth(1)];
    const stands = async (step: number): Promise<void> => {
      for (const [board, track] of [
        [policyBoard, model],
        [optimalBoard, optimum],
      ] as const) {
        const [row, column] = track!.positions[Math.min(step, track!.positions.length - 1)]![0]!;
        expect(await board.getAttribute("aria-label")).toContain(`step ${step}: agent 0 at row ${row}, column ${column}`);
      }
    };
    await stands(0);
    expect(await page.locator(".alarm").count()).toBe(0);
    await page.getByRole("button", { name: "to the broken rule" }).click();
    expect(await at()).toBe(model!.broken[0]!.step);
    expect(await page.locator(".alarm").count()).toBeGreaterThan(0);
    expect(await policyBoard.getAttribute("aria-label")).toContain(`Broken: ${model!.broken[0]!.sentence}`);
    expect(await page.locator(".broken-line").textContent()).toContain(model!.broken[0]!.sentence);
    await page.locator("h1").click();
    await page.keyboard.press("ArrowLeft");
    expect(await at()).toBe(model!.broken[0]!.step - 1);
    await stands(model!.broken[0]!.step - 1);
    await page.keyboard.press("End");
    const last = Math.max(model!.positions.length, optimum!.positions.length) - 1;
    expect(await at()).toBe(last);
    await stands(last);
    await page.keyboard.press("Home");
    expect(await at()).toBe(0);
    await page.keyboard.press("ArrowRight");
    await stands(1);
    // Keys that come before the page is drawn again count one by one.
    const press = (...keys: string[]): Promise<void> =>
      page.evaluate(
        `for (const key of ${JSON.stringify(keys)}) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))`,
      );
    await press("End", "Home", "ArrowRight");
    await stands(1);
    await press("End", "ArrowLeft", "ArrowLeft");
    await stands(last - 2);
    await press("Home", "ArrowRight");
    await stands(1);
    await page.getByLabel("speed").selectOption("0.5");
    await page.locator("h1").click();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Play" }).waitFor();
    const stopped = await at();
    await page.waitForTimeout(1500);
    expect(await at()).toBe(stopped);
    await page.getByLabel("speed").selectOption("4");
    await page.locator("h1").click();
    await page.keyboard.press("Space");
    await expect.poll(at, PATIENCE).toBe(last);
    await page.getByRole("button", { name: "Play" }).waitFor();
    for (const [name, place, start, holds] of [
      ["plan as GIF", 0, "GIF89a", ""],
      ["as SVG", 0, "<svg", "@keyframes"],
      ["optimum as GIF", 0, "GIF89a", ""],
      ["as SVG", 1, "<svg", "@keyframes"],
    ] as const) {
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name }).nth(place).click()]);
      const bytes = readFileSync(await download.path(), "latin1");
      expect([name, bytes.slice(0, start.length), bytes.includes(holds)]).toEqual([name, start, true]);
    }
    expect(faults).toEqual([]);
    await page.close();
  });

  test("an answer without a plan is shown with its reason, on the board at its start", async () => {
    const copy = join(runs, "planless");
    cpSync(join(runs, "stored"), copy, { recursive: true });
    const path = join(copy, "stages/00/validation-rollouts.parquet");
    const rollouts = (await rowsOf(path)).map((row) => rolloutSchema.parse(row));
    const [board] = (await rowsOf(join(copy, "validation.parquet"))).map((row) => instanceSchema.parse(row));
    const completion = "<next>no plan";
    const verdict = mapfFrozenLake.verify(board!, completion, "stop", "compact");
    const planless = { ...rollouts[0]!, instance: board!.id, completion, verdict };
    await writeParquet(path, rolloutSchema, [planless, ...rollouts.slice(1)]);
    const { page, faults } = await open(`#/run/planless/rollout/validation/0/${encodeURIComponent(planless.id)}`);
    await page.getByText("The answer holds no plan that could be drawn").waitFor();
    expect([await page.locator("h1").textContent(), await page.locator(".bad-text").textContent()]).toEqual([verdict.code, verdict.reason]);
    expect(await page.locator("svg.board").first().getAttribute("aria-label")).toMatch(/^Plan of the policy, step 0: agent 0 at row \d/);
    const links = (name: string): Promise<number> => page.getByRole("link", { name }).count();
    expect([await links("plan as GIF"), await links("optimum as GIF")]).toEqual([0, 1]);
    expect([faults, await violations(page)]).toEqual([[], []]);
    await page.close();
    rmSync(copy, { recursive: true });
  });

  const sqlText = (page: Page): Promise<string> => page.getByLabel("SQL", { exact: true }).inputValue();
  const found = async (page: Page): Promise<number> =>
    Number((await page.locator(".found strong").last().textContent())!.replaceAll(/\D/g, ""));

  test("filters narrow the rollouts, stand in the address, and the query under them follows", async () => {
    const { page } = await open("#/run/stored/rollouts");
    await page.waitForSelector(".found");
    const all = await found(page);
    await page.getByText("The query under this filter").click();
    await page.getByLabel("code").selectOption("hole");
    await page.getByLabel("size").selectOption("4");
    await page.getByLabel("agents").selectOption("3");
    await expect.poll(() => sqlText(page), PATIENCE).toMatch(/stratum IN \('4'\)\s+AND agents IN \(3\)\s+AND code IN \('hole'\)/);
    const some = await found(page);
    expect(some).toBeLessThan(all);
    expect(page.url()).toContain("code=hole&size=4&agents=3");
    await page.reload();
    await page.waitForSelector(".found");
    expect(await found(page)).toBe(some);
    await page.getByRole("button", { name: "clear" }).click();
    await expect.poll(() => found(page), PATIENCE).toBe(all);
    await page.getByLabel("set").selectOption("training");
    await page.getByLabel("reward from").fill("0.5");
    await expect.poll(() => sqlText(page), PATIENCE).toMatch(/reward >= 0.5/);
    await page.locator(".rollouts tbody a").first().click();
    await page.waitForSelector(".player");
    await page.getByRole("link", { name: "all answers to it" }).click();
    await page.waitForSelector(".rollouts tbody tr");
    expect(new Set(await page.locator(".rollouts tbody tr td:nth-child(4)").allTextContents()).size).toBe(1);
    await page.getByRole("button", { name: /^Take away: instance/ }).click();
    await expect.poll(() => page.url()).not.toContain("instance=");
    await page.close();
  });

  test("every rollout in the list has a link of its own that leads to it", async () => {
    const { page } = await open("#/run/stored/rollouts?set=training");
    const links = await page.locator(".rollouts tbody a").evaluateAll((all) => all.map((a) => a.getAttribute("href")!));
    expect([links.length, new Set(links).size]).toEqual([50, 50]);
    for (const link of links) {
      const [set, stage, id] = link.split("/").slice(-3).map(decodeURIComponent);
      const detail = await answer<RolloutDetail>(`runs/stored/rollout?${new URLSearchParams({ set: set!, stage: stage!, id: id! })}`);
      expect([link, detail.id]).toEqual([link, id]);
    }
    await visit(page, `${server.url}${links.at(-1)}`);
    await page.waitForSelector(".player");
    await page.close();
  });

  test("the query can be changed and run: its answer, its links and its refusals stand below it, and in the address", async () => {
    const { page, faults } = await open("#/run/stored/rollouts?code=hole");
    await page.getByText("The query under this filter").click();
    const box = page.getByLabel("SQL", { exact: true });
    const shown = page.locator(".sql-box .answer");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await shown.waitFor(PATIENCE);
    const listed = await page.locator(".rollouts tbody a").allTextContents();
    expect(await shown.locator("tbody a").allTextContents()).toEqual(listed);
    await box.fill("SELECT code, count(*) AS n FROM rollouts WHERE set = 'validation' GROUP BY ALL ORDER BY n DESC");
    await box.press("Control+Enter");
    await expect.poll(() => shown.locator("thead").textContent(), PATIENCE).toBe("coden");
    const rows = await shown.locator("tbody tr").evaluateAll((all) => all.map((tr) => [...tr.children].map((td) => td.textContent)));
    const { codes } = await answer<RolloutPage>("runs/stored/rollouts");
    expect(Object.fromEntries(rows.map(([code, n]) => [code, Number(n)]))).toEqual(codes);
    // Whoever follows a link to it sees the query, and decides whether it is asked.
    const asked: string[] = [];
    page.on("request", (request) => request.url().includes("/sql?") && asked.push(request.url()));
    await page.reload();
    await page.getByText("has not been asked").waitFor(PATIENCE);
    expect(await box.inputValue()).toMatch(/^SELECT code, count/);
    await page.waitForTimeout(500);
    expect([asked, await shown.count()]).toEqual([[], 0]);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await expect.poll(() => shown.locator("thead").textContent(), PATIENCE).toBe("coden");
    expect(asked.length).toBe(1);
    const refusal = page.locator(".sql-box .problem");
    for (const [sql, words] of [
      ["SELECT m FROM rollouts", '"m" not found'],
      ["FROM read_csv('/etc/passwd')", "disabled by configuration"],
      ["DROP VIEW rollouts", "DROP is not answered here"],
      ["SELECT 1; SELECT 2", "the query has 2 statements"],
    ]) {
      await box.fill(sql!);
      await box.press("Control+Enter");
      await expect.poll(() => refusal.textContent(), PATIENCE).toContain(words);
      expect(await shown.count()).toBe(0);
    }
    await page.getByText("Tables and columns").click();
    await expect.poll(() => page.locator(".sql-tables dt").allTextContents(), PATIENCE).toEqual(["rollouts", "instances", "steps"]);
    await page.getByRole("button", { name: "back to the filter's query" }).click();
    await expect.poll(() => sqlText(page), PATIENCE).toContain("code IN ('hole')");
    expect(page.url()).not.toContain("sql=");
    expect(faults).toEqual([]);
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

  test("evaluations of one set are compared on the same boards, against whichever is chosen", async () => {
    const { page } = await open("#/benchmarks");
    const said = (): Promise<string | null> => page.locator(".forest").getAttribute("aria-label");
    await page.waitForSelector(".forest");
    expect(await said()).toMatch(/^random: valid −\d/);
    await page.getByLabel("against").selectOption("random");
    await expect.poll(said, PATIENCE).toMatch(/^oracle: valid \+\d/);
    expect(page.url()).toContain("against=random");
    await page.close();
  });

  test("a stored stage is asked again on the page: the answer stands beside what the run took, and the run stays as it is", async () => {
    const table = { "3": { data_ratio: 0.6, hole_ratio: 0.1, wait_ratio: 0.5 }, "4": { data_ratio: 0.3, hole_ratio: 0.1, wait_ratio: 0.25 }, "5": { data_ratio: 0.1, hole_ratio: 0.1, wait_ratio: 0.25 } }; // biome-ignore format: one table
    const endpoint = await startTestEndpoint(() =>
      chat([{ content: JSON.stringify({ rationale: "<b>Small boards first.</b>", config: table }) }]),
    );
    const own = await dashboard.serve({ actions: ACTIONS });
    const before = folderBytes(join(runs, "stored"));
    const { page, faults } = await dashboard.open("#/run/stored/stage/0", { base: own.url });
    const panel = page.locator("section[aria-label='Ask again']");
    const ask = async (): Promise<void> => {
      await panel.getByRole("button", { name: "Ask", exact: true }).click();
      await panel.getByRole("button", { name: "Ask", exact: true }).waitFor({ timeout: 120_000 });
    };
    const row = (size: string, knob: string): Promise<string[]> =>
      panel
        .locator("tbody tr", { has: page.locator(`th:text-is("${size}")`) })
        .filter({ hasText: knob })
        .locator("td")
        .allTextContents();

    await ask();
    await panel.getByText("the same as what the run took").waitFor(PATIENCE);

    await panel.getByLabel("engineer").selectOption("llm");
    await panel.getByLabel("language model").fill(`vllm:m@${endpoint.baseUrl}`);
    await ask();
    await panel.getByText("llm, V6").waitFor(PATIENCE);
    // A page shows it as text.
    await panel.getByText("<b>Small boards first.</b>").first().waitFor();
    const taken = JSON.parse(readFileSync(join(runs, "stored/stages/00/proposal.json"), "utf8")).config.sizes;
    const shown = await row("3", "data ratio");
    expect(shown[2]).toMatch(new RegExp(`^${(100 * taken["3"].data_ratio).toFixed(1)} %`));
    expect(shown[3]).toMatch(/^60\.0 % [+−]\d/);
    expect(endpoint.seen[0]!.body.messages.at(-1)!.content).toMatch(/^# Environment engineering/);
    expect(await violations(page)).toEqual([]);

    await panel.getByLabel("language model").fill("opnai:m");
    await ask();
    await panel.getByText(/"opnai:m" is not a policy, did you mean "openai:/).waitFor(PATIENCE);

    await panel.getByLabel("engineer").selectOption("random");
    await panel.getByLabel("answers").fill("2");
    await ask();
    await panel.getByRole("columnheader", { name: "answer 2" }).waitFor(PATIENCE);
    expect(folderBytes(join(runs, "stored"))).toEqual(before);
    expect(faults).toEqual([]);
    await page.close();
    await own.close();
    await endpoint.close();

    const reading = await open("#/run/stored/stage/0");
    await reading.page.getByLabel("engineer").selectOption("llm");
    await reading.page.getByLabel("language model").fill("openai:gpt");
    expect(await reading.page.getByRole("button", { name: "Ask", exact: true }).isDisabled()).toBe(true);
    await reading.page.getByText("envwright propose --from stored/stages/00 --engineer llm --model openai:gpt").waitFor();
    await reading.page.getByLabel("language model").fill("openai:it's $(id)");
    await reading.page.getByText("--engineer llm --model 'openai:it'\\''s $(id)'").waitFor();
    await reading.page.close();
  }, 600_000);

  test("what a model wrote is text, whatever it says, in every view that shows it", async () => {
    const evil = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>";
    const copy = join(runs, "evil");
    cpSync(join(runs, "stored"), copy, { recursive: true });
    const folder = await RunFolder.resume(copy);
    await folder.writeText(0, "context.md", evil);
    const proposal = JSON.parse(readFileSync(join(copy, "stages/00/proposal.json"), "utf8"));
    const attempt = { ...proposal.attempts[0], raw: evil, error: evil };
    await folder.writeText(0, "proposal.json", JSON.stringify({ ...proposal, rationale: evil, reasons: [evil], attempts: [attempt] }));
    folder.close();
    const { page } = await open("#/run/evil/stage/0");
    await page.getByText("<img src=x onerror").first().waitFor();
    // Context, rationale, reason, refusal and answer.
    expect(await page.getByText("<img src=x onerror").count()).toBe(5);
    await visit(
      page,
      `${server.url}#/run/evil/rollouts?sql=${encodeURIComponent(`SELECT '${evil.replaceAll("'", "''")}' AS "${evil.replaceAll('"', '""')}"`)}`,
    );
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator(".answer").waitFor(PATIENCE);
    expect(await page.locator(".answer").getByText("<img src=x onerror").count()).toBe(2);
    expect([(await page.title()).includes("taken"), await page.locator("main img").count()]).toEqual([false, 0]);
    await page.close();
    rmSync(copy, { recursive: true });
  });
});
