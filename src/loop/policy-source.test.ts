import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { recipeSchema } from "../core/index.js";
import { policySourceHash } from "./engineering.js";
import { withAbsolutePaths } from "./run.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-policy-"));
const at = (name: string) => join(dir, name);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("what the engineer's policy names by a path starts from the recipe's file", () => {
  const recipe = (policy: string) =>
    recipeSchema.parse({ name: "t", stages: 1, instances: 1, config: {}, base: "base", engineer: { name: "llm", policy } });
  const policyOf = (policy: string) => withAbsolutePaths(recipe(policy), dir).engineer.policy;
  expect(policyOf("replay:calls")).toBe(`replay:${at("calls")}`);
  expect(policyOf("policy.yaml")).toBe(at("policy.yaml"));
  expect(policyOf("ollama:qwen3:4b")).toBe("ollama:qwen3:4b");
});

test("a policy file, a model or recorded calls that were changed have another hash; what names no path has none", async () => {
  mkdirSync(at("calls"));
  for (const [policy, file] of [
    [at("policy.yaml"), "policy.yaml"],
    [`gguf:${at("m.gguf")}`, "m.gguf"],
    [`replay:${at("calls")}`, "calls/calls.jsonl"],
  ] as const) {
    writeFileSync(at(file), "one");
    const first = await policySourceHash({ name: "llm", policy });
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(await policySourceHash({ name: "llm", policy })).toBe(first);
    writeFileSync(at(file), "two");
    expect(await policySourceHash({ name: "llm", policy })).not.toBe(first);
    // An engineer that asks nobody does not depend on it.
    expect(await policySourceHash({ name: "rule", policy })).toBeUndefined();
  }
  for (const policy of ["ollama:qwen3:4b", `gguf:${at("none.gguf")}`]) {
    expect(await policySourceHash({ name: "llm", policy })).toBeUndefined();
  }
});
