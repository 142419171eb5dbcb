import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callCli } from "../../test/call-cli.js";
import {
  type Completion,
  type CompletionFailure,
  type CompletionRequest,
  InterruptedError,
  type Policy,
  SCHEMA_VERSION,
  Seed,
  setHash,
} from "../core/index.js";
import { familyByName } from "../environments/index.js";
import { loadBenchmark } from "../environments/mapf-frozenlake/benchmark.js";
import { createEvaluation, type EvaluationRequest, rebuildReport, runEvaluation } from "./evaluation-run.js";

const root = mkdtempSync(join(tmpdir(), "envwright-eval-"));
const at = (name: string): string => join(root, name);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const family = familyByName("mapf-frozenlake");
const SAMPLES = 2;
const instances = loadBenchmark("bench-3").slice(0, 300);
const request: EvaluationRequest = {
  schema_version: SCHEMA_VERSION,
  ...{ policy: "scripted", set: "bench-3", set_sha256: setHash(instances), family: family.name, objective: "makespan", limit: 300 },
  ...{ samples: SAMPLES, temperature: 1, max_tokens: 64, seed: 1, rendering: "compact" },
};

type Result = Completion | CompletionFailure;
type Told = Parameters<Policy["complete"]>[1];

/** Right on about half of its draws, by the seed alone, so that any order of asking gives the same answers. */
function answer({ prompt, seed, index }: CompletionRequest): Completion {
  const instance = byPrompt.get(prompt)!;
  const right = Seed.parse(seed).at(index).float() < 0.5;
  const text = right ? family.demonstrate(instance, "makespan", "compact") : "";
  return { text, tokens: text.length, finishReason: "stop", usage: { promptTokens: 100, completionTokens: 10 } };
}
let byPrompt: Map<string, (typeof instances)[number]>;
beforeAll(() => {
  byPrompt = new Map(instances.map((instance) => [family.prompt(instance, "compact"), instance]));
});

const policyOf = (complete: (requests: readonly CompletionRequest[], options: Told) => Promise<Result[]>): Policy => ({
  name: "scripted",
  rendering: "compact",
  complete,
  close: async () => {},
});
const steady = policyOf(async (requests) => requests.map(answer));

async function evaluate(name: string | undefined, policy: Policy, signal = new AbortController().signal) {
  const out = name === undefined ? {} : { out: at(name) };
  return runEvaluation({ request, family, instances, policy, signal, onProgress: () => {}, ...out });
}
const start = (name: string) => createEvaluation(at(name), request);
const log = (name: string): string => readFileSync(at(`${name}/rollouts.jsonl`), "utf8");
const ids = (name: string): string[] => log(name).trim().split("\n").map((line) => JSON.parse(line).id); // biome-ignore format: one line

beforeAll(async () => {
  await start("whole");
  await evaluate("whole", steady);
});

test("an evaluation has exactly one record for every sample, in the order of the set, and its report can be made from them alone", async () => {
  expect(ids("whole")).toEqual(instances.flatMap((_, i) => [`eval/${i}/0`, `eval/${i}/1`]));
  const { report, changed } = await rebuildReport(at("whole"), request, { family, instances });
  expect(`${JSON.stringify(report)}`.length).toBeGreaterThan(1000);
  expect(report).toEqual(JSON.parse(readFileSync(at("whole/report.json"), "utf8")));
  expect(report).toEqual((await evaluate(undefined, steady)).report);
  expect(report.total).toMatchObject({ n: 300, answers: 600, prompt_tokens: 100, failed: 0 });
  expect(changed).toEqual([]);
});

test("killed in the middle of a line, with answers in any order, and taken up: the bytes of the uninterrupted one, and nothing asked twice", async () => {
  await start("killed");
  const first: string[] = [];
  const dies = policyOf(async (requests, options) => {
    for (let i = requests.length - 1; i > 100; i -= 2) {
      first.push(requests[i]!.seed + requests[i]!.index);
      options!.onResult!(i, answer(requests[i]!));
    }
    throw new Error("the process is killed here");
  });
  await expect(evaluate("killed", dies)).rejects.toThrow("killed here");
  appendFileSync(at("killed/rollouts.jsonl"), log("whole").slice(0, 77));
  const second: string[] = [];
  const goes = policyOf(async (requests) => {
    second.push(...requests.map(({ seed, index }) => seed + index));
    return requests.map(answer);
  });
  await evaluate("killed", goes);
  expect(first.length).toBeGreaterThan(50);
  expect(new Set([...first, ...second]).size).toBe(first.length + second.length);
  expect(second).toHaveLength(600 - first.length);
  expect(log("killed")).toBe(log("whole"));
  expect(readFileSync(at("killed/report.json"))).toEqual(readFileSync(at("whole/report.json")));
});

test("outside failures are recorded, enter no rate, and only they are asked again on resuming", async () => {
  await start("flaky");
  const failure = { boundary: "endpoint", message: "503", attempts: 3 };
  const flaky = policyOf(async (requests) => requests.map((r, i): Result => (i % 5 === 0 ? { failure } : answer(r))));
  const { report } = await evaluate("flaky", flaky);
  const failed = Math.ceil(256 / 5) * 2 + Math.ceil(88 / 5);
  expect(report).toMatchObject({ failed, total: { answers: 600 - failed, failed_share: failed / 600 } });
  expect(ids("flaky")).toEqual(ids("whole"));
  let asked = 0;
  const mended = policyOf(async (requests) => {
    asked += requests.length;
    return requests.map(answer);
  });
  await evaluate("flaky", mended);
  expect(asked).toBe(failed);
  expect(log("flaky")).toBe(log("whole"));
});

test("when nothing answers any more the evaluation stops with the first reason and keeps what it has", async () => {
  await start("down");
  let blocks = 0;
  const failure = { boundary: "endpoint", message: "connection refused", attempts: 3 };
  const down = policyOf(async (requests) => requests.map((r): Result => (blocks === 0 ? answer(r) : { failure }))).complete;
  const counted = policyOf(async (requests, options) => {
    const results = await down(requests, options);
    blocks += 1;
    return results;
  });
  await expect(evaluate("down", counted)).rejects.toThrow(/stopped after 256 of 600 .*256 in a row failed.*connection refused/);
  expect(blocks).toBe(2);
  await expect(rebuildReport(at("down"), request, { family, instances })).rejects.toThrow(/88 of 600 samples are missing/);
  await evaluate("down", steady);
  expect(log("down")).toBe(log("whole"));
});

test("what an interruption cut short is no failure: it stays missing", async () => {
  await start("stopped");
  const controller = new AbortController();
  const stopped = policyOf(async (requests) => {
    controller.abort();
    return requests.map((r, i): Result => (i < 10 ? answer(r) : { failure: { boundary: "endpoint", message: "aborted", attempts: 1 } }));
  });
  await expect(evaluate("stopped", stopped, controller.signal)).rejects.toThrow(InterruptedError);
  expect(ids("stopped")).toHaveLength(10);
  await evaluate("stopped", steady);
  expect(log("stopped")).toBe(log("whole"));
});

test("a stored verdict that the present verifier does not share is named, and the present one counts", async () => {
  const lines = log("whole").split("\n");
  const right = lines.findIndex((line) => line.includes('"ok":true'));
  await start("doctored");
  lines[right] = lines[right]!.replace('"ok":true', '"ok":false').replace('"code":"valid"', '"code":"hole"');
  writeFileSync(at("doctored/rollouts.jsonl"), lines.join("\n"));
  const { report, changed } = await rebuildReport(at("doctored"), request, { family, instances });
  expect(changed).toEqual([{ id: `eval/${Math.floor(right / 2)}/${right % 2}`, stored: "hole", present: "valid" }]);
  expect(report).toEqual(JSON.parse(readFileSync(at("whole/report.json"), "utf8")));
});

test("a broken line in the middle, or a record of another set, is refused by its line", async () => {
  await start("broken");
  writeFileSync(at("broken/rollouts.jsonl"), `${log("whole").split("\n")[0]}\n{"id": \n`);
  await expect(evaluate("broken", steady)).rejects.toThrow(/rollouts\.jsonl, line 2/);
  writeFileSync(at("broken/rollouts.jsonl"), `${log("whole").split("\n")[0]!.replace("eval/0/0", "eval/7/0")}\n`);
  await expect(evaluate("broken", steady)).rejects.toThrow(/eval\/7\/0 .*does not belong to this evaluation/);
});

test("stored evaluations are compared and tabulated from the command line without asking anybody", async () => {
  for (const policy of ["oracle", "random"]) {
    const { code } = await callCli(["eval", "--policy", policy, "--set", "bench-3", "--limit", "40", "--out", at(policy), "--quiet"]);
    expect(code).toBe(0);
  }
  const compared = await callCli(["eval", "--compare", at("random"), at("oracle"), "--json"]);
  const { comparison, policy } = JSON.parse(compared.stdout);
  expect(policy).toBe("oracle");
  expect(comparison.valid).toMatchObject({ n: 40, other: 1, mcnemar: { only_reference: 0 } });
  const table = await callCli(["eval", at("oracle"), at("random"), "--published", "--format", "csv"]);
  expect(table.stdout).toMatch(/^policy,source,size,acc,opt,n,failed\noracle,evaluated,3,100,100,\d+,0\n/);
  expect(table.stdout).toContain("Qwen3-4B (base),published on other instances,3,40,38");
  for (const format of ["table", "markdown", "latex", "csv", "json"]) {
    for (const layout of ["sizes", "paper"]) {
      const { stdout } = await callCli(["eval", at("oracle"), "--published", "--layout", layout, "--format", format]);
      expect([format, layout, stdout]).toEqual([format, layout, expect.stringMatching(/oracle[\s\S]*Qwen3-4B \+ GRPO \+ Ours/)]);
      expect(stdout).toMatch(/published.*other instances/);
    }
  }
  const replayed = await callCli(["eval", "--replay", at("oracle")]);
  expect(replayed.stdout).toMatch(/oracle on bench-3: 40 instances/);
  const both = await callCli(["eval", at("oracle"), "--policy", "random", "--set", "bench-3"]);
  expect([both.code, both.stdout]).toEqual([2, ""]);
});

test("a dry run counts what is left, with tokens and price, and asks and writes nothing", async () => {
  const asks = [
    "eval",
    "--policy",
    "embedded:assets/base-tiny",
    "--set",
    "bench-3",
    "--limit",
    "10",
    "--samples",
    "3",
    "--dry-run",
    "--json",
  ];
  const plan = JSON.parse((await callCli([...asks, "--price-in", "2", "--price-out", "10", "--out", at("never")])).stdout);
  expect(plan).toMatchObject({
    completions: 30,
    prompt_tokens: { method: expect.stringMatching(/^exact/) },
    completion_tokens: { total: 30 * 128, method: expect.stringMatching(/^at most/) },
  });
  expect(plan.price.total).toBeCloseTo((2 * plan.prompt_tokens.total + 10 * 3840) / 1e6, 12);
  expect(() => log("never")).toThrow();
  const chat = JSON.parse(
    (await callCli(["eval", "--policy", "random", "--set", "bench-3", "--limit", "1", "--dry-run", "--json"])).stdout,
  );
  expect(chat.prompt_tokens).toMatchObject({
    total: Math.ceil(chat.first_prompt.length / 4),
    method: expect.stringMatching(/4 characters/),
  });
  const half = await callCli([...asks, "--price-in", "2"]);
  expect(half).toMatchObject({ code: 2, stdout: "" });
});
