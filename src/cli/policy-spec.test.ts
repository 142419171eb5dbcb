import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { ConfigError, InputError } from "../core/index.js";
import { familyByName } from "../environments/index.js";
import { echo, startTestEndpoint, type TestEndpoint } from "../policies/endpoint/test-endpoint.js";
import { describePolicy, openPolicy, type PolicyRequest } from "./policy-spec.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-policy-"));
const at = (name: string) => join(dir, name);
const family = familyByName("mapf-frozenlake");
let endpoint: TestEndpoint | undefined;
afterEach(async () => {
  await endpoint?.close();
  endpoint = undefined;
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const open = (spec: string, more: Partial<PolicyRequest> = {}) =>
  openPolicy({ spec, family, instances: [], objective: "makespan", workers: 1, environment: {}, ...more });
const one = { prompt: "q", seed: "s", index: 0, maxTokens: 20, temperature: 0 };

function file(name: string, content: unknown): string {
  writeFileSync(at(name), typeof content === "string" ? content : JSON.stringify(content));
  return at(name);
}

describe("a named endpoint", () => {
  it("takes its key from the preset's variable and says which one is missing", async () => {
    const policy = await open("openai:some-model", { environment: { OPENAI_API_KEY: "k" } });
    expect([policy.name, policy.rendering]).toEqual(["openai:some-model", "chat"]);
    await expect(open("openai:some-model")).rejects.toThrow(/OPENAI_API_KEY is not set/);
    await expect(open("anthropic:m", { environment: { ANTHROPIC_API_KEY: " " } })).rejects.toThrow(ConfigError);
  });

  it.each([
    ["vllm:Qwen/Qwen3-4B", "vllm:Qwen/Qwen3-4B"],
    ["ollama:qwen3:4b", "ollama:qwen3:4b"],
    ["vllm:org/model@v2@http://gpu-box:8000/v1/", "vllm:org/model@v2@http://gpu-box:8000/v1"],
    ["openai:m@http://127.0.0.1:9/v1", "openai:m@http://127.0.0.1:9/v1"],
  ])("%s needs no key where it is not hosted", async (spec, name) => {
    expect((await open(spec)).name).toBe(name);
  });

  it("is asked at its base URL, with its key, and what it says is recorded where that is wished", async () => {
    endpoint = await startTestEndpoint(() => echo);
    const spec = `vllm:m@${endpoint.baseUrl}`;
    const policy = await open(spec, { environment: { VLLM_API_KEY: "the-key" }, recordTo: at("recorded") });
    expect(existsSync(at("recorded"))).toBe(false);
    expect(await policy.complete([one])).toMatchObject([{ text: "q#0" }]);
    await policy.close();
    expect(endpoint.seen[0]).toMatchObject({ headers: { authorization: "Bearer the-key" }, body: { model: "m" } });
    const replayed = await open(`replay:${at("recorded")}`);
    expect(replayed.name).toBe(policy.name);
    expect(await replayed.complete([one])).toMatchObject([{ text: "q#0", tokens: 5 }]);
  });

  it("whose URL holds a password is refused without repeating it", async () => {
    const refused = await open("openai:m@http://me:hunter2@host/v1").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigError);
    expect((refused as ConfigError).explain()).not.toContain("hunter2");
  });
});

describe("a policy file", () => {
  it("is YAML or JSON; what it says wins over what is asked, and its own record folder over the caller's", async () => {
    endpoint = await startTestEndpoint(() => echo);
    const path = file(
      "policy.yaml",
      `endpoint: sglang\nmodel: m\nbase_url: ${endpoint.baseUrl}\nkey_env: MY_KEY\nrendering: compact\ntemperature: 0.6\nmax_tokens: 77\nrecord: ${at("own")}\n`,
    );
    const policy = await open(path, { environment: { MY_KEY: "mine" }, recordTo: at("callers") });
    expect(policy.rendering).toBe("compact");
    await policy.complete([one]);
    await policy.close();
    expect(endpoint.seen[0]).toMatchObject({ headers: { authorization: "Bearer mine" }, body: { temperature: 0.6, max_tokens: 77 } });
    expect([existsSync(at("own/calls.jsonl")), existsSync(at("callers"))]).toEqual([true, false]);
  });

  const SECRET = "sk-live-0123456789";
  it.each<[string, unknown, RegExp]>([
    ["without a model", { endpoint: "vllm" }, /model/],
    ["with an endpoint that is not known", { endpoint: "opnai", model: "m" }, /endpoint/],
    ["that holds the key", { model: "m", key: SECRET }, /key/],
    ["that holds the key in place of its variable", { model: "m", key_env: SECRET }, /key_env is not the name/],
    ["with a URL of another kind", { model: "m", base_url: "file:///etc/passwd" }, /base_url/],
    ["with a budget in money without prices", { model: "m", budget: { money: 1 } }, /prices/],
    ["with a timeout of more than a day", { model: "m", timeout: 90_000 }, /timeout/],
    ["with a field that cannot be left out", { model: "m", omit: ["messages"] }, /omit/],
  ])("%s is refused, and the error does not repeat a key", async (name, content, message) => {
    const refused = await open(file(`${name.replaceAll(" ", "-")}.json`, content)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigError);
    expect((refused as ConfigError).message).toMatch(message);
    expect((refused as ConfigError).explain()).not.toContain(SECRET);
  });

  it.each<[string, object]>([
    ["a field of the body", { extra_body: { auth: { token: SECRET } } }],
    ["the model's name", { model: `m-${SECRET}` }],
    ["a path of the base URL", { base_url: `http://gateway/${SECRET}/v1` }],
    ["the system message", { system: `say ${SECRET}` }],
  ])("that holds the key in %s is refused, since it would be stored, and the error does not repeat it", async (_, more) => {
    const path = file("holds.json", { endpoint: "vllm", model: "m", ...more });
    const refused = await open(path, { environment: { VLLM_API_KEY: SECRET } }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigError);
    expect((refused as ConfigError).explain()).toMatch(/the key of vllm stands in the policy itself[\s\S]*VLLM_API_KEY alone/);
    expect((refused as ConfigError).explain()).not.toContain(SECRET);
    expect((await open(path, { environment: { VLLM_API_KEY: "another-key" } })).rendering).toBe("chat");
  });

  it("that is missing or is not YAML is refused by name", async () => {
    await expect(open(at("nowhere.yaml"))).rejects.toThrow(/nowhere.yaml: no such file/);
    await expect(open(file("torn.yaml", "model: [m"))).rejects.toThrow(/torn.yaml/);
  });
});

describe("a GGUF file", () => {
  it("that does not exist is refused by name, before anything is loaded", async () => {
    await expect(open(`gguf:${at("none.gguf")}`)).rejects.toThrow(/none.gguf: no such file/);
  });

  it("is described by its bytes, without llama.cpp: another file in the same place is another policy", async () => {
    const spec = `gguf:${file("described.gguf", "GGUF one")}`;
    const first = await describePolicy(spec);
    expect(first).toEqual({
      ...{ name: spec, rendering: "chat" },
      settings: { gguf_sha256: createHash("sha256").update("GGUF one").digest("hex"), context_size: 8192 },
    });
    file("described.gguf", "GGUF two");
    expect((await describePolicy(spec)).settings).not.toEqual(first.settings);
    await expect(describePolicy(`gguf:${at("none.gguf")}`)).rejects.toThrow(/none.gguf: no such file/);
  });

  const isInstalled = [import.meta.url, join(process.cwd(), "x.js")].some((from) => {
    try {
      return createRequire(from).resolve("node-llama-cpp/package.json") !== "";
    } catch {
      return false;
    }
  });
  it.skipIf(isInstalled)(
    "without node-llama-cpp is refused with the command that installs it (skipped where it is installed)",
    async () => {
      const refused = await open(`gguf:${file("some.gguf", "GGUF")}`).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ConfigError);
      expect((refused as ConfigError).explain()).toMatch(
        /need the package node-llama-cpp[\s\S]*npm install .*node-llama-cpp@\d+\.\d+\.\d+ @node-llama-cpp\//,
      );
    },
  );
});

it.each(["openai:m", "vllm:m@http://127.0.0.1:9/v1", "oracle", "random", "embedded:assets/base-tiny"])(
  "%s is described as it would be opened, without a key",
  async (spec) => {
    const described = await describePolicy(spec);
    const opened = await open(spec, { environment: { OPENAI_API_KEY: "k" } });
    expect(described).toEqual({ name: opened.name, rendering: opened.rendering, ...(opened.settings && { settings: opened.settings }) });
    await opened.close();
  },
);

it.each([
  ["replay:nowhere", /nowhere has no policy.json/],
  ["opnai:m", /did you mean "openai:MODEL"/],
  ["oracel", /did you mean "oracle"/],
  ["embedded:", /is not a policy/],
  ["gguf:", /is not a policy/],
  ["oracle:x", /is not a policy/],
])("%s is refused, with what was probably meant", async (spec, message) => {
  const refused = await open(spec).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(InputError);
  expect((refused as InputError).message).toMatch(message);
});
