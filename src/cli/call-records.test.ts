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

it.each<[string, Partial<CompletionRequest>]>([
  ["prompt", { prompt: "other" }],
  ["seed", { seed: "t" }],
  ["index", { index: 1 }],
  ["length", { maxTokens: 11 }],
  ["temperature", { temperature: 1 }],
  ["top-p", { topP: 0.9 }],
  ["schema", { jsonSchema: {} }],
])("a request of another %s was never recorded: it fails, and no other answer is given for it", async (_, change) => {
  await recorded([request("a"), answer("A")]);
  expect(await (await openReplay(dir)).complete([request("a", change)])).toMatchObject([{ failure: { boundary: "replay", attempts: 0 } }]);
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

it("the records of two policies are never mixed", async () => {
  await recorded([request("a"), answer("A")]);
  await expect(CallFolder.open(dir, "vllm:other", "chat")).rejects.toThrow(/holds the calls of vllm:m/);
  await expect(CallFolder.open(dir, "vllm:m", "compact")).rejects.toThrow(InputError);
});
