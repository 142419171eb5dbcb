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
    const out = at(`${file}.svg`);
    const { code, stdout } = await callCli(["draw", board, "--completion", at(file), "--out", out]);
    expect([code, stdout]).toEqual([0, "corridor  swap-conflict  step 1: agents 0 and 1 exchange cells, 0 entering (0, 1)\n"]);
    expect(readFileSync(out, "utf8")).toContain('data-rule="swap-conflict" data-step="1" data-cell="0,1" data-agents="0,1"');
  }
});

it("tells of an answer without a plan in the picture's title, and draws the board", async () => {
  writeFileSync(at("none.txt"), "no idea");
  const { code, stdout } = await callCli(["draw", board, "--completion", at("none.txt"), "--out", at("none.svg")]);
  expect([code, stdout]).toEqual([0, "corridor  parse-error  no answer block\n"]);
  expect(readFileSync(at("none.svg"), "utf8")).toContain("corridor: parse-error: no answer block");
});

describe("completions of a set", () => {
  const small = (id: string, goal: [number, number]) => ({ id, size: 3, holes: [], agents: [{ start: [0, 0], goal }] });
  const lines = (name: string, rows: object[]) => writeFileSync(at(name), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const one = "<answer>\nAgent 0: RIGHT\n</answer>";
  const set = at("set.jsonl");
  const hashOf = (goal: [number, number]) => completeInstance(small("x", goal)).hash;
  lines("set.jsonl", [small("a", [0, 1]), small("b", [1, 1]), small("b", [0, 2]), small("2", [2, 2]), small("a", [0, 1])]);
  const draw = async (index: number, rows: object[]) => {
    lines("of-set.jsonl", rows);
    const how = ["--index", String(index), "--completion", at("of-set.jsonl"), "--plan", "both", "--force", "--out", at("of-set.svg")];
    const { code, stdout, stderr } = await callCli(["draw", set, ...how]);
    return code === 0 ? stdout : `${code}: ${stderr}`;
  };

  it.each([
    ["by line number", 1, { instance: 1 }, "a  valid  sum_of_costs 1 (optimal); makespan 1 (optimal)"],
    ["by a line number as text", 3, { instance: "3" }, "b  goal-missed  agent 0 ends on (0, 1), its goal is (0, 2)"],
    ["by id", 1, { instance: "a" }, "a  valid"],
    ["by the id of the same board elsewhere in the set", 5, { instance: "a" }, "a  valid"],
    ["by an id that is also a line number", 4, { instance: "2" }, "2  goal-missed"],
    ["by the hash beside an id of two boards", 3, { instance: "b", hash: hashOf([0, 2]) }, "b  goal-missed"],
  ])("are found as verify finds them: %s", async (_, index, reference, verdict) => {
    const others = [{ instance: "elsewhere", completion: "?" }, { instance: 99, completion: "?" }]; // biome-ignore format: one line
    expect(await draw(index, [...others, { ...reference, completion: one }])).toMatch(new RegExp(`^${verdict.replace(/[()]/g, "\\$&")}`));
  });

  it("are refused as verify refuses them: an id of two boards, and the hash of another board", async () => {
    expect(await draw(2, [{ instance: "b", completion: one }])).toMatch(/^2: .*of-set\.jsonl, line 1: "b" is the id of different boards/);
    expect(await draw(1, [{ instance: 1, hash: hashOf([2, 2]), completion: one }])).toMatch(/^2: .*line 1: the hash \w+ is not that of 1/);
  });

  it("without one for the board are refused, with how it could be named", async () => {
    expect(await draw(2, [{ instance: 1, completion: one }])).toMatch(
      /^2: .*of-set\.jsonl has no completion for the instance b, row 2 of \S+set\.jsonl[\s\S]*the line number 2/,
    );
  });

  it("whose endpoint ended the answer are no answer to draw", async () => {
    const rows = [{ instance: 1, completion: "<answer>\nAgent", finish_reason: "error" }];
    expect(await draw(1, rows)).toMatch(/^2: .*of-set\.jsonl, line 1: the endpoint ended the answer \(finish_reason error\)/);
  });

  it("answer a board alone by its line, its id or its hash, without an optimum to compare with", async () => {
    const { id: _, ...bare } = small("x", [0, 1]);
    writeFileSync(at("bare.json"), JSON.stringify(bare));
    for (const instance of [1, hashOf([0, 1])]) {
      writeFileSync(at("of-bare.json"), JSON.stringify({ instance, completion: one }));
      const how = ["--completion", at("of-bare.json"), "--force", "--out", at("bare.svg")];
      const { code, stdout } = await callCli(["draw", at("bare.json"), ...how]);
      expect([code, stdout]).toEqual([0, `${at("bare.json")}  valid  sum_of_costs 1; makespan 1\n`]);
    }
  });
});

it("replaces a picture only when that is asked for, and refuses before it reads", async () => {
  writeFileSync(at("kept.svg"), "kept");
  const refused = await callCli(["draw", at("nowhere.jsonl"), "--out", at("kept.svg")]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/kept\.svg exists[\s\S]*--force/)]);
  expect(readFileSync(at("kept.svg"), "utf8")).toBe("kept");
  const { code, stdout } = await callCli(["draw", "bench-3", "--force", "--out", at("kept.svg")]);
  expect([code, stdout]).toEqual([0, ""]);
  expect(readFileSync(at("kept.svg"), "utf8")).toContain("<svg");
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
      const { code, stdout, stderr } = await draw("--rollout", id, "--force", "--out", at("rollout.svg"));
      expect(stderr).toContain(`${id}: answer: vertex-conflict at step 1`);
      expect(stdout).toBe(`${id}  vertex-conflict  step 1: agents 0 and 1 are both on (0, 1)\n`);
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
      await draw(...id, "--plan", plan, "--force", "--out", at("one.svg"));
      const svg = readFileSync(at("one.svg"), "utf8");
      expect([svg.split('<svg x="').length - 1, svg.includes("data-rule")], plan).toEqual([panels, broken]);
    }
  });

  it("without a plan says why beside the optimum, also in motion", async () => {
    for (const how of [[], ["--animate"]]) {
      await draw("--rollout", "0/validation/0/0/0", ...how, "--force", "--out", at("none.svg"));
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
