/**
 * Whole evaluations against an endpoint that faults in every way: each sample ends with exactly one record, what the outside spoilt enters no
 * rate, and only that is asked again.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { familyByName } from "../src/environments/index.js";
import { loadBenchmark } from "../src/environments/mapf-frozenlake/benchmark.js";
import type { SampleRecord } from "../src/evaluation/index.js";
import {
  chat,
  cut,
  json,
  type Reply,
  refusal,
  silence,
  startTestEndpoint,
  type TestEndpoint,
} from "../src/policies/endpoint/test-endpoint.js";
import { callCli } from "./call-cli.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-faults-"));
const at = (name: string) => join(dir, name);
let endpoint: TestEndpoint | undefined;
afterEach(() => endpoint?.close());
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const BOARDS = 40;
const SAMPLES = 2;
const family = familyByName("mapf-frozenlake");
const boards = loadBenchmark("bench-3").slice(0, BOARDS);
const plans = new Map(boards.map((board) => [family.prompt(board, "chat"), family.demonstrate(board, "makespan", "chat")]));
const prompts = [...plans.keys()];

/** The right plan, as often as it is asked for: an answer that is counted as wrong is a fault of ours. */
const right: Reply = (response, request) => {
  const content = plans.get(request.body.messages.at(-1)!.content)!;
  chat(Array.from({ length: (request.body.n as number | undefined) ?? 1 }, () => ({ content })))(response, request);
};
const short: Reply = (response, request) => chat([{ content: plans.get(request.body.messages.at(-1)!.content)! }])(response, request);
const PASSING: Reply[] = [
  refusal(429, "slow down", { "retry-after": "0" }),
  refusal(500, "broken"),
  cut,
  (response) => response.destroy(),
  json(200, '{"choices": ['),
  json(200, { error: { message: "overloaded" } }),
  chat([]),
  chat([{ content: "", finish_reason: null }], { prompt_tokens: 3, completion_tokens: 0 }),
  short,
];
/** Boards that this endpoint never answers. */
const STAYING = new Map<string, Reply>([
  [prompts[3]!, refusal(500, "broken for good")],
  [prompts[11]!, silence],
  [prompts[20]!, chat([{ content: "half a plan", finish_reason: "content_filter" }])],
]);

function policyFile(more: object = {}): string {
  const retries = { most: 2, first_wait: 0.001, longest_wait: 0.01, budget: 1000 };
  writeFileSync(
    at("policy.json"),
    JSON.stringify({ endpoint: "vllm", model: "m", base_url: endpoint!.baseUrl, timeout: 1.5, retries, ...more }),
  );
  return at("policy.json");
}
const records = (name: string): SampleRecord[] =>
  readFileSync(at(`${name}/rollouts.jsonl`), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line)); // biome-ignore format: one line
const ASKED = ["--set", "bench-3", "--limit", String(BOARDS), "--samples", String(SAMPLES), "--quiet"];

test("every sample ends with one record, none as a wrong answer, and resuming asks for those alone that failed outside", async () => {
  let asked = 0;
  endpoint = await startTestEndpoint((_, { body }) => {
    const staying = STAYING.get(body.messages.at(-1)!.content);
    if (staying !== undefined) return staying;
    asked += 1;
    return asked % 3 === 0 ? PASSING[(asked / 3) % PASSING.length]! : right;
  });
  // One at a time, so that the request after a fault is none.
  const first = await callCli(["eval", "--policy", policyFile({ concurrency: 1 }), ...ASKED, "--out", at("faults"), "--json"]);
  // 6 of 80 are more than 1 %: the table is there, and is not that of the set.
  expect(first.code).toBe(1);
  const stored = records("faults");
  expect(stored.map(({ id }) => id)).toEqual(boards.flatMap((_, i) => [`eval/${i}/0`, `eval/${i}/1`]));
  const failed = stored.filter(({ failure }) => failure !== undefined);
  expect(failed.map(({ id }) => id)).toEqual([3, 11, 20].flatMap((i) => [`eval/${i}/0`, `eval/${i}/1`]));
  expect(failed.map(({ verdict, failure }) => [verdict, failure?.boundary])).toEqual(Array(6).fill([undefined, "endpoint"]));
  const report = JSON.parse(first.stdout);
  expect(report).toMatchObject({
    failed: 6,
    total: { n: BOARDS - 3, answers: 2 * BOARDS - 6, valid: { rate: 1 }, codes: { valid: 2 * BOARDS - 6 } },
  });
  expect(first.stderr).toMatch(/6 of 80 samples \(7\.5 %\) failed outside of the policy: the rates are over the 37 of 40 boards/);

  STAYING.clear();
  const before = endpoint.seen.length;
  const resumed = await callCli(["eval", "--resume", at("faults"), "--quiet", "--json"]);
  expect(resumed.code).toBe(0);
  expect(JSON.parse(resumed.stdout)).toMatchObject({ failed: 0, total: { n: BOARDS, answers: 2 * BOARDS, valid: { rate: 1 } } });
  const again = endpoint.seen.slice(before).map(({ body }) => prompts.indexOf(body.messages.at(-1)!.content));
  expect([...new Set(again)].sort((a, b) => a - b)).toEqual([3, 11, 20]);
}, 180_000);

test("a budget ends an evaluation cleanly: what was paid for is kept, and resuming asks for the rest", async () => {
  endpoint = await startTestEndpoint(() => right);
  // 15 tokens a request: after the fourth, 60 are spent.
  const policy = policyFile({ concurrency: 1, omit: ["n"], budget: { tokens: 60 } });
  const line = ["eval", "--policy", policy, "--set", "bench-3", "--limit", "6", "--quiet", "--out", at("budget"), "--json"];
  const first = await callCli(line);
  expect([first.code, first.stderr]).toEqual([
    1,
    expect.stringMatching(/2 of 6 samples .* failed outside[\s\S]*budget[\s\S]*eval --resume/),
  ]);
  expect(JSON.parse(first.stdout)).toMatchObject({ failed: 2, total: { answers: 4, valid: { rate: 1 } } });
  expect(records("budget").map(({ failure }) => failure?.boundary)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    "budget",
    "budget",
  ]);
  expect(endpoint.seen).toHaveLength(4);
  const resumed = await callCli(["eval", "--resume", at("budget"), "--quiet", "--json"]);
  expect(JSON.parse(resumed.stdout)).toMatchObject({ failed: 0, total: { answers: 6 } });
  expect(endpoint.seen).toHaveLength(6);
});
