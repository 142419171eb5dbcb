/**
 * `envwright serve --openai` and `envwright eval` against each other: our own server, our own client, the shipped checkpoint between them. And
 * what the verb refuses and limits.
 */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { routeNotes } from "../src/cli/notes.js";
import { runProgram } from "../src/cli/program.js";
import { familyByName } from "../src/environments/index.js";
import { loadBenchmark } from "../src/environments/mapf-frozenlake/benchmark.js";
import { callCli } from "./call-cli.js";

const BASE = "embedded:assets/base-tiny";
const dir = mkdtempSync(join(tmpdir(), "envwright-served-"));
const at = (name: string) => join(dir, name);
const stops: (() => Promise<number>)[] = [];
const stopAll = async () => {
  for (const stop of stops.splice(0)) await stop();
};
afterEach(stopAll);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** The verb itself, until it is stopped; gives the address that it announces. */
async function serve(...argv: string[]): Promise<{ url: string; stop(): Promise<number> }> {
  const controller = new AbortController();
  let release = () => {};
  const address = new Promise<string>((resolve) => {
    release = routeNotes((text) => {
      const [url] = /http:\/\/[^\s/]+/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  const output = { write: () => {}, colour: false, interrupts: () => controller.signal };
  const ended = runProgram(["serve", "--port", "0", "--workers", "1", ...argv], output);
  const url = await Promise.race([address, ended.then((code) => Promise.reject(new Error(`it ended with ${code}`)))]);
  release();
  const stop = () => {
    controller.abort();
    return ended;
  };
  stops.push(stop);
  return { url, stop };
}

const ask = (url: string, prompt: string, more: object = {}, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: "m", temperature: 0, messages: [{ role: "user", content: prompt }], ...more }),
  });

const family = familyByName("mapf-frozenlake");
const board = family.prompt(loadBenchmark("bench-3")[0]!, "compact");

test("a served checkpoint answers without max_tokens and with more than it has room for, and refuses a prompt that cannot fit", async () => {
  const { url, stop } = await serve("--openai", "--policy", BASE);
  for (const more of [{}, { max_tokens: 100_000 }]) {
    const answer = await ask(url, board, more);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ choices: [{ message: { content: expect.stringMatching(/\S/) }, finish_reason: "stop" }] });
  }
  const refused = await ask(url, `${board} `.repeat(200));
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { type: "invalid_request_error", code: "context_length_exceeded" } });
  expect(await stop()).toBe(0);
  await expect(ask(url, board)).rejects.toThrow();
}, 60_000);

test("a policy that refuses what is asked gives a 400 with its reason, and a token is asked for where one is named", async () => {
  process.env.ENVWRIGHT_TEST_TOKEN = "s3cret";
  try {
    const { url } = await serve("--openai", "--policy", "oracle", "--token-env", "ENVWRIGHT_TEST_TOKEN");
    expect((await ask(url, board)).status).toBe(401);
    const refused = await ask(url, board, {}, { authorization: "Bearer s3cret" });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { message: expect.stringMatching(/not in the set/), type: "invalid_request_error" },
    });
  } finally {
    delete process.env.ENVWRIGHT_TEST_TOKEN;
  }
});

test("an evaluation through the server gives the figures of the checkpoint itself, and its table can be made again without the server", async () => {
  const { url, stop } = await serve("--openai", "--policy", BASE);
  const policy = { endpoint: "vllm", model: "m", base_url: `${url}/v1`, rendering: "compact" };
  writeFileSync(at("policy.json"), JSON.stringify(policy));
  const asked = ["--set", "bench-3", "--limit", "12", "--max-tokens", "64", "--workers", "1", "--quiet", "--json"];
  const served = await callCli(["eval", "--policy", at("policy.json"), ...asked, "--out", at("served")]);
  expect(served.code).toBe(0);
  expect(await stop()).toBe(0);
  const total = JSON.parse(served.stdout).total;
  expect(total).toMatchObject({ n: 12, failed: 0 });
  const own = JSON.parse((await callCli(["eval", "--policy", BASE, ...asked])).stdout).total;
  expect([total.valid, total.codes]).toEqual([own.valid, own.codes]);

  const calls = readFileSync(at("served/calls/calls.jsonl"), "utf8").trim().split("\n");
  expect(calls).toHaveLength(12);
  expect((await callCli(["eval", "--replay", at("served"), "--json"])).stdout).toBe(served.stdout);
  const replayed = await callCli(["eval", "--policy", `replay:${at("served/calls")}`, ...asked]);
  expect(JSON.parse(replayed.stdout).total).toEqual(total);
  // Without the server, and without records, nothing is made up: every sample failed, and the evaluation says so.
  writeFileSync(at("down.json"), JSON.stringify({ ...policy, retries: { most: 0 } }));
  const down = await callCli(["eval", "--policy", at("down.json"), ...asked, "--out", at("down")]);
  expect([down.code, down.stdout]).toEqual([1, ""]);
  expect(down.stderr).toMatch(/stopped after 0 of 12/);
}, 60_000);

test("the limits of OpenEnv sessions are those that the command line names", async () => {
  const { url } = await serve("--openenv", "--max-sessions", "1", "--idle", "3", "--heartbeat", "1");
  const ws = `${url.replace("http", "ws")}/ws`;
  const first = new WebSocket(ws);
  const [pings, told, ended] = [once(first, "ping"), once(first, "message"), once(first, "close")];
  await once(first, "open");
  const [refusal] = await once(new WebSocket(ws), "message");
  expect(JSON.parse(String(refusal)).data).toMatchObject({ code: "CAPACITY_REACHED", max_sessions: 1 });
  await pings;
  expect(JSON.parse(String((await told)[0])).data).toMatchObject({ code: "SESSION_ERROR", message: "the session was idle for 3 s" });
  expect((await ended)[0]).toBe(1001);
});

test("what cannot be served is refused before anything listens", async () => {
  const refusals: [string[], RegExp][] = [
    [[], /nothing to serve was named/],
    [["--openai"], /--policy is missing/],
    [["--openenv", "--max-sessions", "0"], /max-sessions/],
    [["--openenv", "--idle", "soon"], /idle/],
    [["--openai", "--policy", "embedded:nowhere"], /nowhere/],
    [["--openai", "--policy", BASE, "--token-env", "ENVWRIGHT_NOT_SET"], /ENVWRIGHT_NOT_SET is not set/],
  ];
  for (const [argv, message] of refusals) {
    const { code, stdout, stderr } = await callCli(["serve", "--port", "0", ...argv]);
    expect([argv, code, stdout]).toEqual([argv, 2, ""]);
    expect(stderr).toMatch(message);
  }
});
