import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadRecipe } from "../src/cli/recipes.js";
import { rolloutSchema } from "../src/core/index.js";
import { completeInstance, instanceSchema } from "../src/environments/mapf-frozenlake/index.js";
import { RunFolder, writeParquet } from "../src/store/index.js";
import { callCli } from "./call-cli.js";

const folder = mkdtempSync(join(tmpdir(), "envwright-draw-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string) => join(folder, name);

const SWAP = { id: "corridor", size: 2, holes: [[1, 0]], agents: [{ start: [0, 0], goal: [0, 1] }, { start: [0, 1], goal: [0, 0] }] }; // biome-ignore format: one board
const board = at("board.json");
writeFileSync(board, JSON.stringify(SWAP));
const answer = "<answer>\nAgent 0: RIGHT\nAgent 1: LEFT\n</answer>";
writeFileSync(at("answer.txt"), answer);

it("draws an instance of a frozen set by its number and by its id to the same picture", async () => {
  expect((await callCli(["draw", "bench-3", "--index", "8", "--out", at("a.svg")])).code).toBe(0);
  expect((await callCli(["draw", "bench-3", "--id", "bench-3:7", "--out", at("b.svg")])).code).toBe(0);
  const svg = readFileSync(at("a.svg"), "utf8");
  expect(svg).toContain("<title>bench-3:7: optimal makespan");
  expect(readFileSync(at("b.svg"), "utf8")).toBe(svg);
});

it("draws an answer with what it breaks, from a text and from a file of completions", async () => {
  writeFileSync(
    at("answers.jsonl"),
    `${JSON.stringify({ instance: "other", completion: "?" })}\n${JSON.stringify({ instance: "corridor", completion: answer })}\n`,
  );
  for (const file of ["answer.txt", "answers.jsonl"]) {
    expect((await callCli(["draw", board, "--completion", at(file), "--out", at("answer.svg")])).code).toBe(0);
    expect(readFileSync(at("answer.svg"), "utf8")).toContain('data-rule="swap-conflict" data-step="1" data-cell="0,1" data-agents="0,1"');
  }
});

it("tells of an answer without a plan in the picture's title, and draws the board", async () => {
  writeFileSync(at("none.txt"), "no idea");
  expect((await callCli(["draw", board, "--completion", at("none.txt"), "--out", at("none.svg")])).code).toBe(0);
  expect(readFileSync(at("none.svg"), "utf8")).toContain("corridor: parse-error: no answer block");
});

it("writes what the name's ending says", async () => {
  const start = (name: string) => readFileSync(at(name)).subarray(0, 6).toString("latin1");
  await callCli(["draw", "bench-3", "--out", at("x.png")]);
  await callCli(["draw", "bench-3", "--out", at("x.gif")]);
  await callCli(["draw", "bench-3", "--animate", "--out", at("x.svg")]);
  expect([start("x.png").slice(1, 4), start("x.gif")]).toEqual(["PNG", "GIF89a"]);
  expect(readFileSync(at("x.svg"), "utf8")).toContain("@keyframes");
});

describe("a rollout", () => {
  const run = at("run");
  const boardOf = (id: string) => completeInstance({ id, size: 3, holes: [], agents: [{ start: [0, 0], goal: [0, 2] }, { start: [0, 2], goal: [0, 1] }] }); // biome-ignore format: one board
  // The run's language is compact: agent 0 walks into agent 1.
  const rollout = (id: string, instance: string, completion: string) => ({ id, instance, stratum: "3", stage: 0, step: 0, sample: 0, completion, tokens: 3, finish_reason: "stop" as const }); // biome-ignore format: one row

  beforeAll(async () => {
    const { recipe } = loadRecipe("smoke");
    const folder = await RunFolder.create(run, { recipe });
    folder.close();
    await writeParquet(join(run, "validation.parquet"), instanceSchema, [boardOf("v:0"), boardOf("v:1")]);
    await writeParquet(folder.path(0, "train.parquet"), instanceSchema, [boardOf("t:0")]);
    const collision = "<cell:0,1><cell:0,2><next><cell:0,1>";
    await writeParquet(folder.path(0, "validation-rollouts.parquet"), rolloutSchema, [
      rollout("0/validation/0/0/0", "v:0", "<next><next>"),
      rollout("0/validation/0/1/0", "v:1", collision),
    ]);
    await writeParquet(folder.path(0, "rollouts.parquet"), rolloutSchema, [rollout("0/train/2/0/1", "t:0", collision)]);
  });
  const draw = (...argv: string[]) => callCli(["draw", "--run", run, ...argv]);

  it.each(["0/validation/0/1/0", "0/train/2/0/1"])(
    "%s is drawn as the optimum beside the answer, what it breaks at its step",
    async (id) => {
      const { code, stderr } = await draw("--rollout", id, "--out", at("rollout.svg"));
      expect(stderr).toContain(`${id}: answer: vertex-conflict at step 1`);
      expect(code).toBe(0);
      const svg = readFileSync(at("rollout.svg"), "utf8");
      const [optimum, answer] = svg.split('<svg x="').slice(1);
      expect(optimum).toContain("optimal makespan 3");
      expect(optimum).not.toContain("data-rule");
      expect(answer).toContain('data-rule="vertex-conflict" data-step="1" data-cell="0,1" data-agents="0,1"');
    },
  );

  it("moves by one clock, or shows the answer alone, the optimum alone, or the board alone", async () => {
    const id = ["--rollout", "0/validation/0/1/0"];
    await draw(...id, "--animate", "--out", at("moving.svg"));
    const durations = [...readFileSync(at("moving.svg"), "utf8").matchAll(/animation:\S+ (\d+)ms infinite/g)].map(([, ms]) => ms);
    expect(new Set(durations).size).toBe(1);
    expect(durations.length).toBeGreaterThan(4);
    await draw(...id, "--out", at("moving.gif"));
    expect(readFileSync(at("moving.gif")).subarray(0, 6).toString("latin1")).toBe("GIF89a");
    for (const [plan, panels, broken] of [
      ["answer", 0, true],
      ["optimal", 0, false],
      ["none", 0, false],
      ["both", 2, true],
    ] as const) {
      // biome-ignore format: a table
      await draw(...id, "--plan", plan, "--out", at("one.svg"));
      const svg = readFileSync(at("one.svg"), "utf8");
      expect([svg.split('<svg x="').length - 1, svg.includes("data-rule")], plan).toEqual([panels, broken]);
    }
  });

  it("without a plan says why beside the optimum, also in motion", async () => {
    for (const how of [[], ["--animate"]]) {
      await draw("--rollout", "0/validation/0/0/0", ...how, "--out", at("none.svg"));
      const svg = readFileSync(at("none.svg"), "utf8");
      expect(svg).toContain("optimal makespan 3");
      expect(svg.split('<svg x="')[2]).toContain("parse-error");
    }
  });

  it("of an evaluation is drawn alike, in the evaluation's language", async () => {
    const set = ["--policy", "oracle", "--set", "bench-3", "--limit", "2", "--quiet", "--out", at("evaluated")];
    expect((await callCli(["eval", ...set])).code).toBe(0);
    const { code, stderr } = await callCli(["draw", "--run", at("evaluated"), "--rollout", "eval/1/0", "--out", at("eval.svg")]);
    expect([code, stderr.includes("answer: valid, ")]).toEqual([0, true]);
  });

  it.each([
    [["--out", at("z.svg")], "which of its rollouts?"],
    [["--rollout", "0/validation/0/9/0", "--out", at("z.svg")], 'has no rollout "0/validation/0/9/0"'],
    [["--rollout", "7/validation/0/0/0", "--out", at("z.svg")], "of stage 0"],
    [["bench-3", "--rollout", "0/train/2/0/1", "--out", at("z.svg")], "a rollout has its own board and answer"],
  ])("%j is refused and says why", async (argv, why) => {
    const { code, stderr } = await draw(...argv);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
  });
});

it.each([
  [["--out", at("y.svg")], "SET|FILE is missing"],
  [["bench-3", "--plan", "both", "--out", at("y.svg")], "there is no answer"],
  [["bench-3", "--rollout", "0/train/2/0/1", "--out", at("y.svg")], "--rollout is given without --run"],
  [[board, "--completion", at("answer.txt"), "--plan", "none", "--out", at("y.svg")], "--completion is not drawn with --plan none"],
  [["bench-3", "--out", "x.bmp"], "does not say what to make"],
  [["bench-3", "--index", "1201", "--out", at("y.svg")], "has 1200 instances"],
  [["bench-3", "--id", "nobody", "--out", at("y.svg")], 'has no instance "nobody"'],
  [[board, "--out", at("y.svg")], "unsolvable"],
  [[board, "--plan", "none", "--out", at("y.gif")], "does not move"],
  [["bench-3", "--animate", "--out", at("y.png")], "a PNG does not move"],
])("%j is refused and says why", async (argv, why) => {
  const { code, stderr } = await callCli(["draw", ...argv]);
  expect(code).toBe(2);
  expect(stderr).toContain(why);
});
