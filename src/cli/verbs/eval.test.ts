/** `envwright eval` against a real HTTP server: what it says and how it ends when a part of the set was not answered, and how it is taken up. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { callCli } from "../../../test/call-cli.js";
import { familyByName } from "../../environments/index.js";
import { loadBenchmark } from "../../environments/mapf-frozenlake/benchmark.js";
import { chat, refusal, startTestEndpoint, type TestEndpoint } from "../../policies/endpoint/test-endpoint.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-eval-verb-"));
const at = (name: string) => join(dir, name);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const family = familyByName("mapf-frozenlake");
const benchmark = loadBenchmark("bench-3");
const boards = new Map(benchmark.map((board, place) => [family.prompt(board, "chat"), { board, place, size: board.size }]));
/** Two of each size from 3 to 10. */
const few = [3, 4, 5, 6, 7, 8, 9, 10].flatMap((size) => benchmark.filter((board) => board.size === size).slice(0, 2));
writeFileSync(at("set.jsonl"), few.map((board) => `${JSON.stringify(board)}\n`).join(""));
/** Boards that the endpoint does not answer. */
let isLost: (size: number, place: number) => boolean;
let endpoint: TestEndpoint;

async function open(): Promise<TestEndpoint> {
  return startTestEndpoint((_, { body }) => {
    const { board, size, place } = boards.get(body.messages.at(-1)!.content)!;
    if (isLost(size, place)) return refusal(503, "too slow");
    return chat([{ content: family.demonstrate(board, "makespan", "chat") }]);
  });
}
beforeEach(async () => {
  isLost = (size) => size >= 7;
  endpoint = await open();
});
afterEach(() => endpoint.close());

const policyFile = (name: string, more: object = {}) => {
  const file = { endpoint: "vllm", model: "m", base_url: endpoint.baseUrl, retries: { most: 0 }, ...more };
  writeFileSync(at(name), JSON.stringify(file));
  return at(name);
};
const SET = ["--set", at("set.jsonl"), "--quiet"];
const stored = (name: string) => JSON.parse(readFileSync(at(`${name}/eval.json`), "utf8"));

test("a set of which half failed outside is no result: heading and totals say so, sizes that nobody answered have no rate, and the exit code is 1", async () => {
  const ended = await callCli(["eval", "--policy", policyFile("half.json"), ...SET, "--out", at("half")]);
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/: 8 of 16 instances \(8 of 16 samples failed outside\), 1 sample each/);
  expect(ended.stdout).toMatch(/^ {2}7 ‡ +0 +– +– .*100\.0 +– +– +–$/m);
  expect(ended.stdout).toMatch(/^ {2}3 +2 +100\.0 \[/m);
  expect(ended.stdout).toMatch(/^ {2}all ‡ +8 +100\.0 /m);
  expect(ended.stdout).toMatch(/^‡ over what was answered, 8 of 16 boards, and not over the set: 8 of 16 samples \(50\.0 %\) failed/m);
  expect(ended.stderr).toMatch(/8 of 16 samples \(50\.0 %\) failed.*HTTP 503: too slow/);
  expect(ended.stderr).toContain(`envwright eval --resume ${at("half")}`);

  // From disk it is the same table, made as it was asked for: no failure of this command.
  for (const layout of ["sizes", "paper"]) {
    for (const format of ["table", "markdown", "latex"]) {
      const { code, stdout, stderr } = await callCli(["eval", at("half"), "--layout", layout, "--format", format]);
      expect([layout, format, code, stderr]).toEqual([layout, format, 0, expect.stringContaining("8 of 16 samples failed outside")]);
      expect(stdout).toMatch(/8 of 16 instances \(8 of 16 samples failed outside\)/);
      const mark = format === "latex" ? "\\$\\^\\\\ddagger\\$" : "‡";
      expect(stdout).toMatch(new RegExp(`${layout === "paper" ? "vllm:m\\S*" : "all"} ${mark}`));
      expect(stdout).toMatch(new RegExp(`${mark} over what was answered`));
    }
  }
  const csv = (await callCli(["eval", at("half"), "--layout", "paper", "--format", "csv"])).stdout;
  expect(csv).toMatch(/,evaluated,all,100,100,8,8$/m);
  expect(csv).toMatch(/,evaluated,10,,,0,2$/m);
  expect((await callCli(["eval", at("half"), "--format", "csv"])).stdout).toMatch(/,10,0,0,2,,,,/);

  isLost = () => false;
  const mended = await callCli(["eval", "--resume", at("half"), "--quiet"]);
  expect([mended.code, mended.stderr]).toEqual([0, ""]);
  expect(mended.stdout).toMatch(/: 16 instances, [\s\S]*\n {2}all +16 {2}/);
  expect(mended.stdout).not.toContain("‡");
});

test("several evaluations in one table name theirs that is not over the set, and a comparison says over how many boards it is", async () => {
  await callCli(["eval", "--policy", policyFile("part.json"), ...SET, "--out", at("part")]);
  await callCli(["eval", "--policy", "oracle", ...SET, "--out", at("whole")]);
  const { stdout } = await callCli(["eval", "--compare", at("whole"), at("part"), "--layout", "paper", "--format", "markdown"]);
  expect(stdout).toMatch(/^### \S+set\.jsonl: 16 instances, /);
  expect(stdout).toMatch(/^\| oracle \|/m);
  expect(stdout).toMatch(/^\| vllm:m@\S+ ‡ \|/m);
  expect(stdout).toMatch(/^‡ vllm:m@\S+: over what was answered, 8 of 16 boards/m);
  expect(stdout).toMatch(/paired on 8 of 16 instances: valid /);
});

test("without a folder the message says that one would keep the answers; up to 1 % of failures are told and end with 0", async () => {
  const lost = await callCli(["eval", "--policy", policyFile("lost.json"), ...SET]);
  expect([lost.code, lost.stderr]).toEqual([1, expect.stringMatching(/eval --resume DIR, where the evaluation is kept with --out DIR/)]);
  isLost = (_, place) => place === 5;
  const set = ["--set", "bench-3", "--limit", "101", "--quiet"];
  const told = await callCli(["eval", "--policy", policyFile("few.json"), ...set, "--out", at("few")]);
  expect([told.code, told.stderr]).toEqual([0, expect.stringContaining(`ask for them again: envwright eval --resume ${at("few")}`)]);
  expect(told.stdout).toMatch(/: 100 of 101 instances \(1 of 101 samples failed outside\)[\s\S]*\n {2}all {3}100 {2}/);
  // A hundred boards: 1 of them is 1 %, and a share above it is marked.
  expect((await callCli(["eval", "--policy", policyFile("few.json"), "--set", "bench-3", "--limit", "100", "--quiet"])).code).toBe(0);
  expect((await callCli(["eval", "--policy", policyFile("few.json"), "--set", "bench-3", "--limit", "99", "--quiet"])).code).toBe(1);
});

test("--resume and stored folders refuse every option that they would ignore, by name, and ask nothing", async () => {
  await callCli(["eval", "--policy", policyFile("kept.json"), ...SET, "--out", at("kept")]);
  const before = readFileSync(at("kept/eval.json"), "utf8");
  const asked = endpoint.seen.length;
  for (const [option, value] of [
    ...[
      ["--set", "bench-4"],
      ["--samples", "1"],
      ["--limit", "3"],
      ["--temperature", "1"],
      ["--max-tokens", "9"],
      ["--seed", "1"],
    ],
    ...[
      ["--objective", "makespan"],
      ["--family", "mapf-frozenlake"],
      ["--map", "grid=x"],
      ["--out", at("new")],
      ["--price-in", "1"],
    ],
  ] as [string, string][]) {
    const resumed = await callCli(["eval", "--resume", at("kept"), option, value]);
    expect([option, resumed.code, resumed.stderr]).toEqual([option, 2, expect.stringMatching(new RegExp(`${option} cannot change`))]);
    expect([option, (await callCli(["eval", at("kept"), option, value])).code]).toEqual([option, 2]);
  }
  const several = await callCli(["eval", "--resume", at("kept"), "--max-tokens", "9", "--set", "bench-4"]);
  expect(several.stderr).toContain("--set, --max-tokens cannot change them");
  for (const policy of [at("kept.json"), "oracle", `sglang:m@${endpoint.baseUrl}`, `vllm:other@${endpoint.baseUrl}`]) {
    const { code, stderr } = await callCli(["eval", "--resume", at("kept"), "--policy", policy]);
    expect([policy, code, stderr]).toEqual([policy, 2, expect.stringMatching(/--policy \S+ (changes nothing|is another policy)/)]);
  }
  expect(endpoint.seen).toHaveLength(asked);
  expect(readFileSync(at("kept/eval.json"), "utf8")).toBe(before);
});

test("the same policy goes on at another address, which eval.json says, and nothing else may have changed in it", async () => {
  const file = policyFile("moving.json", { temperature: 0.5 });
  await callCli(["eval", "--policy", file, ...SET, "--out", at("moving")]);
  const first = endpoint.baseUrl;
  await endpoint.close();
  isLost = (size) => size >= 9;
  endpoint = await open();
  policyFile("moving.json", { temperature: 0.25 });
  const hotter = await callCli(["eval", "--resume", at("moving"), "--quiet"]);
  expect([hotter.code, hotter.stderr]).toEqual([2, expect.stringMatching(/has changed since .*: base_url, temperature/)]);
  policyFile("moving.json", { temperature: 0.5, endpoint: "sglang" });
  const preset = await callCli(["eval", "--resume", at("moving"), "--quiet"]);
  expect([preset.code, preset.stderr]).toEqual([2, expect.stringMatching(/has changed since .*: base_url, policy/)]);

  policyFile("moving.json", { temperature: 0.5 });
  const second = endpoint.baseUrl;
  expect((await callCli(["eval", "--resume", at("moving"), "--dry-run", "--json"])).code).toBe(0);
  expect(stored("moving").continued).toBeUndefined();
  const moved = await callCli(["eval", "--resume", at("moving"), "--quiet"]);
  expect([moved.code, moved.stderr]).toEqual([1, expect.stringContaining(`goes on at ${second} instead of ${first}`)]);
  expect(endpoint.seen).toHaveLength(8);
  expect(stored("moving")).toMatchObject({ settings: { base_url: first }, continued: [{ policy: file, base_url: second }] });

  await endpoint.close();
  isLost = () => false;
  endpoint = await open();
  policyFile("copy.json", { temperature: 0.5 });
  const again = await callCli(["eval", "--resume", at("moving"), "--policy", at("copy.json"), "--quiet"]);
  expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/: 16 instances/)]);
  expect(endpoint.seen).toHaveLength(4);
  expect(stored("moving").continued.at(-1)).toEqual({ policy: at("copy.json"), base_url: endpoint.baseUrl });
  // Nothing is left to be asked: nothing is added.
  expect((await callCli(["eval", "--resume", at("moving"), "--quiet"])).code).toBe(0);
  policyFile("third.json", { temperature: 0.5, base_url: "http://127.0.0.1:9/v1" });
  const idle = await callCli(["eval", "--resume", at("moving"), "--policy", at("third.json"), "--quiet"]);
  expect([idle.code, idle.stderr]).toEqual([0, expect.not.stringContaining("goes on at")]);
  expect(stored("moving").continued).toHaveLength(2);
});

test("a model named on the command line goes on under its name at another address, and stays there", async () => {
  isLost = () => false;
  await callCli(["eval", "--policy", `vllm:m@${endpoint.baseUrl}`, "--set", "bench-3", "--limit", "3", "--quiet", "--out", at("named")]);
  const lines = readFileSync(at("named/rollouts.jsonl"), "utf8").split("\n");
  writeFileSync(at("named/rollouts.jsonl"), `${lines[0]}\n`);
  await endpoint.close();
  endpoint = await open();
  const spec = `vllm:m@${endpoint.baseUrl}`;
  expect((await callCli(["eval", "--resume", at("named"), "--policy", spec, "--quiet"])).code).toBe(0);
  expect(endpoint.seen).toHaveLength(2);
  expect(stored("named").continued).toEqual([{ policy: spec, base_url: endpoint.baseUrl }]);
  writeFileSync(at("named/rollouts.jsonl"), `${lines[0]}\n`);
  expect((await callCli(["eval", "--resume", at("named"), "--quiet"])).code).toBe(0);
  expect(endpoint.seen).toHaveLength(4);
});
