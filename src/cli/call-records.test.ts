import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, it } from "vitest";
import { type Completion, type CompletionFailure, type CompletionRequest, CorruptFileError, InputError } from "../core/index.js";
import { callRecord } from "../policies/index.js";
import { CallFolder, openReplay } from "./call-records.js";

const root = mkdtempSync(join(tmpdir(), "envwright-calls-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let dir: string;
beforeEach(() => {
  dir = join(mkdtempSync(join(root, "x-")), "calls");
});

const request = (prompt: string, change: Partial<CompletionRequest> = {}): CompletionRequest => ({
  ...{ prompt, seed: "s", index: 0, maxTokens: 10, temperature: 0 },
  ...change,
});
const answer = (text: string): Completion => ({
  ...{ text, tokens: 3, finishReason: "stop", reasoning: "because", latencyMs: 12 },
  usage: { promptTokens: 4, completionTokens: 3, reasoningTokens: 1, isEstimated: true },
});
const failure: CompletionFailure = { failure: { boundary: "endpoint", message: "HTTP 500", attempts: 6 } };

async function recorded(...calls: [CompletionRequest, Completion | CompletionFailure][]): Promise<void> {
  const folder = await CallFolder.open(dir, "vllm:m", "chat");
  for (const [asked, result] of calls) folder.record(callRecord("vllm:m", asked, result));
  folder.close();
}

it("a folder of calls is made with the first call: a policy that is never asked leaves nothing", async () => {
  await recorded();
  expect(existsSync(dir)).toBe(false);
  await recorded([request("a"), answer("A")]);
  expect(JSON.parse(readFileSync(join(dir, "policy.json"), "utf8"))).toMatchObject({ policy: "vllm:m", rendering: "chat" });
});

it("a replay gives every answer back whole, under the name and rendering of who gave it", async () => {
  await recorded([request("a"), answer("A")], [request("b", { topP: 0.5, jsonSchema: { type: "object" } }), answer("B")]);
  const replay = await openReplay(dir);
  expect([replay.name, replay.rendering]).toEqual(["vllm:m", "chat"]);
  const told: number[] = [];
  const results = await replay.complete([request("b", { topP: 0.5, jsonSchema: { type: "object" } }), request("a")], {
    onResult: (index) => told.push(index),
  });
  expect(results).toEqual([answer("B"), answer("A")]);
  expect(told).toEqual([0, 1]);
});

it.each<[string, Partial<CompletionRequest>, RegExp]>([
  ["prompt", { prompt: "other" }, /its prompt was never asked/],
  ["seed", { seed: "t" }, /seed differs from what was recorded; ask with the --seed that was recorded/],
  ["index", { index: 1 }, /index is 1 and was 0; ask with no more --samples/],
  ["length", { maxTokens: 4096 }, /max_tokens is 4096 and was 10; ask with --max-tokens 10$/],
  ["temperature", { temperature: 1 }, /temperature is 1 and was 0; ask with --temperature 0$/],
  ["top-p", { topP: 0.9 }, /top_p is 0\.9 and was unset; ask with a policy without top_p/],
  ["schema", { jsonSchema: {} }, /json_schema differs from what was recorded/],
  ["length and temperature", { maxTokens: 1, temperature: 2 }, /ask with --max-tokens 10 and --temperature 0$/],
])("a request of another %s was never recorded: it fails with what differs and what would be answered", async (_, change, message) => {
  await recorded([request("a"), answer("A")]);
  const [result] = await (await openReplay(dir)).complete([request("a", change)]);
  expect(result).toEqual({ failure: { boundary: "replay", attempts: 0, message: expect.stringMatching(message) } });
});

it("a failure gives way to the answer that came later, and an answer stands", async () => {
  await recorded([request("a"), failure], [request("b"), answer("B")], [request("c"), failure]);
  await recorded([request("a"), answer("A")], [request("b"), failure]);
  expect(await (await openReplay(dir)).complete([request("a"), request("b"), request("c")])).toEqual([answer("A"), answer("B"), failure]);
});

it("a line that a kill cut off does not count, and goes when recording goes on; a broken line elsewhere is corruption", async () => {
  await recorded([request("a"), answer("A")]);
  const calls = join(dir, "calls.jsonl");
  appendFileSync(calls, readFileSync(calls, "utf8").slice(0, 50));
  await recorded([request("b"), answer("B")]);
  expect(readFileSync(calls, "utf8").trim().split("\n")).toHaveLength(2);
  expect(await (await openReplay(dir)).complete([request("b")])).toEqual([answer("B")]);
  writeFileSync(calls, `{"half\n${readFileSync(calls, "utf8")}`);
  await expect(openReplay(dir)).rejects.toThrow(CorruptFileError);
});

it("the replay of a policy has its settings, and another policy in the same folder is told by them", async () => {
  const folder = await CallFolder.open(dir, "vllm:m", "chat", { model: "m", temperature: 0.5 });
  folder.record(callRecord("vllm:m", request("a"), answer("A")));
  folder.close();
  expect((await openReplay(dir)).settings).toEqual({ model: "m", temperature: 0.5, replay_of: "vllm:m" });
  await expect(CallFolder.open(dir, "vllm:m", "chat", { model: "m", temperature: 1 })).rejects.toThrow(/"temperature":0\.5/);
  await expect(CallFolder.open(dir, "vllm:m", "chat", { temperature: 0.5, model: "m" })).resolves.toBeInstanceOf(CallFolder);
});

it("the same policy at another address goes on in the folder, and every call says where it was answered", async () => {
  const settings = { model: "m", base_url: "http://a/v1", temperature: 1 };
  const first = await CallFolder.open(dir, "vllm:m@http://a/v1", "chat", settings);
  first.record(callRecord("vllm:m@http://a/v1", request("a"), answer("A")));
  first.close();
  const moved = await CallFolder.open(dir, "vllm:m@http://b/v1", "chat", { ...settings, base_url: "http://b/v1" });
  moved.record(callRecord("vllm:m@http://b/v1", request("b"), answer("B")));
  moved.close();
  expect(await (await openReplay(dir)).complete([request("a"), request("b")])).toEqual([answer("A"), answer("B")]);
  expect(readFileSync(join(dir, "calls.jsonl"), "utf8")).toMatch(/@http:\/\/a\/v1[\s\S]*@http:\/\/b\/v1/);
  const hotter = { ...settings, base_url: "http://b/v1", temperature: 2 };
  await expect(CallFolder.open(dir, "vllm:m@http://b/v1", "chat", hotter)).rejects.toThrow(/holds the calls of/);
  await expect(CallFolder.open(dir, "sglang:m@http://b/v1", "chat", settings)).rejects.toThrow(/holds the calls of/);
});

it("the records of two policies are never mixed", async () => {
  await recorded([request("a"), answer("A")]);
  await expect(CallFolder.open(dir, "vllm:other", "chat")).rejects.toThrow(/holds the calls of vllm:m/);
  await expect(CallFolder.open(dir, "vllm:m", "compact")).rejects.toThrow(InputError);
});
