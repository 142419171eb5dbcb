/** `envwright sql` over a run folder with two rollouts, by the command line's own way in. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callCli } from "../../../test/call-cli.js";
import { recipeSchema, rolloutSchema } from "../../core/index.js";
import { instanceSchema, mapfFrozenLake } from "../../environments/mapf-frozenlake/index.js";
import { RunFolder, writeParquet } from "../../store/index.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-sql-verb-"));
const run = join(dir, "run");
beforeAll(async () => {
  const board = mapfFrozenLake.complete({ id: "validation/0:0", size: 3, holes: [[1, 1]], agents: [{ start: [0, 0], goal: [0, 2] }, { start: [2, 0], goal: [2, 2] }] }); // biome-ignore format: one board
  const config = { agents: [2], objective: "makespan", sizes: { "3": { data_ratio: 1, hole_ratio: 0.11, wait_ratio: 0 } } };
  const folder = await RunFolder.create(run, { recipe: recipeSchema.parse({ name: "small", stages: 1, instances: 4, config, base: "/nowhere" }) }); // biome-ignore format: one call
  await writeParquet(join(run, "validation.parquet"), instanceSchema, [board]);
  const answers = ["<cell:0,1><cell:0,2><next><cell:2,1><cell:2,2>", "<cell:0,1><cell:1,1><next><cell:2,1><cell:2,2>"];
  await writeParquet(folder.path(0, "validation-rollouts.parquet"), rolloutSchema, answers.map((completion, i) => ({
    id: `0/validation/0/0/${i}`, instance: board.id, stratum: "3", stage: 0, step: 0, sample: i, completion, tokens: 6 - i, finish_reason: "stop" as const,
    verdict: mapfFrozenLake.verify(board, completion, "stop", "compact"),
  }))); // biome-ignore format: one table
  folder.close();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("a query is answered as a table, as CSV and as JSON, and without one the tables are listed", async () => {
  const query = "SELECT code, agents, count(*) AS n FROM rollouts GROUP BY ALL ORDER BY ALL";
  const table = await callCli(["sql", run, query]);
  expect([table.code, table.stdout]).toEqual([0, "2 rows\n  code   agents  n\n  hole        2  1\n  valid       2  1\n"]);
  expect((await callCli(["sql", run, query, "--format", "csv"])).stdout).toBe("code,agents,n\nhole,2,1\nvalid,2,1\n");
  const { columns, rows } = JSON.parse((await callCli(["sql", run, query, "--json"])).stdout);
  expect([columns[2], rows[0]]).toEqual([{ name: "n", type: "BIGINT" }, ["hole", 2, "1"]]);
  expect((await callCli(["sql", run])).stdout).toMatch(
    /instances +holes +BIGINT[\s\S]*rollouts +set +VARCHAR\n[\s\S]*rollouts +completion +VARCHAR\n/,
  );
  const first = await callCli(["sql", run, "FROM rollouts", "--limit", "1", "--format", "csv"]);
  expect([first.stdout.split("\n").length, first.stderr]).toEqual([3, expect.stringContaining("--limit gives more")]);
});

test("values are whole for another program, and cut only in a table", async () => {
  const query = "SELECT repeat('x', 5000) AS x, [repeat('y', 5000)] AS l";
  expect((await callCli(["sql", run, query, "--format", "csv"])).stdout).toBe(`x,l\n${"x".repeat(5000)},"[""${"y".repeat(5000)}""]"\n`);
  for (const json of [["--json"], ["--format", "json"]])
    expect(JSON.parse((await callCli(["sql", run, query, ...json])).stdout).rows).toEqual([["x".repeat(5000), ["y".repeat(5000)]]]);
  expect((await callCli(["sql", run, query])).stdout).toContain(`${"x".repeat(60)}…`);
});

test("the training steps of a run that goes on are read up to the line that is being written", async () => {
  const metrics = join(run, "metrics.jsonl");
  writeFileSync(metrics, '{"stage":0,"step":0,"valid/3":0.5}\n{"stage":0,"step":1,"valid/3":0.75}\n{"stage":0,"st');
  const { stdout } = await callCli(["sql", run, 'SELECT max(step), sum("valid/3") FROM steps WHERE step IS NOT NULL', "--format", "csv"]);
  expect(stdout).toContain("\n1,1.25\n");
  rmSync(metrics);
});

test("what is no reading of the run is refused with exit code 2, and the folder stays as it is", async () => {
  const before = readdirSync(run);
  for (const query of ["SELECT nothing FROM rollouts", "COPY rollouts TO 'x.csv'", "FROM read_csv('/etc/passwd')", "SELECT 1; SELECT 2"]) {
    const { code, stdout, stderr } = await callCli(["sql", run, query]);
    expect([query, code, stdout, stderr]).toEqual([query, 2, "", expect.stringMatching(/^error: .*/)]);
  }
  expect((await callCli(["sql", dir, "SELECT 1"])).code).toBe(2);
  expect(readdirSync(run)).toEqual(before);
});
