/** The served model against a server process of its own (testing/fake-server.mjs), faults included. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { afterAll, expect, onTestFinished, test } from "vitest";
import {
  type Completion,
  type CompletionRequest,
  ConfigError,
  InterruptedError,
  Seed,
  ServingError,
  servingOptionsSchema,
} from "../../core/index.js";
import { serverRunner } from "./model-server.js";
import { type ServedCheckpoint, ServedModel } from "./served-model.js";
import { updateWeights } from "./weight-update.js";

const FAKE = join(import.meta.dirname, "testing/fake-server.mjs");
const dir = mkdtempSync(join(tmpdir(), "envwright-serving-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let count = 0;

function served(options: Record<string, unknown> = {}, faults: Record<string, string> = {}) {
  const place = join(dir, String(count++));
  const ledger = `${place}.ledger`;
  const told: string[] = [];
  const serving = servingOptionsSchema.parse({
    kind: "vllm",
    command: [FAKE],
    startup_timeout: 15,
    environment: { FAKE_LEDGER: ledger, ...faults },
    ...options,
  });
  const model = new ServedModel(serving, {
    rendering: "chat",
    random: Seed.root("serving").at(0),
    onState: (state, { checkpoint }) => told.push(`${state} ${checkpoint}`),
    onTrouble: (message) => told.push(message),
    run: serverRunner(500),
    pause: 1,
    lookEvery: 400,
  });
  onTestFinished(() => model.close());
  const checkpoint = (number: number): ServedCheckpoint => ({
    checkpoint: number,
    model: `/checkpoints/${number}`,
    stage: 0,
    log: `${place}.log`,
  });
  const lines = () => (existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n") : []);
  return {
    model,
    told,
    checkpoint,
    policy: (number: number) => model.policy("self", checkpoint(number)),
    /** What happened to the server, without process ids and the number of requests in a row. */
    ledger: () => lines().flatMap((line, i, all) => (line.startsWith("ask") && all[i - 1] === line ? [] : [line.replace(/ \d+$/, "")])),
    isAlive: () =>
      lines()
        .flatMap((line) => /^start .* (\d+)$/.exec(line)?.[1] ?? [])
        .some((pid) => {
          try {
            return process.kill(Number(pid), 0);
          } catch {
            return false;
          }
        }),
    log: () => readFileSync(`${place}.log`, "utf8"),
  };
}

const requests = (count: number, prompt = "board"): CompletionRequest[] =>
  Array.from({ length: count }, (_, index) => ({ prompt: `${prompt} ${index}`, seed: "run/1", index, maxTokens: 9, temperature: 0 }));
const texts = (results: readonly unknown[]) => results.map((result) => (result as Completion).text);

test("each checkpoint is answered for by a server of its own, one at a time, which is stopped before training and started after it", async () => {
  const { model, policy, ledger, told, isAlive, log } = served();
  const [base] = texts(await policy(0).complete(requests(3)));
  await policy(0).complete(requests(1));
  expect(base).toMatch(/^\/checkpoints\/0 board 0 \d+ null undefined$/);
  await model.release();
  expect(isAlive()).toBe(false);
  expect(texts(await policy(1).complete(requests(1)))[0]).toMatch(/^\/checkpoints\/1 /);
  // The base once more, as the engineer `base` asks it.
  await policy(0).complete(requests(1));
  await model.close();
  expect(isAlive()).toBe(false);
  const life = (n: number) => [`start /checkpoints/${n}`, `ask /checkpoints/${n}`, `stop /checkpoints/${n}`];
  expect(ledger()).toEqual([...life(0), ...life(1), ...life(0)]);
  expect(told).toEqual([0, 1, 0].flatMap((n) => [`starting ${n}`, `ready ${n}`, `stopped ${n}`]));
  expect(log()).toMatch(/^\$ \S+fake-server.mjs \/checkpoints\/0 --host 127.0.0.1 --port \d+ .*\nloading \/checkpoints\/0$/m);
});

test("equal seeds are equal requests, and what the recipe says of sampling and the chat template goes with each", async () => {
  const ask = async (options: Record<string, unknown>) => texts(await served(options).policy(0).complete(requests(2)));
  const [first, second] = await Promise.all([ask({ thinking: false, top_p: 0.9 }), ask({ thinking: false, top_p: 0.9 })]);
  expect(first).toEqual(second);
  expect(first[0]).toMatch(/ \{"enable_thinking":false\} 0.9$/);
  expect(first[0]!.split(" ")[3]).not.toBe(first[1]!.split(" ")[3]);
});

test("SGLang is paused, given the weights and continued, and stays up while the trainer trains", async () => {
  const { model, policy, ledger, told } = served({ kind: "sglang", weights: "update" });
  await policy(0).complete(requests(1));
  await model.release();
  expect(texts(await policy(1).complete(requests(1)))[0]).toMatch(/^\/checkpoints\/1 /);
  await model.close();
  expect(ledger()).toEqual([
    "start /checkpoints/0",
    "ask /checkpoints/0",
    "pause",
    "update /checkpoints/1",
    "continue",
    "ask /checkpoints/1",
    "stop /checkpoints/1",
  ]);
  expect(told).toEqual(["starting 0", "ready 0", "ready 1", "stopped 1"]);
});

test.each([
  ["refuses-weights", {}, /answered 400: the shapes differ/],
  ["keeps-weights", {}, /says that its weights are those of \/checkpoints\/0/],
  ["keeps-weights", { FAKE_OLD: "" }, /says that its weights are those of \/checkpoints\/0/],
])(
  "SGLang that %s is not asked with the old ones: it is started anew, or the run ends where no retry is left",
  async (fault, old, reason) => {
    const options = { kind: "sglang", weights: "update" };
    const again = served(options, { ...old, FAKE_FAULT: fault });
    await again.policy(0).complete(requests(1));
    expect(texts(await again.policy(1).complete(requests(1)))[0]).toMatch(/^\/checkpoints\/1 /);
    expect(again.told.filter((line) => line.startsWith("attempt"))).toEqual([expect.stringMatching(reason)]);
    expect(again.ledger().filter((line) => line.startsWith("start"))).toEqual(["start /checkpoints/0", "start /checkpoints/1"]);

    const never = served({ ...options, retries: 0 }, { ...old, FAKE_FAULT: fault });
    await never.policy(0).complete(requests(1));
    await expect(never.policy(1).complete(requests(1))).rejects.toThrow(reason);
    expect(never.ledger()).not.toContain("ask /checkpoints/1");
  },
);

test("a server that dies amid an evaluation is started again and asked for what is missing alone", async () => {
  const { policy, told, ledger, checkpoint } = served({ concurrency: 1 }, { FAKE_FAULT: "dies-amid", FAKE_ONCE: join(dir, "amid") });
  const seen: number[] = [];
  const results = await policy(0).complete(requests(8), { onResult: (index) => seen.push(index) });
  expect(texts(results).map((text) => text.split(" ")[2])).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
  expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(told[2]).toMatch(/^attempt 1 of 3: vllm died with 5 of 8 answers missing \(it ended with 1\)$/);
  expect(ledger().filter((line) => line.startsWith("start"))).toHaveLength(2);
  expect(readFileSync(checkpoint(0).log, "utf8")).toContain("EngineDeadError");
});

test("a server that falls silent is noticed long before its requests are given up, and started again", async () => {
  const { policy, told, ledger } = served({ concurrency: 1 }, { FAKE_FAULT: "falls-silent", FAKE_ONCE: join(dir, "silent") });
  const results = await policy(0).complete(requests(5));
  expect(texts(results).map((text) => text.split(" ")[2])).toEqual(["0", "1", "2", "3", "4"]);
  expect(told.filter((line) => line.startsWith("attempt"))).toEqual(["attempt 1 of 3: vllm fell silent with 2 of 5 answers missing"]);
  expect(ledger().filter((line) => line.startsWith("start"))).toHaveLength(2);
}, 20_000);

test("after new weights the log that is named is the one the server writes to", async () => {
  const { model, policy, checkpoint } = served({ kind: "sglang", weights: "update" }, { FAKE_FAULT: "refuses-some" });
  const other = { ...checkpoint(1), log: join(dir, "never-written.log") };
  await policy(0).complete(requests(1));
  await expect(model.policy("self", other).complete(requests(2, "bad"))).rejects.toMatchObject({
    remedy: expect.stringContaining(checkpoint(0).log),
  });
});

test("a server has as long to read its weights as the recipe gives it, also where a fetch would wait less", async () => {
  const slow = createServer((request, response) => {
    const answer = () => response.end(JSON.stringify({ success: true, model_path: "/new" }));
    if (request.url === "/update_weights_from_disk") setTimeout(answer, 2500);
    else answer();
  }).listen(0, "127.0.0.1");
  const usual = getGlobalDispatcher();
  setGlobalDispatcher(new Agent({ headersTimeout: 100 }));
  onTestFinished(() => {
    setGlobalDispatcher(usual);
    slow.close();
  });
  await new Promise((resolve) => slow.once("listening", resolve));
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  await expect(updateWeights(url, "/new", { timeout: 20_000 })).resolves.toBeUndefined();
}, 30_000);

test.each([
  ["dies-at-start", {}, /ended before it was ready \(it ended with 1\)/, "CUDA out of memory"],
  ["never-healthy", { startup_timeout: 0.6 }, /was not ready after 0.6 s/, ".log"],
  ["other-name", {}, /serves other and not policy/, ".log"],
  ["other-weights", {}, /serves the weights of \/other and not those of \/checkpoints\/0/, ".log"],
  ["falls-ill", {}, /does not answer any more, with 2 of 2 answers missing/, ".log"],
])(
  "a server that %s is tried as often as allowed and then a failure of the serving, with its log, and no answer",
  async (fault, options, message, remedy) => {
    const { policy, told, isAlive, model } = served({ retries: 1, ...options }, { FAKE_FAULT: fault });
    const error = await policy(0)
      .complete(requests(2))
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ServingError);
    expect((error as ServingError).message).toMatch(message);
    expect((error as ServingError).remedy).toContain(remedy);
    expect(told.filter((line) => line.startsWith("attempt 1 of 2"))).toHaveLength(1);
    await model.close();
    expect(isAlive()).toBe(false);
  },
);

test("what a server that is well refuses is a failure of its request; too many of them are none of the policy's answers", async () => {
  const few = served({ max_failed: 0.25 }, { FAKE_FAULT: "refuses-some" });
  const mixed = [...requests(3), ...requests(1, "bad")];
  const results = await few.policy(0).complete(mixed);
  expect(results.map((result) => "failure" in result)).toEqual([false, false, false, true]);
  const many = served({ max_failed: 0.2 }, { FAKE_FAULT: "refuses-some" });
  await expect(many.policy(0).complete(mixed)).rejects.toThrow(/1 of 4 requests had no answer: .*maximum context length/);
  // It would be no better after a start.
  expect(many.ledger().filter((line) => line.startsWith("start"))).toHaveLength(1);
});

test("an interruption while it starts, or while it answers, stops the server and is not tried again", async () => {
  const starting = served({}, { FAKE_FAULT: "never-healthy" });
  const soon = new AbortController();
  setTimeout(() => soon.abort(), 300);
  await expect(starting.policy(0).complete(requests(1), { signal: soon.signal })).rejects.toThrow(InterruptedError);
  expect(starting.isAlive()).toBe(false);
  const answering = served({ concurrency: 1 });
  const now = new AbortController();
  const stopped = answering.policy(0).complete(requests(50), { signal: now.signal, onResult: () => now.abort() });
  await expect(stopped).rejects.toThrow(InterruptedError);
  await answering.model.close();
  expect(answering.isAlive()).toBe(false);
});

test("a program that is not there is a mistake of the recipe, told at once", async () => {
  const { policy, told } = served({ command: ["no-such-vllm"] });
  await expect(policy(0).complete(requests(1))).rejects.toThrow(ConfigError);
  expect(told).toEqual(["starting 0"]);
});

test("a port that another program has is named, and its server is never asked", async () => {
  let asked = 0;
  const other = createServer((_, response) => {
    asked++;
    response.end("{}");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  await expect(served({ port, retries: 0 }).policy(0).complete(requests(1))).rejects.toThrow(`127.0.0.1:${port} cannot be listened on`);
  expect(asked).toBe(0);
});
