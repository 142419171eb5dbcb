/**
 * A real GGUF model through llama.cpp: as a policy, evaluated on a slice, and as the engineer of a run. Runs where both are: node-llama-cpp
 * beside this package, in the current folder or in ENVWRIGHT_TEST_GGUF_MODULES, and a small instruct model named by ENVWRIGHT_TEST_GGUF;
 * skipped otherwise. Nothing is expected of what the model knows.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callCli } from "../../../test/call-cli.js";
import { runCli } from "../../../test/run-cli.js";
import { untrainedBench } from "../../../test/untrained-base.js";
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

describe.skipIf(reason !== undefined)(`a GGUF model on the command line${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
  const dir = mkdtempSync(join(tmpdir(), "envwright-gguf-"));
  const at = (name: string) => join(dir, name);
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  /** In the folder that has llama.cpp, as a user would stand in it. */
  const inFolder = (...argv: string[]) => runCli(argv, folder === undefined ? {} : { cwd: folder });

  it("is evaluated on a slice: one record a sample, judged, and the same table from its recorded calls without the model", async () => {
    const agents = [
      { start: [0, 0], goal: [0, 2] },
      { start: [2, 2], goal: [2, 0] },
    ];
    const boards = [[[1, 1]], [[1, 0]]].map((holes) => JSON.stringify({ size: 3, holes, agents }));
    writeFileSync(at("boards.jsonl"), `${boards.join("\n")}\n`);
    const asked = ["--set", at("boards.jsonl"), "--max-tokens", "16", "--workers", "1", "--json", "--quiet"];
    const evaluated = await inFolder("eval", "--policy", `gguf:${file}`, ...asked, "--out", at("eval"));
    expect(evaluated.stderr).not.toMatch(/error/);
    expect(evaluated.code).toBe(0);
    const { total } = JSON.parse(evaluated.stdout);
    expect(total).toMatchObject({ n: 2, answers: 2, failed: 0 });
    expect(total.prompt_tokens).toBeGreaterThan(100);
    expect(readFileSync(at("eval/rollouts.jsonl"), "utf8").trim().split("\n")).toHaveLength(2);
    const replayed = await callCli(["eval", "--policy", `replay:${at("eval/calls")}`, ...asked]);
    expect(JSON.parse(replayed.stdout).total).toEqual(total);
    const settings = JSON.parse(readFileSync(at("eval/eval.json"), "utf8")).settings;
    expect(settings).toMatchObject({ gguf_sha256: expect.stringMatching(/^[0-9a-f]{64}$/), context_size: 8192 });
  });

  it("is the engineer of a run: it is asked under the schema, and the run goes on whatever it says", async () => {
    const bench = await untrainedBench({ stages: 2, steps: 1 });
    const engineer = ["--engineer", "llm", "--model", `gguf:${file}`, "--set", "engineer.max_tokens=40", "--set", "engineer.attempts=1"];
    const run = await inFolder("run", bench.recipe, "--out", at("run"), ...engineer, "--quiet", "--json");
    rmSync(bench.dir, { recursive: true, force: true });
    expect(run.stderr).not.toMatch(/error/);
    expect(run.code).toBe(0);
    const proposal = JSON.parse(readFileSync(at("run/stages/00/proposal.json"), "utf8"));
    expect(proposal).toMatchObject({ engineer: "llm", rendering: "chat", attempts: [{ raw: expect.stringMatching(/^\s*\{/) }] });
    expect(proposal.attempts[0].tokens).toBeGreaterThan(1);
    expect(JSON.parse(run.stdout).stages).toHaveLength(2);
  });
});
