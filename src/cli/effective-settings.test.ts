/** A policy file's settings through the command line, against a real HTTP server: what is sent is what is planned, stored and kept on --resume. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callCli } from "../../test/call-cli.js";
import { endpointOptions, endpointSettings } from "../policies/endpoint/options.js";
import { chat, startTestEndpoint, type TestEndpoint } from "../policies/endpoint/test-endpoint.js";
import { effectiveSettings, requireSamePolicy, settingsHash, truncationNote } from "./effective-settings.js";
import { describePolicy } from "./policy-spec.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-effective-"));
const at = (name: string) => join(dir, name);
let endpoint: TestEndpoint;
beforeAll(async () => {
  endpoint = await startTestEndpoint(() => chat([{ content: "no plan", finish_reason: "length" }]));
});
afterAll(async () => {
  await endpoint.close();
  rmSync(dir, { recursive: true, force: true });
});

const policyFile = (name: string, more: object = {}) => {
  const file = { endpoint: "vllm", model: "m", base_url: endpoint.baseUrl, temperature: 0.25, top_p: 0.5, max_tokens: 300, ...more };
  writeFileSync(at(name), JSON.stringify(file));
  return at(name);
};
const SET = ["--set", "bench-3", "--limit", "2", "--workers", "1", "--quiet"];
const stored = (name: string) => JSON.parse(readFileSync(at(`${name}/eval.json`), "utf8"));

test("what a policy file sets is sent, stored with its hash, planned with and named in the report; the command line's values are told to be void", async () => {
  const file = policyFile("policy.json", { system: "Plan.", extra_body: { top_k: 4 } });
  const line = ["eval", "--policy", file, ...SET, "--temperature", "1", "--max-tokens", "64"];
  const plan = await callCli([...line, "--price-in", "0", "--price-out", "1000", "--dry-run", "--json"]);
  expect(JSON.parse(plan.stdout)).toMatchObject({ max_tokens: 300, completion_tokens: { total: 600 }, price: { total: 0.6 } });

  const { code, stdout, stderr } = await callCli([...line, "--out", at("e"), "--json"]);
  expect(code, stderr).toBe(0);
  const sent = endpoint.seen.at(-1)!.body;
  expect(sent).toMatchObject({ temperature: 0.25, top_p: 0.5, max_tokens: 300, top_k: 4 });
  expect(JSON.parse(stdout).policy).toBe(`vllm:m@${endpoint.baseUrl}`);
  const settings = { model: "m", base_url: endpoint.baseUrl, rendering: "chat", omit: [], extra_body: { top_k: 4 }, system: "Plan.", temperature: 0.25, top_p: 0.5, max_tokens: 300 }; // biome-ignore format: one record
  expect(stored("e")).toMatchObject({
    policy: file,
    policy_name: `vllm:m@${endpoint.baseUrl}`,
    temperature: 0.25,
    top_p: 0.5,
    max_tokens: 300,
  });
  expect(stored("e").settings).toEqual(settings);
  expect(stored("e").settings_sha256).toBe(settingsHash(settings));
  expect(stderr).toContain(`--temperature 1 has no effect: ${file} sets 0.25`);
  expect(stderr).toContain(`--max-tokens 64 has no effect: ${file} sets 300`);
  expect(stderr).toContain("2 of 2 answers (100 %) were truncated at 300 tokens");
  expect(JSON.parse((await callCli(["eval", at("e"), "--json"])).stdout).policy).toBe(`vllm:m@${endpoint.baseUrl}`);
});

test("the prices of a policy file's budget are what is planned and reported with, unless the command line has others", async () => {
  const file = policyFile("priced.json", { budget: { money: 100, prices: { prompt: 0, completion: 2000 } } });
  const line = ["eval", "--policy", file, ...SET, "--json"];
  expect(JSON.parse((await callCli([...line, "--dry-run"])).stdout).price.total).toBeCloseTo(1.2, 9);
  const other = await callCli([...line, "--dry-run", "--price-in", "0", "--price-out", "1000"]);
  expect(JSON.parse(other.stdout).price.total).toBeCloseTo(0.6, 9);
  // Two answers of five tokens each.
  expect(JSON.parse((await callCli(line)).stdout).total.price).toBeCloseTo(0.02, 9);
});

test("the samples of a board go out as one request where the endpoint takes n, and each has its record", async () => {
  const before = endpoint.seen.length;
  const { stdout, code } = await callCli(["eval", "--policy", policyFile("n.json"), ...SET, "--samples", "3", "--out", at("n"), "--json"]);
  expect(code).toBe(0);
  const asked = endpoint.seen.slice(before).map(({ body }) => body.n ?? 1);
  // This endpoint gives one choice whatever it is asked: the others are asked for one by one.
  expect(asked.filter((n) => n === 3).length).toBeGreaterThanOrEqual(1);
  expect(JSON.parse(stdout).total).toMatchObject({ n: 2, answers: 6, failed: 0 });
  expect(readFileSync(at("n/rollouts.jsonl"), "utf8").trim().split("\n")).toHaveLength(6);
});

test("--resume refuses a policy file that was changed in what it sends, and takes one that only waits longer", async () => {
  const file = policyFile("changing.json");
  expect((await callCli(["eval", "--policy", file, ...SET, "--out", at("r")])).code).toBe(0);
  policyFile("changing.json", { timeout: 10, concurrency: 2 });
  expect((await callCli(["eval", "--resume", at("r"), "--quiet"])).code).toBe(0);
  policyFile("changing.json", { temperature: 0.75 });
  const asked = endpoint.seen.length;
  const refused = await callCli(["eval", "--resume", at("r"), "--quiet"]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/has changed since the evaluation was started: temperature/);
  expect(endpoint.seen.length).toBe(asked);
});

test("a dry run of a hosted service needs no key: it asks nobody", async () => {
  delete process.env.OPENAI_API_KEY;
  const plan = await callCli(["eval", "--policy", "openai:m", ...SET, "--dry-run", "--json"]);
  expect([plan.code, plan.stderr]).toEqual([0, ""]);
  expect(JSON.parse(plan.stdout)).toMatchObject({ completions: 2, settings: { model: "m", base_url: "https://api.openai.com/v1" } });
  const asked = await callCli(["eval", "--policy", "openai:m", ...SET]);
  expect(asked).toMatchObject({ code: 2, stderr: expect.stringMatching(/OPENAI_API_KEY is not set/) });
});

test("--resume of a replay refuses the calls of another model in the same folder, and takes more calls of the same", async () => {
  const record = at("replayed-calls");
  const asks = (name: string, more: object) => ["eval", "--policy", policyFile(name, { record, ...more }), ...SET];
  expect((await callCli(asks("replayed.json", {}))).code).toBe(0);
  const replay = ["eval", "--policy", `replay:${record}`, ...SET, "--out", at("replay")];
  expect((await callCli(replay)).code).toBe(0);
  expect(stored("replay")).toMatchObject({ settings: { model: "m", temperature: 0.25, replay_of: `vllm:m@${endpoint.baseUrl}` } });
  expect((await callCli([...asks("replayed.json", {}), "--seed", "2"])).code).toBe(0);
  expect((await callCli(["eval", "--resume", at("replay"), "--quiet"])).code).toBe(0);
  rmSync(record, { recursive: true });
  expect((await callCli(asks("replayed.json", { model: "other" }))).code).toBe(0);
  const refused = await callCli(["eval", "--resume", at("replay"), "--quiet"]);
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/has changed since the evaluation was started: model, replay_of/),
  });
});

test("--resume of a GGUF evaluation refuses another file in the same place", async () => {
  writeFileSync(at("m.gguf"), "GGUF one");
  const described = await describePolicy(`gguf:${at("m.gguf")}`);
  const request = { policy: `gguf:${at("m.gguf")}`, settings: described.settings!, settings_sha256: settingsHash(described.settings!) };
  const check = async () =>
    requireSamePolicy(request as unknown as Parameters<typeof requireSamePolicy>[0], await describePolicy(request.policy));
  await expect(check()).resolves.toBeUndefined();
  writeFileSync(at("m.gguf"), "GGUF two");
  await expect(check()).rejects.toThrow(/gguf:.*m\.gguf has changed.*: gguf_sha256/);
});

test("the longest completion is 4096 tokens in chat and 128 in the compact rendering, unless given", async () => {
  const most = async (...more: string[]) => JSON.parse((await callCli(["eval", ...SET, "--dry-run", "--json", ...more])).stdout).max_tokens;
  expect(await most("--policy", "random")).toBe(4096);
  expect(await most("--policy", "oracle")).toBe(128);
  expect(await most("--policy", "random", "--max-tokens", "9")).toBe(9);
});

test("a field of extra_body is written over the file's own, and an omitted one is none", () => {
  const settings = endpointSettings(
    endpointOptions(
      { endpoint: "vllm", model: "m", max_tokens: 5, temperature: 1, omit: ["temperature"], extra_body: { max_tokens: 7 } },
      "p",
    ),
  );
  expect(settings).toMatchObject({ max_tokens: 7 });
  expect(settings).not.toHaveProperty("temperature");
  const odd = { name: "p", rendering: "chat", settings: { max_tokens: "many" } } as const;
  expect(() => effectiveSettings("p", odd, { temperature: 0, maxTokens: 1, samples: 1 }, () => {})).toThrow(/max_tokens is not a number/);
});

test("another checkpoint in the same place is another policy; a folder from before hashes were kept says nothing", () => {
  const request = { policy: "embedded:d", settings: { checkpoint_sha256: "a" }, settings_sha256: settingsHash({ checkpoint_sha256: "a" }) };
  const { settings_sha256: _, ...old } = request;
  const check = (r: object, sha: string) =>
    requireSamePolicy(r as Parameters<typeof requireSamePolicy>[0], { settings: { checkpoint_sha256: sha } });
  expect(() => check(request, "b")).toThrow(/embedded:d has changed.*checkpoint_sha256/);
  expect(() => check(request, "a")).not.toThrow();
  expect(() => check(old, "b")).not.toThrow();
});

test("truncation is told above a fifth of the answers, not at it", () => {
  expect(truncationNote({ answers: 10, codes: { truncated: 2 } }, 128)).toBeUndefined();
  expect(truncationNote({ answers: 10, codes: { truncated: 3, ok: 7 } }, 128)).toMatch(
    /3 of 10 answers \(30 %\) were truncated at 128 tokens/,
  );
  expect(truncationNote({ answers: 0, codes: {} }, 128)).toBeUndefined();
});
