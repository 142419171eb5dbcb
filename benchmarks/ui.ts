/**
 * The dashboard on a large run: 20 stages, 200,000 training rollouts. First paint of the run and time of a filter in Chromium, and the memory
 * of the server, in one process of its own.
 *
 *     npm run build && npx tsx benchmarks/ui.ts [SOURCE_RUN]
 *
 * The run is made from the records of a real one (SOURCE_RUN, a finished run of `tiny`; runs/tiny unless given) repeated, and is no result.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { chromium } from "playwright-core";
import { RunFolder } from "../src/store/index.js";

const STAGES = 20;
const PER_STAGE = 10_000;
const ROUNDS = 5;

const source = resolve(process.argv[2] ?? "runs/tiny");
const dir = mkdtempSync(join(tmpdir(), "envwright-large-"));
const main = resolve(import.meta.dirname, "../dist/cli/main.js");
try {
  await makeRun(join(dir, "large"));
  const server = spawn(process.execPath, [main, "ui", dir, "--port", "0"], { stdio: ["ignore", "pipe", "ignore"] });
  const url = await new Promise<string>((done) => server.stdout.on("data", (text) => done(/http:\S+/.exec(String(text))![0])));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    const [paints, drawn, work]: number[][] = [[], [], []];
    for (let round = 0; round < ROUNDS; round++) {
      const page = await browser.newPage();
      // The browser's own start is not the page's.
      await page.goto("about:blank");
      const [start, before] = [performance.now(), workOf(server.pid!)];
      await page.goto(`${url}#/run/large`, { waitUntil: "commit" });
      await page.waitForSelector(".score svg");
      drawn!.push(performance.now() - start);
      work!.push(workOf(server.pid!) - before);
      paints!.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN));
      await page.close();
    }
    const filters: number[] = [];
    const conditions = [
      "code=hole",
      "code=swap-conflict&agents=3",
      "size=5&agents=2&reward_min=0.5",
      "stage=7,8&code=valid",
      "order=reward&direction=desc",
      "offset=100000",
    ];
    await fetch(`${url}api/runs/large/rollouts?set=training`);
    for (const condition of conditions) {
      const start = performance.now();
      const answer = (await (await fetch(`${url}api/runs/large/rollouts?set=training&${condition}`)).json()) as { total: number };
      filters.push(performance.now() - start);
      console.log(`${condition}: ${answer.total} rollouts in ${filters.at(-1)!.toFixed(0)} ms`);
    }
    const memory = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1];
    const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
    const told = (values: number[] = []): string => `first ${values[0]?.toFixed(0)} ms, median ${median(values).toFixed(0)} ms`;
    console.log(`first paint: ${told(paints)} (aim < 1500)`);
    console.log(`the run's whole picture: ${told(drawn)}; of the server's CPU: ${told(work)}`);
    console.log(`filters: median ${median(filters).toFixed(0)} ms, worst ${Math.max(...filters).toFixed(0)} ms (aim < 300)`);
    console.log(`server, peak resident: ${(Number(memory) / 1024).toFixed(0)} MB (aim < 500)`);
  } finally {
    await browser.close();
    server.kill("SIGINT");
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}

/** CPU time of a process so far, in milliseconds. */
function workOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** The stages of the source in turn, renumbered, with as many of their rollouts as are needed. */
async function makeRun(target: string): Promise<void> {
  const from = await RunFolder.open(source);
  const stages = await from.stages();
  const { recipe } = from.record;
  const folder = await RunFolder.create(target, {
    recipe: { ...recipe, name: "large", stages: STAGES, held_out: { ...recipe.held_out, count: 0 } },
  });
  const duckdb = await DuckDBInstance.create();
  const connection = await duckdb.connect();
  for (const name of ["base-validation.json", "validation.json", "validation.parquet"]) {
    cpSync(join(source, name), join(target, name));
    await folder.register("run", name);
  }
  const lines = readFileSync(join(source, "metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { stage: number; step: number });
  const metrics: string[] = [];
  for (let stage = 0; stage < STAGES; stage++) {
    const old = stages[stage % stages.length]!;
    mkdirSync(folder.folder(stage), { recursive: true });
    for (const name of [
      "config.json",
      "dataset.json",
      "training.json",
      "validation.json",
      "failures.json",
      "proposal.json",
      "context.md",
    ]) {
      if (!(await from.has(old, name))) continue;
      const text = readFileSync(from.path(old, name), "utf8").replace(/^( {2}"stage": )\d+/m, `$1${stage}`);
      writeFileSync(folder.path(stage, name), text);
      await folder.register(stage, name);
    }
    cpSync(from.path(old, "train.parquet"), folder.path(stage, "train.parquet"));
    cpSync(from.path(old, "validation-rollouts.parquet"), folder.path(stage, "validation-rollouts.parquet"));
    const read = `SELECT * REPLACE (${stage} AS stage) FROM read_parquet('${from.path(old, "rollouts.parquet")}') LIMIT ${PER_STAGE}`;
    await connection.run(`COPY (${read}) TO '${folder.path(stage, "rollouts.parquet")}' (FORMAT parquet, COMPRESSION zstd)`);
    metrics.push(...lines.filter((m) => m.stage === old).map((m) => JSON.stringify({ ...m, stage })));
  }
  writeFileSync(join(target, "metrics.jsonl"), `${metrics.join("\n")}\n`);
  folder.close();
  connection.closeSync();
  duckdb.closeSync();
}
