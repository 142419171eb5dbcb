import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { type CompletionRequest, InterruptedError, Seed } from "../../core/index.js";
import type { CallRecord } from "./call-record.js";
import { EndpointPolicy, type EndpointSurroundings } from "./endpoint-policy.js";
import { endpointOptions, type PolicyFileInput } from "./options.js";
import { refusedField } from "./refusals.js";
import { chat, cut, echo, json, type Reply, refusal, silence, startTestEndpoint, type TestEndpoint } from "./test-endpoint.js";

const KEY = "sk-test-7f3a9c51d2";
let endpoint: TestEndpoint;
afterEach(() => endpoint.close());

const requests = (count: number, change: Partial<CompletionRequest> = {}): CompletionRequest[] =>
  Array.from({ length: count }, (_, index) => ({ prompt: `q${index}`, seed: "s", index, maxTokens: 100, temperature: 0, ...change }));

interface Asked {
  policy: EndpointPolicy;
  records: CallRecord[];
  waits: number[];
  notes: string[];
}

/** A policy over a server that answers by the number of the request; its waits are noted and not waited. */
async function policyOver(
  reply: (number: number) => Reply,
  file: Partial<PolicyFileInput> = {},
  surroundings: Partial<EndpointSurroundings> = {},
): Promise<Asked> {
  endpoint = await startTestEndpoint(reply);
  const records: CallRecord[] = [];
  const waits: number[] = [];
  const notes: string[] = [];
  let clock = 1_000_000;
  const options = endpointOptions({ endpoint: "vllm", model: "m", base_url: endpoint.baseUrl, ...file }, "test");
  const policy = new EndpointPolicy(options, {
    key: KEY,
    random: Seed.root("test").at(0),
    recorder: { record: (call) => records.push(call) },
    note: (text) => notes.push(text),
    now: () => clock,
    sleep: async (ms) => {
      waits.push(ms);
      clock += ms;
    },
    ...surroundings,
  });
  return { policy, records, waits, notes };
}

const texts = (results: Awaited<ReturnType<EndpointPolicy["complete"]>>) =>
  results.map((r) => ("failure" in r ? `${r.failure.boundary}: ${r.failure.message}` : r.text));

describe("a request", () => {
  it("carries model, sampling, seed, extra body and key, and its answer has usage, finish reason and latency", async () => {
    const { policy, records } = await policyOver(() => chat([{ content: "up", finish_reason: "length" }]), {
      extra_body: { chat_template_kwargs: { enable_thinking: false } },
      system: "Be brief.",
      top_p: 0.9,
    });
    const [result] = await policy.complete(requests(1, { temperature: 0.5 }));
    expect(result).toEqual({
      text: "up",
      tokens: 5,
      finishReason: "length",
      usage: { promptTokens: 10, completionTokens: 5 },
      latencyMs: expect.any(Number),
    });
    const [{ path, headers, body }] = endpoint.seen as [TestEndpoint["seen"][0]];
    expect(path).toBe("/v1/chat/completions");
    expect(headers.authorization).toBe(`Bearer ${KEY}`);
    expect(body).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "q0" },
      ],
      temperature: 0.5,
      top_p: 0.9,
      seed: Seed.parse("s")
        .at(0)
        .below(2 ** 31),
      max_tokens: 100,
      chat_template_kwargs: { enable_thinking: false },
    });
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({
      policy: policy.name,
      completion: { text: "up" },
      response: { id: "chatcmpl-test", model: "served" },
    });
  });

  it("leaves out what the preset or the policy file says the endpoint does not take", async () => {
    const { policy } = await policyOver(() => echo, { endpoint: "anthropic", omit: ["temperature", "response_format"] });
    await policy.complete(requests(1, { jsonSchema: { type: "object" } }));
    expect(Object.keys(endpoint.seen[0]!.body).sort()).toEqual(["max_tokens", "messages", "model"]);
  });

  it("to OpenAI bounds the answer by max_completion_tokens", async () => {
    const { policy } = await policyOver(() => echo, { endpoint: "openai" });
    await policy.complete(requests(1));
    expect(endpoint.seen[0]!.body).toMatchObject({ max_completion_tokens: 100 });
    expect(endpoint.seen[0]!.body).not.toHaveProperty("max_tokens");
  });

  it("waits for its turn: no more are open than the concurrency, and results keep the order of the requests", async () => {
    // Answers only when three wait, the latest first: fewer at once would wait for ever.
    const waiting: (() => void)[] = [];
    const inThrees: Reply = (response, request) => {
      waiting.push(() => echo(response, request));
      if (waiting.length === 3) for (const answer of waiting.splice(0).reverse()) answer();
    };
    const { policy } = await policyOver(() => inThrees, { concurrency: 3 });
    const seen: number[] = [];
    const results = await policy.complete(requests(21), { onResult: (index) => seen.push(index) });
    expect(texts(results)).toEqual(requests(21).map(({ prompt }) => `${prompt}#0`));
    expect(endpoint.mostOpen()).toBe(3);
    expect(seen.sort((a, b) => a - b)).toEqual(requests(21).map((_, i) => i));
  });
});

describe("reasoning", () => {
  it.each([
    ["reasoning", { content: "a", reasoning: "because" }],
    ["reasoning_content", { content: "a", reasoning_content: "because" }],
    ["think tags", { content: "<think>because</think>\n\na" }],
    ["think tags of which a template gave the first", { content: "because</think>a" }],
    ["the tags of Google's layer", { content: "<thought>because</thought>a" }],
    ["the tags of Kimi", { content: "◁think▷because◁/think▷a" }],
  ])("is told from the answer in %s", async (_, choice) => {
    const { policy } = await policyOver(() => chat([choice]));
    expect(await policy.complete(requests(1))).toMatchObject([{ text: "a", reasoning: "because", finishReason: "stop", tokens: 5 }]);
  });

  it("that is never closed leaves a truncated answer without text", async () => {
    const { policy } = await policyOver(() => chat([{ content: "<think>let me see <answer>Agent 0: UP</answer>" }]));
    expect(await policy.complete(requests(1))).toMatchObject([{ text: "", finishReason: "length" }]);
  });

  it("is counted where the endpoint counts it", async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 7 } };
    const { policy } = await policyOver(() => chat([{ content: "a" }], usage));
    expect(await policy.complete(requests(1))).toMatchObject([{ usage: { promptTokens: 3, completionTokens: 9, reasoningTokens: 7 } }]);
  });
});

describe("n", () => {
  const same = (count: number) => requests(count, { prompt: "q" });

  it("asks for samples of one prompt in one request", async () => {
    const { policy, records } = await policyOver(() => echo);
    expect(texts(await policy.complete(same(4)))).toEqual(["q#0", "q#1", "q#2", "q#3"]);
    expect(endpoint.seen).toHaveLength(1);
    expect(records.map(({ request }) => request.index)).toEqual([0, 1, 2, 3]);
  });

  it("asks for no more choices at once than the endpoint takes", async () => {
    const { policy } = await policyOver(() => echo, { endpoint: "google" });
    expect(await policy.complete(same(19))).toHaveLength(19);
    expect(endpoint.seen.map(({ body }) => body.n).sort()).toEqual([3, 8, 8]);
  });

  it("is not used where the endpoint does not take it", async () => {
    const { policy } = await policyOver(() => echo, { endpoint: "ollama" });
    await policy.complete(same(3));
    expect(endpoint.seen.map(({ body }) => body.n)).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    ["fewer", (): Reply => chat([{ content: "only" }]), 4, 4],
    ["more", (i: number): Reply => (i === 0 ? chat(Array.from({ length: 9 }, () => ({ content: "only" }))) : echo), 4, 1],
  ])("that brings %s choices than asked for still ends with one result a sample", async (_, reply, samples, calls) => {
    const { policy, records } = await policyOver(reply);
    expect(texts(await policy.complete(same(samples)))).toEqual(Array(samples).fill("only"));
    expect(records).toHaveLength(samples);
    expect(endpoint.seen).toHaveLength(calls);
  });

  const refusesN: Reply = (response, request) => (request.body.n === undefined ? echo : refusal(400, "n must be 1"))(response, request);

  it("that is refused is not tried again once the same request without it has succeeded; the reason is told once and stands in the records", async () => {
    const { policy, records, notes } = await policyOver(() => refusesN);
    const [first, second] = [await policy.complete(same(3)), await policy.complete(same(3))];
    expect([texts(first), texts(second)]).toEqual(Array(2).fill(["q#0", "q#0", "q#0"]));
    expect(endpoint.seen.map(({ body }) => body.n)).toEqual([3, ...Array(6).fill(undefined)]);
    expect(notes).toEqual([expect.stringMatching(/does not take n \(HTTP 400: n must be 1\)/)]);
    expect(records[0]!.attempts).toMatchObject([{ status: 400, problem: "HTTP 400: n must be 1" }, { status: 200 }]);
  });

  it("is asked for again after a refusal that was about something else, which costs every sample of that prompt alone", async () => {
    const long: Reply = (response, request) =>
      (request.body.messages[0]!.content === "long" ? refusal(400, "the prompt is too long") : echo)(response, request);
    const { policy, notes } = await policyOver(() => long, { concurrency: 1 });
    const results = await policy.complete([...requests(3, { prompt: "long" }), ...same(3)]);
    expect(texts(results)).toEqual([...Array(3).fill("endpoint: HTTP 400: the prompt is too long"), "q#0", "q#1", "q#2"]);
    expect(endpoint.seen.map(({ body }) => body.n)).toEqual([3, undefined, 3]);
    expect(notes).toEqual([]);
  });

  it("that is taken and ignored is not used again, and the record says how many choices came", async () => {
    const { policy, records, notes } = await policyOver(() => chat([{ content: "only" }]));
    await policy.complete(same(2));
    await policy.complete(same(2));
    expect(endpoint.seen.map(({ body }) => body.n)).toEqual([2, undefined, undefined, undefined]);
    expect(records[0]!.attempts).toMatchObject([{ status: 200, problem: "1 of 2 choices came" }]);
    expect(notes).toEqual([expect.stringMatching(/does not take n \(1 of 2 choices came\)/)]);
  });
});

describe("a fault of the endpoint", () => {
  const ONCE: [string, Reply][] = [
    ["429", refusal(429, "slow down")],
    ["500", refusal(500, "broken")],
    ["503 in HTML", json(503, "<html>Bad gateway</html>")],
    ["a connection cut in the middle of the body", cut],
    ["a connection that is refused at once", (response) => response.destroy()],
    ["silence", silence],
    ["malformed JSON", json(200, '{"choices": [')],
    ["another kind of JSON", json(200, { ok: true })],
    ["an error with status 200", json(200, { error: { message: "overloaded" } })],
    ["no choices", chat([])],
    ["an empty choice", chat([{ content: "", finish_reason: null }], { prompt_tokens: 3, completion_tokens: 0 })],
    ["an empty choice without usage", chat([{ content: null }], null)],
    ["an answer that the server aborted", chat([{ content: "half", finish_reason: "abort" }])],
    ["a huge body", json(200, { choices: [{ message: { content: "x".repeat(200_000) }, finish_reason: "stop" }] })],
  ];

  it.each(ONCE)("%s is retried, and the sample has its answer and one record", async (name, fault) => {
    // Only silence waits for the timeout; a busy machine must not run into it with the good answer.
    const timeout = name === "silence" ? 1 : 30;
    const { policy, records, waits } = await policyOver((i) => (i === 0 ? fault : echo), { timeout, max_response: 100_000 });
    expect(texts(await policy.complete(requests(1)))).toEqual(["q0#0"]);
    expect(waits).toHaveLength(1);
    expect(records).toHaveLength(1);
    expect(records[0]!.attempts).toEqual([
      expect.objectContaining({ problem: expect.any(String), waited_ms: expect.any(Number) }),
      expect.objectContaining({ status: 200 }),
    ]);
  });

  it.each(ONCE)("%s that stays is a failure with its boundary, never an answer", async (_, fault) => {
    const { policy, records } = await policyOver(() => fault, { timeout: 0.1, max_response: 100_000, retries: { most: 1 } });
    const results = await policy.complete(requests(2));
    expect(results).toEqual(
      Array(2).fill({ failure: { boundary: "endpoint", message: expect.stringMatching(/given up after 1 retries/), attempts: 2 } }),
    );
    expect(records.map(({ completion, failure }) => [completion, failure?.boundary])).toEqual(Array(2).fill([undefined, "endpoint"]));
  });

  it("in some of many requests leaves exactly one record of each, whatever the mixture", async () => {
    const faults = ONCE.filter(([name]) => name !== "silence").map(([, fault]) => fault);
    const { policy, records } = await policyOver((i) => (i % 3 === 0 ? faults[(i / 3) % faults.length]! : echo), { max_response: 100_000 });
    const results = await policy.complete(requests(60));
    expect(texts(results)).toEqual(requests(60).map(({ prompt }) => `${prompt}#0`));
    expect(records.map(({ request }) => request.index).sort((a, b) => a - b)).toEqual(results.map((_, i) => i));
  });

  it("that no retry can mend is not retried", async () => {
    const { policy, waits } = await policyOver(() => refusal(404, "no such model"));
    expect(texts(await policy.complete(requests(1)))).toEqual([
      `endpoint: HTTP 404 from ${endpoint.baseUrl}/chat/completions: no such model`,
    ]);
    expect(waits).toEqual([]);
  });

  it("that is about the address names it, and says where /v1 may be missing", async () => {
    const { policy: known } = await policyOver(() => json(404, { detail: "Not Found" }));
    expect(texts(await known.complete(requests(1)))[0]).not.toContain("missing");
    for (const [reply, said] of [
      [json(404, { detail: "Not Found" }), "HTTP 404 from http://moved.test/chat/completions: "],
      [json(405, "Method Not Allowed"), "HTTP 405 from http://moved.test/chat/completions: "],
      [json(200, "<html>"), "the response of http://moved.test/chat/completions is not JSON: <html>"],
      [json(200, { ok: true }), "the response of http://moved.test/chat/completions is not a chat completion"],
    ] as const) {
      await endpoint.close();
      endpoint = await startTestEndpoint(() => reply);
      const options = endpointOptions({ endpoint: "vllm", model: "m", base_url: "http://moved.test", retries: { most: 0 } }, "test");
      const { host } = new URL(endpoint.baseUrl);
      const policy = new EndpointPolicy(options, {
        key: undefined,
        random: Seed.root("test").at(0),
        fetch: (url, init) => fetch(String(url).replace("moved.test", host), init),
      });
      const [failure] = texts(await policy.complete(requests(1)));
      expect(failure).toContain(said);
      expect(failure).toContain("; the base URL has no /v1, which may be missing: http://moved.test/v1");
    }
  });

  const google = (message: string) => [{ error: { code: 400, message, status: "INVALID_ARGUMENT" } }];
  it.each([
    [
      "temperature",
      {
        error: { message: "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported." },
      },
    ],
    ["temperature", { type: "error", error: { type: "invalid_request_error", message: "temperature is deprecated for this model." } }],
    ["top_p", { error: { message: "`temperature` and `top_p` cannot both be specified for this model. Please use only one." } }],
    ["seed", google('Invalid JSON payload received. Unknown name \\"seed\\": Cannot find field.')],
  ])(
    "such as a sampling field that the model does not take (%s) stops all that follows, and says how to leave the field out",
    async (field, body) => {
      const { policy } = await policyOver(() => json(400, body), { concurrency: 1 });
      const { message } = (Array.isArray(body) ? body[0]! : body).error;
      const results = texts(await policy.complete(requests(5)));
      expect(results).toEqual(Array(5).fill(`endpoint: HTTP 400: ${message}; "omit: [${field}]" in a policy file leaves it out`));
      expect(endpoint.seen).toHaveLength(1);
    },
  );

  it.each([
    ["message and param apart", 400, { error: { message: "Unsupported parameter.", param: "seed" } }, "seed"],
    ["a list of what did not validate", 422, { detail: [{ type: "extra_forbidden", loc: ["body", "seed"], msg: "Extra inputs are not permitted", input: 5 }] }, "seed"], // biome-ignore format: one case
    ["an error in one word", 400, { error: "unknown field top_p" }, "top_p"],
    ["plain text", 400, "temperature is not supported", "temperature"],
    ["a request that is repeated beside the error", 400, { error: { message: "Unexpected role: tool" }, request: { seed: 1, temperature: 0, top_p: 1 } }, undefined], // biome-ignore format: one case
    ["a request that is repeated as what did not validate", 422, { detail: [{ loc: ["body"], msg: "unknown language", input: { seed: 1, temperature: 0 } }] }, undefined], // biome-ignore format: one case
    [
      "another field, with a hint",
      400,
      { error: { message: "Unsupported parameter: use temperature instead.", param: "top_k" } },
      undefined,
    ],
    ["JSON of no known form", 400, { reason: "unknown", seed: 3 }, undefined],
  ])("names a sampling field in the error's own words alone: %s", (_, status, body, field) => {
    expect(refusedField({ status, body: typeof body === "string" ? body : JSON.stringify(body) })).toBe(field);
  });

  it("such as a wrong key stops all that follows, so that nothing is asked in vain", async () => {
    const { policy, records } = await policyOver(() => refusal(401, "wrong key"), { concurrency: 1 });
    expect(texts(await policy.complete(requests(50)))).toEqual(Array(50).fill("endpoint: HTTP 401: wrong key"));
    expect(endpoint.seen).toHaveLength(1);
    expect(records).toHaveLength(50);
  });

  it("that filters the answer is a failure and not a wrong answer", async () => {
    const { policy } = await policyOver(() => chat([{ content: "", finish_reason: "content_filter" }]));
    expect(await policy.complete(requests(1))).toMatchObject([{ failure: { boundary: "endpoint", attempts: 1 } }]);
  });

  it("is told from an empty answer of the model, which is an answer", async () => {
    const { policy } = await policyOver(() => chat([{ content: "" }], { prompt_tokens: 3, completion_tokens: 1 }));
    expect(await policy.complete(requests(1))).toMatchObject([{ text: "", finishReason: "stop", tokens: 1 }]);
  });
});

describe("waits", () => {
  it("honour Retry-After in seconds, and hold back every other request as well", async () => {
    const { policy, waits } = await policyOver((i) => (i === 0 ? refusal(429, "wait", { "retry-after": "7" }) : echo), { concurrency: 1 });
    await policy.complete(requests(2));
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeGreaterThanOrEqual(7000);
    expect(waits[0]).toBeLessThan(8000);
  });

  it("honour Retry-After as a date", async () => {
    const date = new Date(1_000_000 + 9_000).toUTCString();
    const { policy, waits } = await policyOver((i) => (i === 0 ? refusal(503, "wait", { "retry-after": date }) : echo));
    await policy.complete(requests(1));
    expect(waits[0]).toBeGreaterThanOrEqual(9000);
  });

  it("are not longer than the longest that is allowed: such a request is given up", async () => {
    const { policy, waits } = await policyOver(() => refusal(429, "tomorrow", { "retry-after": "86400" }));
    expect(texts(await policy.complete(requests(1)))).toEqual(["endpoint: HTTP 429: tomorrow; the endpoint asks to wait 86400 s"]);
    expect(waits).toEqual([]);
  });

  it("grow, are jittered, and are the same for the same random stream", async () => {
    const run = async () => {
      const { policy, waits } = await policyOver(() => refusal(500, "broken"), { retries: { most: 6, first_wait: 1, longest_wait: 8 } });
      await policy.complete(requests(1));
      await endpoint.close();
      return waits;
    };
    const first = await run();
    expect(first).toHaveLength(6);
    expect(first.filter((wait, i) => wait > 1000 * Math.min(8, 2 ** i))).toEqual([]);
    expect(new Set(first).size).toBe(6);
    expect(await run()).toEqual(first);
  });

  it("end for all when the budget of retries is used up", async () => {
    const { policy, waits } = await policyOver(() => refusal(500, "broken"), { retries: { budget: 7 }, concurrency: 1 });
    const results = await policy.complete(requests(20));
    expect(waits).toHaveLength(7);
    expect(texts(results).at(-1)).toMatch(/the budget of 7 retries is used up/);
  });
});

describe("a budget", () => {
  it("in tokens stops cleanly: what is left comes back as failures of the budget", async () => {
    const { policy, records } = await policyOver(() => echo, { budget: { tokens: 45 }, concurrency: 1 });
    const results = await policy.complete(requests(10));
    expect(results.filter((r) => !("failure" in r))).toHaveLength(3);
    expect(texts(results).slice(3)).toEqual(Array(7).fill("budget: the budget of 45 tokens is used up (45 spent)"));
    expect(endpoint.seen).toHaveLength(3);
    expect(records).toHaveLength(10);
  });

  it("in money counts prompt and completion at their prices", async () => {
    const prices = { prompt: 1_000_000, completion: 2_000_000 };
    const { policy } = await policyOver(() => echo, { budget: { money: 39, prices }, concurrency: 1 });
    expect((await policy.complete(requests(5))).filter((r) => !("failure" in r))).toHaveLength(2);
    expect(policy.budget.money).toBe(40);
  });

  it("is not passed by an endpoint that does not count: tokens are estimated", async () => {
    const { policy } = await policyOver(() => chat([{ content: "x".repeat(400) }], null), { budget: { tokens: 150 }, concurrency: 1 });
    const results = await policy.complete(requests(5));
    expect(results[0]).toMatchObject({ tokens: 100, usage: { isEstimated: true } });
    expect(results.filter((r) => "failure" in r)).toHaveLength(3);
  });
});

describe("structured output", () => {
  const jsonSchema = { type: "object", properties: { a: { type: "number" } } };

  it("is asked for by the schema", async () => {
    const { policy } = await policyOver(() => echo);
    await policy.complete(requests(1, { jsonSchema }));
    expect(endpoint.seen[0]!.body.response_format).toEqual({ type: "json_schema", json_schema: { name: "answer", strict: true, schema: jsonSchema } }); // biome-ignore format: one call
  });

  it("that is refused falls back to plain text, which is remembered", async () => {
    const { policy, waits, notes } = await policyOver(() => (response, request) => (request.body.response_format === undefined ? echo : refusal(400, "response_format is not supported"))(response, request), { concurrency: 1 }); // biome-ignore format: one call
    expect(texts(await policy.complete(requests(3, { jsonSchema })))).toEqual(["q0#0", "q1#0", "q2#0"]);
    expect(endpoint.seen.filter(({ body }) => body.response_format !== undefined)).toHaveLength(1);
    expect(waits).toEqual([]);
    expect(notes).toEqual([expect.stringMatching(/does not take a JSON Schema \(HTTP 400: response_format is not supported\)/)]);
  });

  it("is still asked for after a refusal that was about something else", async () => {
    const { policy } = await policyOver((i) => (i < 2 ? refusal(400, "the prompt is too long") : echo), { concurrency: 1 });
    expect(texts(await policy.complete(requests(2, { jsonSchema })))).toEqual(["endpoint: HTTP 400: the prompt is too long", "q1#0"]);
    expect(endpoint.seen.map(({ body }) => body.response_format !== undefined)).toEqual([true, false, true]);
  });
});

it("an interruption ends what is under way, asks nothing more, and keeps what was answered", async () => {
  const { policy, records } = await policyOver((i) => (i < 2 ? echo : silence), { concurrency: 1, timeout: 60 });
  const controller = new AbortController();
  const answered: number[] = [];
  const running = policy.complete(requests(9), { signal: controller.signal, onResult: (index) => answered.push(index) });
  while (endpoint.seen.length < 3) await sleep(2);
  controller.abort();
  const error = await running.catch((e: unknown) => e);
  expect(error).toBeInstanceOf(InterruptedError);
  expect((error as Error).message).toBe("interrupted after 2 of 9 answers");
  expect(answered).toEqual([0, 1]);
  expect(records).toHaveLength(2);
  expect(endpoint.seen).toHaveLength(3);
});

it("whoever cannot keep an answer ends it: nothing more is asked, what is under way is let go, and nothing is told after the rejection", async () => {
  const { policy } = await policyOver((i) => (i < 3 ? echo : silence), { concurrency: 4, timeout: 60 });
  let told = 0;
  const asked = policy.complete(requests(200), {
    onResult: () => {
      if (++told === 2) throw new Error("the disk is full");
    },
  });
  await expect(asked).rejects.toThrow("the disk is full");
  await sleep(50);
  expect(told).toBe(2);
  expect(endpoint.seen.length).toBeLessThanOrEqual(4 + 2);
});

it("the key is in one header and nowhere else, even where the endpoint quotes it", async () => {
  const quoting: Reply[] = [refusal(403, `bad key ${KEY}`), chat([{ content: `your key is ${KEY}` }]), json(200, `not JSON ${KEY}`)];
  const { policy, records } = await policyOver((i) => quoting[i] ?? refusal(500, KEY), { concurrency: 1, retries: { most: 1 } });
  const results = await policy.complete(requests(4));
  expect(texts(results)[1]).toBe("your key is [key]");
  expect(endpoint.seen.every(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(true);
  expect(JSON.stringify([results, records, policy.name, endpoint.seen.map(({ body }) => body)])).not.toContain(KEY.slice(3));
});

it("a stand-in for a key is no secret: answers keep the letters that it is made of", async () => {
  const { policy } = await policyOver(() => chat([{ content: "Agent 0: LEFT" }]), {}, { key: "0" });
  expect(texts(await policy.complete(requests(1)))).toEqual(["Agent 0: LEFT"]);
});
