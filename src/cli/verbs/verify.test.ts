/** Which board an answer is judged on: by id, by line, and by the hash that it may keep of the prompt. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callCli } from "../../../test/call-cli.js";
import { familyByName } from "../../environments/index.js";
import { transformBoard } from "../../environments/mapf-frozenlake/index.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-verify-"));
const at = (name: string) => join(dir, name);
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const write = (name: string, rows: unknown[]) => writeFileSync(at(name), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
const read = (name: string) => readFileSync(at(name), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line)); // biome-ignore format: one line
const verify = (instances: string, completions: string) =>
  callCli(["verify", "--instances", at(instances), "--completions", at(completions), "--json"]);

const family = familyByName("mapf-frozenlake");
const answer = (board: { id: string; hash: string }) => family.demonstrate(board, "makespan", "chat");
// biome-ignore lint/suspicious/noExplicitAny: rows as they are read
let a: any[];
// biome-ignore lint/suspicious/noExplicitAny: rows as they are read
let b: any[];

/** Two sets of one seed: other boards under the same ids. */
beforeAll(async () => {
  for (const [name, size] of [
    ["a", 4],
    ["b", 5],
  ] as const) {
    writeFileSync(at(`${name}.yaml`), `agents: [2]\nsizes: { "${size}": { data_ratio: 1, hole_ratio: 0.2, wait_ratio: 0 } }\n`);
    await callCli(["generate", "--config", at(`${name}.yaml`), "--count", "3", "--seed", "1", "--out", at(`${name}.jsonl`), "--quiet"]);
  }
  [a, b] = [read("a.jsonl"), read("b.jsonl")];
  expect(a.map(({ id }) => id)).toEqual(b.map(({ id }) => id));
  write("both.jsonl", [...a, ...b]);
});

test("an id that stands on two boards is refused with both rows, and the same board twice is not", async () => {
  write("by-id.jsonl", [
    { instance: 2, completion: answer(a[1]) },
    { instance: a[0].id, completion: answer(a[0]) },
  ]);
  const { code, stdout, stderr } = await verify("both.jsonl", "by-id.jsonl");
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/by-id\.jsonl, line 2: "generate\/1:0" is the id of different boards in \S+both\.jsonl, rows 1 and 4/);
  expect(stderr).toMatch(/remedy: .*line number.*distinct ids/);
  write("twice.jsonl", [...a, a[0]]);
  expect(JSON.parse((await verify("twice.jsonl", "by-id.jsonl")).stdout)).toMatchObject({ n: 2, valid: 2 });
});

test("line numbers and hashes tell boards of one id apart, a turned board included by its line alone", async () => {
  write("told.jsonl", [
    { instance: 1, completion: answer(a[0]) },
    { instance: 4, completion: answer(b[0]) },
    { instance: a[0].id, hash: a[0].hash, completion: answer(a[0]) },
    { instance: 1, hash: null, completion: answer(a[0]) },
    { instance: a[0].id, hash: b[0].hash, completion: answer(b[0]) },
  ]);
  expect(JSON.parse((await verify("both.jsonl", "told.jsonl")).stdout)).toMatchObject({ n: 5, valid: 5 });
  // The hash is that of all 8 turns of a board, and an answer is to one of them.
  const turned = { id: a[0].id, ...transformBoard(a[0], 1) };
  write("turned.jsonl", [a[0], turned]);
  write("hashed.jsonl", [{ instance: a[0].id, hash: a[0].hash, completion: answer(a[0]) }]);
  expect((await verify("turned.jsonl", "hashed.jsonl")).stderr).toMatch(/rows 1 and 2/);
});

test("an answer that keeps the hash of its prompt is not judged on a board of another set, by id or by line", async () => {
  await callCli(["export", at("a.jsonl"), "--to", "prompts", "--out", at("prompts.jsonl")]);
  const prompts = read("prompts.jsonl");
  expect(prompts[0]).toMatchObject({ instance: a[0].id, hash: a[0].hash });
  write("kept.jsonl", prompts.map(({ prompt: _, ...row }, i) => ({ ...row, completion: answer(a[i]) }))); // biome-ignore format: one call
  expect(JSON.parse((await verify("a.jsonl", "kept.jsonl")).stdout)).toMatchObject({ n: 3, valid: 3 });
  const other = await verify("b.jsonl", "kept.jsonl");
  expect([other.code, other.stdout]).toEqual([2, ""]);
  expect(other.stderr).toMatch(/kept\.jsonl, line 1: the hash \w+ is not that of "generate\/1:0" in \S+b\.jsonl, row 1/);
  write("lines.jsonl", [
    { instance: 1, completion: "x" },
    { instance: 2, hash: a[1].hash, completion: answer(a[1]) },
  ]);
  expect((await verify("b.jsonl", "lines.jsonl")).stderr).toMatch(/lines\.jsonl, line 2: the hash/);
});

test("a completion ends as its endpoint says, in the endpoint's own words, and one that the endpoint ended is told and not judged", async () => {
  const ended = (finish_reason: unknown) => ({ instance: 1, completion: answer(a[0]), finish_reason });
  const stopped = [null, "stop", "tool_calls", "eos"];
  const cut = ["length", "max_tokens", "max_output_tokens", "MAX_TOKENS"];
  const outside = ["error", "abort", "insufficient_system_resource", "content_filter"];
  write("ended.jsonl", [...stopped, ...cut, ...outside].map(ended));
  const { verdicts, ...counts } = JSON.parse((await verify("a.jsonl", "ended.jsonl")).stdout);
  expect(counts).toEqual({ n: 8, valid: 4, codes: { valid: 4, truncated: 4 }, failed: 4 });
  expect(verdicts.map(({ code }: { code?: string }) => code)).toEqual([...Array(4).fill("valid"), ...Array(4).fill("truncated"), ...Array(4).fill(undefined)]); // biome-ignore format: one line
  expect(verdicts[8]).toEqual({ instance: 1, failure: "the endpoint ended the answer (finish_reason error)" });
  const { code, stdout } = await callCli(["verify", "--instances", at("a.jsonl"), "--completions", at("ended.jsonl")]);
  expect([code, stdout.trimEnd().split("\n").slice(-2)]).toEqual([
    0,
    ["1  not judged  the endpoint ended the answer (finish_reason content_filter)", "4 of 8 valid; valid 4, truncated 4; 4 not judged"],
  ]);
  write("all-ended.jsonl", [ended("error")]);
  const none = await callCli(["verify", "--instances", at("a.jsonl"), "--completions", at("all-ended.jsonl")]);
  expect(none.stdout).toMatch(/\n0 of 0 valid; 1 not judged\n$/);
  write("no-word.jsonl", [ended("stop"), ended(3)]);
  const refused = await verify("a.jsonl", "no-word.jsonl");
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toMatch(/no-word\.jsonl, line 2: "finish_reason".*\(given 3\)\n.*expected: .*"stop" \(default\)/);
});

test("a byte order mark at the start of instances, completions and JSON configs is skipped", async () => {
  const marked = (name: string, text: string) => writeFileSync(at(name), `\uFEFF${text}`);
  marked("marked.jsonl", readFileSync(at("a.jsonl"), "utf8"));
  marked("marked.json", JSON.stringify(a));
  marked("answers.jsonl", `${JSON.stringify({ instance: 1, completion: answer(a[0]) })}\n`);
  marked("answers.json", JSON.stringify({ instance: 1, completion: answer(a[0]) }));
  for (const [instances, completions] of [
    ["marked.jsonl", "answers.jsonl"],
    ["marked.json", "answers.json"],
  ] as const) {
    // biome-ignore format: one list
    const { code, stdout, stderr } = await verify(instances, completions);
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ n: 1, valid: 1 });
  }
  marked("config.json", JSON.stringify({ agents: [2], sizes: { "4": { data_ratio: 1, hole_ratio: 0, wait_ratio: 0 } } }));
  const made = await callCli(["generate", "--config", at("config.json"), "--count", "2", "--seed", "1", "--out", at("made.jsonl"), "--quiet"]); // biome-ignore format: one call
  expect([made.code, made.stderr]).toEqual([0, ""]);
  marked("board.json", JSON.stringify(a[0]));
  expect((await callCli(["solve", at("board.json"), "--json"])).code).toBe(0);
  marked("room.map", "type octile\nheight 2\nwidth 3\nmap\n...\n.@.\n");
  marked("room.scen", "version 1\n0\troom.map\t3\t2\t0\t1\t2\t0\t3\n");
  expect((await callCli(["solve", at("room.map"), at("room.scen"), "--json"])).code).toBe(0);
});

test("rows that were made for a trainer, a model or a judge are named as what they are where instances are wanted", async () => {
  const made: [to: string, said: RegExp][] = [
    ["verl", /row 1: this is a row for verl \(export --to verl\), and no instance/],
    ["trl", /row 1: this is a row for TRL/],
    ["prompts", /row 1: this is an exported prompt/],
  ];
  for (const [to, said] of made) {
    for (const kind of ["jsonl", "parquet"]) {
      const file = at(`exported-${to}.${kind}`);
      await callCli(["export", at("a.jsonl"), "--to", to, "--out", file]);
      const { code, stderr } = await callCli(["eval", "--policy", "oracle", "--set", file]);
      expect([file, code, stderr]).toEqual([file, 2, expect.stringMatching(said)]);
      expect(stderr).toMatch(/expected: instances\n {2}remedy: .*export SET --to instances/);
    }
  }
  expect((await verify("by-id.jsonl", "by-id.jsonl")).stderr).toMatch(/row 1: this is a completion/);
});
