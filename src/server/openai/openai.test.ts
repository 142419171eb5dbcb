import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPolicy } from "../../cli/policy-spec.js";
import type { Completion, CompletionRequest, Policy } from "../../core/index.js";
import { Seed } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { evaluatePolicy } from "../../loop/index.js";
import { EndpointPolicy, endpointOptions, ScriptedPolicy } from "../../policies/index.js";
import { type Host, startHost } from "../host.js";
import { openAiPart } from "./index.js";

const family = familyByName("mapf-frozenlake");
const BASE = "assets/base-tiny";
const hosts: Host[] = [];
afterAll(async () => {
  for (const host of hosts) await host.close();
});

async function serve(policy: Policy, options: { token?: string; maxBody?: number } = {}): Promise<string> {
  const part = openAiPart({ policy, model: "m", maxTokens: 100, now: () => 0 });
  const host = await startHost({ parts: [part], host: "127.0.0.1", port: 0, ...options });
  hosts.push(host);
  return host.url;
}

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) });

const client = (url: string, key?: string) =>
  new EndpointPolicy(endpointOptions({ endpoint: "vllm", model: "m", base_url: `${url}/v1`, rendering: "compact" }, "test"), {
    key,
    random: Seed.root("test").at(0),
  });

describe("the embedded checkpoint behind our own server", () => {
  let direct: Policy;
  let url: string;
  const boards = async () => {
    const sizes = { "3": { data_ratio: 1, hole_ratio: 0.2, wait_ratio: 0.5 } };
    return (await family.generate({ agents: [2], objective: "makespan", sizes }, { count: 24, seed: Seed.root("served") })).instances;
  };
  beforeAll(async () => {
    const request = { spec: `embedded:${BASE}`, family, instances: [], objective: "makespan", workers: 1 };
    direct = await openPolicy(request);
    url = await serve(direct);
  });

  it("evaluated greedily gives the texts and verdicts that it gives directly", async () => {
    const instances = await boards();
    const asked = { family, instances, seed: Seed.root("e"), temperature: 0, maxTokens: 64 };
    const [served, own] = [await evaluatePolicy({ ...asked, policy: client(url) }), await evaluatePolicy({ ...asked, policy: direct })];
    expect(served.map((item) => [item.completion, item.tokens, item.finishReason, item.verdict])).toEqual(
      own.map((item) => [item.completion, item.tokens, item.finishReason, item.verdict]),
    );
    expect(new Set(own.map(({ completion }) => completion)).size).toBeGreaterThan(5);
  });

  it("samples n different answers of a seed, the same again for the same seed", async () => {
    const [board] = await boards();
    const body = {
      model: "m",
      messages: [{ role: "user", content: family.prompt(board!, "compact") }],
      n: 6,
      temperature: 3,
      seed: 7,
      max_tokens: 30,
    };
    const ask = async (seed: number) => {
      const answer = (await (await post(url, { ...body, seed })).json()) as { choices: { message: { content: string } }[] };
      return answer.choices.map(({ message }) => message.content);
    };
    const first = await ask(7);
    expect(first).toHaveLength(6);
    expect(new Set(first).size).toBeGreaterThan(1);
    expect(await ask(7)).toEqual(first);
    expect(await ask(8)).not.toEqual(first);
  });

  it("answers a prompt that is too long with an error, and its neighbours all the same", async () => {
    const [board] = await boards();
    const good = family.prompt(board!, "compact");
    const results = await client(url).complete(
      [good, `${good} `.repeat(200), good].map((prompt, index) => ({ prompt, seed: "s", index, maxTokens: 20, temperature: 0 })),
    );
    expect(results.map((r) => "failure" in r)).toEqual([false, true, false]);
  }, 60_000);
});

describe("the endpoint", () => {
  const echo = (rendering: "chat" | "compact" = "compact") => new ScriptedPolicy("echo", rendering, ({ prompt }) => `said ${prompt}`);
  const hello = {
    model: "any",
    messages: [
      { role: "system", content: "s" },
      { role: "user", content: "hello" },
    ],
  };

  it("answers the last user message in OpenAI's form, and lists its model", async () => {
    const url = await serve(echo());
    expect(await (await post(url, hello)).json()).toEqual({
      id: "chatcmpl-0",
      object: "chat.completion",
      created: 0,
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "said hello" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 0, completion_tokens: 2, total_tokens: 2 },
    });
    expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ data: [{ id: "m", rendering: "compact" }] });
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "healthy", serving: ["openai"] });
  });

  it("streams server-sent events that end with [DONE]", async () => {
    const url = await serve(echo());
    const text = await (await post(url, { ...hello, stream: true, stream_options: { include_usage: true } })).text();
    const data = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
    expect(data.pop()).toBe("[DONE]");
    const chunks = data.map((line) => JSON.parse(line) as { object: string; choices: { delta: object; finish_reason: string | null }[] });
    expect(chunks.map(({ object }) => object)).toEqual(Array(3).fill("chat.completion.chunk"));
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([{ role: "assistant", content: "said hello" }, {}, undefined]);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, "stop", undefined]);
  });

  it.each([
    ["no JSON", "{", /not JSON/],
    ["no messages", { model: "m" }, /messages/],
    ["no user message", { model: "m", messages: [{ role: "system", content: "s" }] }, /no user message/],
    ["tools", { ...hello, tools: [{}] }, /tools are not supported/],
    ["logprobs", { ...hello, logprobs: true }, /logprobs are not supported/],
    ["a stop sequence", { ...hello, stop: "x" }, /stop is not supported/],
    [
      "a response_format that the policy cannot honour",
      { ...hello, response_format: { type: "json_object" } },
      /response_format json_object/,
    ],
    ["an n of nothing", { ...hello, n: 0 }, /^n: /],
  ])("refuses %s with a 400 that says so", async (_, body, message) => {
    const response = await post(await serve(echo()), body);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: { message: string } }).error.message).toMatch(message);
  });

  it("hands a JSON Schema to a policy that reads chat", async () => {
    const asked: CompletionRequest[] = [];
    const policy = new ScriptedPolicy("p", "chat", (request) => {
      asked.push(request);
      return "{}";
    });
    const schema = { type: "object" };
    await post(await serve(policy), { ...hello, response_format: { type: "json_schema", json_schema: { name: "a", schema } } });
    expect(asked[0]).toMatchObject({ prompt: "hello", jsonSchema: schema });
  });

  it("asks for its token, and says nothing without it", async () => {
    const url = await serve(echo(), { token: "s3cret" });
    expect((await post(url, hello)).status).toBe(401);
    expect((await post(url, hello, { authorization: "Bearer s3creT" })).status).toBe(401);
    expect((await post(url, hello, { authorization: "Bearer s3cret" })).status).toBe(200);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    const [answer] = await client(url, "s3cret").complete([{ prompt: "hi", seed: "s", index: 0, maxTokens: 9, temperature: 0 }]);
    expect(answer).toMatchObject({ text: "said hi" });
  });

  it("refuses a body that is too large", async () => {
    const url = await serve(echo(), { maxBody: 1000 });
    expect((await post(url, { ...hello, messages: [{ role: "user", content: "x".repeat(2000) }] })).status).toBe(413);
  });

  it("closes after the answers that are under way", async () => {
    let release: (() => void) | undefined;
    let isClosed = false;
    const policy: Policy = {
      name: "slow",
      rendering: "chat",
      complete: async (requests) => {
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        return requests.map((): Completion => ({ text: "late", tokens: 1, finishReason: "stop" }));
      },
      close: async () => {
        isClosed = true;
      },
    };
    const url = await serve(policy);
    const asked = post(url, hello);
    while (release === undefined) await new Promise((resolve) => setTimeout(resolve, 2));
    const closing = hosts.pop()!.close();
    expect(isClosed).toBe(false);
    release();
    expect(await (await asked).json()).toMatchObject({ choices: [{ message: { content: "late" } }] });
    await closing;
    expect(isClosed).toBe(true);
    await expect(post(url, hello)).rejects.toThrow();
  });
});
