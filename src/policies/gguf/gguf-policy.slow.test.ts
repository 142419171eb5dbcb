/**
 * A real GGUF model through llama.cpp. Runs where both are: node-llama-cpp beside this package or in the current folder, and a small instruct
 * model named by ENVWRIGHT_TEST_GGUF; skipped otherwise. Nothing is expected of what the model knows.
 */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CompletionRequest, InterruptedError } from "../../core/index.js";
import type { CallRecord } from "../endpoint/call-record.js";
import { GgufPolicy } from "./gguf-policy.js";
import { loadNodeLlamaCpp } from "./node-llama-cpp.js";

const file = process.env.ENVWRIGHT_TEST_GGUF ?? "";
const folder = process.env.ENVWRIGHT_TEST_GGUF_MODULES;
const load = () => loadNodeLlamaCpp(folder);
const hasPackage = await load().then(
  () => true,
  () => false,
);
const reason = !existsSync(file) ? "ENVWRIGHT_TEST_GGUF names no file" : hasPackage ? undefined : "node-llama-cpp is not installed";

describe.skipIf(reason !== undefined)(`a GGUF model${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
  let policy: GgufPolicy;
  const records: CallRecord[] = [];
  beforeAll(async () => {
    policy = await GgufPolicy.open({
      ...{ file, load, contextSize: 1024, gpu: false, threads: 1 },
      recorder: { record: (call) => records.push(call) },
    });
  });
  afterAll(() => policy.close());
  const request = (prompt: string, more: Partial<CompletionRequest> = {}): CompletionRequest => ({
    ...{ prompt, seed: "s", index: 0, maxTokens: 12, temperature: 0 },
    ...more,
  });

  it("answers each request from its own prompt alone, counts its tokens, and is greedy at temperature 0", async () => {
    const asked = [request("Say hi."), request("Name a colour.", { maxTokens: 200 }), request("Say hi.")];
    const results = await policy.complete(asked);
    const [first, second, third] = results.map((r) => ("failure" in r ? r.failure.message : r));
    expect(first).toMatchObject({ text: expect.stringMatching(/\S/), usage: { completionTokens: expect.any(Number) } });
    expect(second).toMatchObject({ finishReason: expect.stringMatching(/stop|length/) });
    expect((third as { text: string }).text).toBe((first as { text: string }).text);
    expect(results.every((r) => !("failure" in r) && r.tokens > 0 && r.tokens <= 200 && r.usage!.promptTokens > 0)).toBe(true);
    expect(records).toHaveLength(3);
  });

  it("draws by seed and index, the same again for the same", async () => {
    const draw = (index: number) => request("Write a random word.", { temperature: 1.5, index, maxTokens: 16 });
    const texts = (await policy.complete([draw(0), draw(1), draw(2), draw(0)])).map((r) => ("failure" in r ? "" : r.text));
    expect(texts[3]).toBe(texts[0]);
    expect(new Set(texts).size).toBeGreaterThan(1);
  });

  it("is held to a JSON Schema", async () => {
    const jsonSchema = { type: "object", properties: { a: { type: "number" } }, required: ["a"], additionalProperties: false };
    const [result] = await policy.complete([request("Give a number as JSON.", { jsonSchema, maxTokens: 60 })]);
    expect(JSON.parse((result as { text: string }).text)).toEqual({ a: expect.any(Number) });
  });

  it("refuses a prompt that does not fit, as a failure of that request, and answers its neighbours", async () => {
    const results = await policy.complete([request("far too long ".repeat(1000)), request("Say hi.")]);
    expect(results).toMatchObject([{ failure: { boundary: "context" } }, { text: expect.stringMatching(/\S/) }]);
    expect(policy.room("far too long ".repeat(1000))).toBeLessThan(1);
    await expect(policy.complete([request("x")], { signal: AbortSignal.abort() })).rejects.toThrow(InterruptedError);
  });
});
