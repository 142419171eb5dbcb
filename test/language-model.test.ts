/**
 * A language model as policy and as engineer, end to end against a server that quotes the key wherever it can: what it answers is used, what
 * it refuses is worked around, and the key is in no file and in no line of output.
 */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { proposeBy } from "../src/cli/dashboard.js";
import { chat, cut, json, type Reply, refusal, startTestEndpoint, type TestEndpoint } from "../src/policies/endpoint/test-endpoint.js";
import { type Actions, createApp } from "../src/ui/server/app.js";
import { callCli } from "./call-cli.js";
import { type CliResult, MAIN, TSX } from "./run-cli.js";
import { type TestBench, untrainedBench } from "./untrained-base.js";

/** With characters that JSON may escape. */
const KEY = 'sk-test/7f3a9c51d2+"b=';
const OTHER = "another-variable-8842";
let bench: TestBench;
let endpoint: TestEndpoint;
const dir = mkdtempSync(join(tmpdir(), "envwright-llm-"));
const at = (name: string) => join(dir, name);
beforeAll(async () => {
  bench = await untrainedBench({ stages: 3, steps: 1 });
});
beforeEach(() => {
  process.env.VLLM_API_KEY = KEY;
  process.env.ENVWRIGHT_TEST_OTHER = OTHER;
});
afterEach(async () => {
  await endpoint?.close();
  delete process.env.VLLM_API_KEY;
  delete process.env.ENVWRIGHT_TEST_OTHER;
});
afterAll(() => {
  for (const folder of [dir, bench.dir]) rmSync(folder, { recursive: true, force: true });
});

function policyFile(name: string, more: object = {}): string {
  const retries = { most: 1, first_wait: 0.001, longest_wait: 0.01 };
  writeFileSync(at(name), JSON.stringify({ endpoint: "vllm", model: "m", base_url: endpoint.baseUrl, retries, ...more }));
  return at(name);
}

/** Every spelling of the key that could be read back: as it is, in JSON, with escaped slashes, and its middle alone. */
const SPELLINGS = [KEY, JSON.stringify(KEY).slice(1, -1), KEY.replaceAll("/", "\\/"), "7f3a9c51d2", OTHER];

function expectNoKey(folder: string, ...results: CliResult[]): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(3);
  for (const { parentPath, name } of files) {
    const content = readFileSync(join(parentPath, name), "latin1");
    expect([name, SPELLINGS.filter((spelling) => content.includes(spelling))]).toEqual([name, []]);
  }
  for (const { stdout, stderr } of results) expect(SPELLINGS.filter((spelling) => `${stdout}${stderr}`.includes(spelling))).toEqual([]);
}

/** As some servers write JSON: slashes escaped, and letters by their codes. */
const inSlashes = JSON.stringify({
  choices: [{ message: { role: "assistant", content: `it is ${KEY}` }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
})
  .replaceAll("/", "\\/")
  .replaceAll("7f3a", "7\\u0066\\u0033a");
const QUOTING: Reply[] = [
  refusal(403, `the key ${KEY} may not do that`),
  refusal(500, `Authorization: Bearer ${KEY}`, { "x-authorization": "Bearer sk-test/7f3a9c51d2", "retry-after": "0" }),
  chat([{ content: `your key is ${KEY}`, reasoning: `Bearer ${KEY}` }]),
  json(200, inSlashes),
  json(200, `<html>${KEY}</html>`),
  json(502, `bad gateway: Bearer ${KEY}`),
  json(200, { id: KEY, model: `m ${KEY}`, choices: [{ message: { content: "UP" }, finish_reason: "stop" }] }),
  json(200, { error: { message: `overloaded, ${KEY}`, [KEY]: KEY } }),
  (response) => response.writeHead(400, "Bad sk-test/7f3a9c51d2", { "content-type": "application/json" }).end(JSON.stringify({ [KEY]: 1 })),
  cut,
];

test("the key is in no file of an evaluation, in no error and in no table, wherever the endpoint quotes it", async () => {
  endpoint = await startTestEndpoint((i) => QUOTING[i % QUOTING.length]!);
  const policy = policyFile("quoting.json", { concurrency: 2 });
  const asked = ["eval", "--policy", policy, "--set", "bench-3", "--limit", "24"];
  const first = await callCli([...asked, "--out", at("eval")]);
  expect(first.code).toBe(1);
  expect(endpoint.seen.every(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(true);
  const calls = readFileSync(at("eval/calls/calls.jsonl"), "utf8");
  expect(calls).toContain("your key is [key]");
  expect(calls).toContain("it is [key]");
  expect(calls).toMatch(/HTTP 403: the key \[key\]/);
  const resumed = await callCli(["eval", "--resume", at("eval"), "--json"]);
  const again = await callCli(["eval", "--replay", at("eval"), "--format", "markdown"]);
  expectNoKey(at("eval"), first, resumed, again);

  await endpoint.close();
  endpoint = await startTestEndpoint(() => refusal(401, `Bearer ${KEY} is wrong`));
  const wrong = await callCli([...asked.slice(0, 2), policyFile("wrong.json"), ...asked.slice(3), "--out", at("wrong")]);
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toMatch(/HTTP 401: Bearer \[key\] is wrong/);
  expectNoKey(dir, wrong);
}, 180_000);

const TABLE = { "3": { data_ratio: 0.7, hole_ratio: 0.1, wait_ratio: 0.5 }, "4": { data_ratio: 0.3, hole_ratio: 0.1, wait_ratio: 0.25 } };
const proposal: Reply = chat([{ content: JSON.stringify({ rationale: `More waits. ${KEY}`, config: TABLE }) }]);

test("a run is engineered by a language model: its answer is the next config, a refused format and a failing endpoint stop nothing", async () => {
  // The first answer comes without structured output, which is refused; for the next stage the endpoint is broken.
  endpoint = await startTestEndpoint((i, { body }) => {
    if (body.response_format !== undefined) return refusal(400, `response_format is not supported, ${KEY}`);
    return i < 2 ? proposal : refusal(500, `broken, ${KEY}`);
  });
  const engineer = ["--engineer", "llm", "--model", policyFile("engineer.json")];
  const run = await callCli(["run", bench.recipe, "--out", at("run"), "--seed", "3", ...engineer, "--json"]);
  expect([run.code, run.stderr.match(/error.*/)]).toEqual([0, null]);
  const stored = (stage: string, name: string) => JSON.parse(readFileSync(at(`run/stages/${stage}/${name}`), "utf8"));

  const [refused, answered, ...later] = endpoint.seen;
  expect(refused!.body.response_format).toMatchObject({
    type: "json_schema",
    json_schema: { schema: { required: ["rationale", "config"] } },
  });
  expect(answered!.body.messages.at(-1)!.content.trimEnd()).toBe(readFileSync(at("run/stages/00/context.md"), "utf8").trimEnd());
  expect(answered!.body.messages.at(-1)!.content).toMatch(/^# Environment engineering/);
  expect(stored("00", "proposal.json")).toMatchObject({
    engineer: "llm",
    rendering: "chat",
    outcome: "accepted",
    rationale: "More waits. [key]",
  });
  expect(stored("01", "config.json")).toMatchObject({ normalised: { sizes: TABLE }, provenance: { source: "proposal", engineer: "llm" } });
  // That the format was refused is remembered from stage to stage; that nobody answers is no reason to stop.
  expect(later.length).toBeGreaterThan(0);
  expect(later.every(({ body }) => body.response_format === undefined)).toBe(true);
  expect(stored("01", "proposal.json")).toMatchObject({
    outcome: "rejected",
    reasons: expect.arrayContaining([expect.stringMatching(/HTTP 500/)]),
  });
  expect(stored("02", "config.json")).toMatchObject({ normalised: { sizes: TABLE }, provenance: { source: "previous" } });
  expectNoKey(at("run"), run, await callCli(["report", at("run")]));

  // Every call is recorded, so that the run can be made again without the endpoint.
  await endpoint.close();
  const replay = ["--engineer", "llm", "--model", `replay:${at("run/engineer-calls")}`];
  const again = await callCli(["run", bench.recipe, "--out", at("again"), "--seed", "3", ...replay, "--json"]);
  expect([again.code, again.stderr.match(/error.*/)]).toEqual([0, null]);
  for (const stage of ["00", "01"]) {
    expect(readFileSync(at(`again/stages/${stage}/proposal.json`), "utf8")).toBe(
      readFileSync(at(`run/stages/${stage}/proposal.json`), "utf8"),
    );
  }
}, 180_000);

test("a stored stage is shown to a language model under its schema, and the run is left as it was", async () => {
  endpoint = await startTestEndpoint(() => proposal);
  const before = readFileSync(at("run/stages/00/proposal.json"), "utf8");
  const model = ["--engineer", "llm", "--model", `vllm:m@${endpoint.baseUrl}`];
  const proposed = await callCli(["propose", "--from", at("run/stages/00"), ...model, "--engineer", "rule", "--json"]);
  expect(proposed.code).toBe(0);
  const { proposals } = JSON.parse(proposed.stdout);
  expect(proposals.map((p: { engineer: string; outcome: string }) => p.engineer)).toEqual(["llm", "rule"]);
  expect(proposals[0]).toMatchObject({ outcome: "accepted", rationale: "More waits. [key]", config: { sizes: TABLE } });
  expect(endpoint.seen.map(({ body }) => (body.response_format as { type: string }).type)).toEqual(["json_schema"]);
  expect(readFileSync(at("run/stages/00/proposal.json"), "utf8")).toBe(before);
  expectNoKey(at("run"), proposed);
});

test("the dashboard never says the key, whatever it is asked about such a run, and also when it has the model asked again", async () => {
  // As an endpoint for debugging does it: the headers of the request in the body of the refusal.
  endpoint = await startTestEndpoint((_, { headers }) => refusal(418, `you sent ${JSON.stringify(headers)}`));
  const runs = join(dir, "shown");
  cpSync(at("run"), join(runs, "run"), { recursive: true });
  const ending = new AbortController();
  const program = [process.execPath, "--import", TSX, MAIN];
  const actions: Actions = { propose: (request, signal) => proposeBy(program, request, signal) };
  const { app, close } = createApp({ runs, host: "127.0.0.1", signal: ending.signal, actions });
  const bodies: string[] = [];
  const ask = async (path: string, init: RequestInit = {}): Promise<string> => {
    const response = await app.request(path, { ...init, headers: { host: "127.0.0.1", ...init.headers } });
    const stop = path.endsWith("/events") ? setTimeout(() => ending.abort(), 500) : undefined;
    const body = await response.text();
    clearTimeout(stop);
    bodies.push(`${JSON.stringify([...response.headers])}${body}`);
    return body;
  };
  try {
    const paths = ["meta", "runs", "benchmarks", "experiments", "compare?runs=run,run", "runs/run"];
    for (const stage of [0, 1, 2]) {
      paths.push(`runs/run/stages/${stage}`);
      for (const set of ["training", "validation"]) paths.push(`runs/run/rollouts?set=${set}&stage=${stage}`);
    }
    paths.push("runs/run/tables", `runs/run/sql?sql=${encodeURIComponent("select * from rollouts")}`);
    for (const path of paths) await ask(`/api/${path}`);
    // The failure of the engineer's endpoint is on the page, without what the endpoint quoted.
    expect(await ask("/api/runs/run/stages/1")).toMatch(/HTTP 500: broken, \[key\]/);
    const asked = { engineer: "llm", model: policyFile("quoting-headers.json"), samples: 1 };
    const json = { "content-type": "application/json", origin: "http://127.0.0.1" };
    expect(await ask("/api/runs/run/stages/0/propose", { method: "POST", headers: json, body: JSON.stringify(asked) })).toMatch(
      /HTTP 418: you sent .*\[key\]/,
    );
    await ask("/api/runs/run/events");
  } finally {
    ending.abort();
    await close();
  }
  expect(bodies.join("\n").length).toBeGreaterThan(20_000);
  expect(SPELLINGS.filter((spelling) => bodies.join("\n").includes(spelling))).toEqual([]);
}, 180_000);

test("a run whose language model cannot be asked is refused before anything is written", async () => {
  endpoint = await startTestEndpoint(() => proposal);
  delete process.env.OPENAI_API_KEY;
  for (const [policy, message] of [
    ["openai:m", /OPENAI_API_KEY is not set/],
    ["opnai:m", /did you mean "openai:MODEL"/],
    ["nowhere.yaml", /no such file/],
  ] as const) {
    const argv = ["run", bench.recipe, "--out", at("refused"), "--model", policy];
    const { code, stderr } = await callCli(argv);
    expect([policy, code]).toEqual([policy, 2]);
    expect(stderr).toMatch(message);
  }
  const beside = await callCli(["run", bench.recipe, "--out", at("refused"), "--engineer", "rule", "--model", "vllm:m"]);
  expect(beside).toMatchObject({ code: 2, stderr: expect.stringMatching(/--model vllm:m: the engineer rule asks no language model/) });
  const resumed = await callCli(["run", "--resume", at("run"), "--model", "vllm:m"]);
  expect(resumed).toMatchObject({ code: 2, stderr: expect.stringMatching(/--model cannot change them/) });
  expect(existsSync(at("refused"))).toBe(false);
});
