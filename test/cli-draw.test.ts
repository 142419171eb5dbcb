import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { callCli } from "./call-cli.js";

const folder = mkdtempSync(join(tmpdir(), "envwright-draw-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string) => join(folder, name);

const SWAP = { id: "corridor", size: 2, holes: [[1, 0]], agents: [{ start: [0, 0], goal: [0, 1] }, { start: [0, 1], goal: [0, 0] }] }; // biome-ignore format: one board
const board = at("board.json");
writeFileSync(board, JSON.stringify(SWAP));

it("draws an instance of a frozen set by its number and by its id to the same picture", async () => {
  expect((await callCli(["draw", "bench-3", "--index", "8", "--out", at("a.svg")])).code).toBe(0);
  expect((await callCli(["draw", "bench-3", "--id", "bench-3:7", "--out", at("b.svg")])).code).toBe(0);
  const svg = readFileSync(at("a.svg"), "utf8");
  expect(svg).toContain("<title>bench-3:7: optimal makespan");
  expect(readFileSync(at("b.svg"), "utf8")).toBe(svg);
});

it("draws an answer with what it breaks, from a text and from a file of completions", async () => {
  const answer = "<answer>\nAgent 0: RIGHT\nAgent 1: LEFT\n</answer>";
  writeFileSync(at("answer.txt"), answer);
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

it.each([
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
