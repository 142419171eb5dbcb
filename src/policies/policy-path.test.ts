import { expect, test } from "vitest";
import { absolutePolicy, policyPath } from "./policy-path.js";

test("what a policy names by a path is made absolute, and nothing else of it is changed", () => {
  for (const [spec, absolute] of [
    ["gguf:models/m.gguf", "gguf:/at/models/m.gguf"],
    ["replay:../calls", "replay:/calls"],
    ["embedded:/elsewhere/checkpoint", "embedded:/elsewhere/checkpoint"],
    ["policy.yaml", "/at/policy.yaml"],
    ["policies/a.json", "/at/policies/a.json"],
    ["openai:model.json", "openai:model.json"],
    ["vllm:Qwen/Qwen3-4B@http://127.0.0.1:8000/v1", "vllm:Qwen/Qwen3-4B@http://127.0.0.1:8000/v1"],
    ["oracle", "oracle"],
    ["gguf:", "gguf:"],
  ] as const) {
    expect(absolutePolicy(spec, "/at")).toBe(absolute);
  }
  expect(["gguf:m.gguf", "replay:calls", "p.yml", "ollama:qwen3:4b", "random"].map(policyPath)).toEqual([
    "m.gguf",
    "calls",
    "p.yml",
    undefined,
    undefined,
  ]);
});
