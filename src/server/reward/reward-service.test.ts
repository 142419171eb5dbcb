import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type JudgedCompletion, rewardOptionsSchema } from "../../core/index.js";
import { mapfFrozenLake as family, type Instance } from "../../environments/mapf-frozenlake/index.js";
import { FamilyScorer } from "../../rewards/index.js";
import { type RewardService, type ScoreResult, serveReward } from "./index.js";
import { gold, options, rewardTestBoards } from "./test-boards.js";

let instances: Instance[] = [];
let service: RewardService;

beforeAll(async () => {
  instances = await rewardTestBoards();
  service = await serveReward(options);
});
afterAll(() => service.close());

const post = (url: string, body: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/score`, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
const ask = async (body: unknown, url = service.url): Promise<ScoreResult[]> => {
  const response = await post(url, JSON.stringify(body));
  expect(response.status).toBe(200);
  return ((await response.json()) as { results: ScoreResult[] }).results;
};

describe("scores", () => {
  test("are those of the loop's own scorer, for right, wrong, unreadable and truncated answers", async () => {
    const reward = rewardOptionsSchema.parse({ gate: "valid", length_min: 4, length_max: 60 });
    const scorer = new FamilyScorer(family, { objective: "makespan", rendering: "compact", reward, scale: "group" });
    scorer.load({ ema_valid: 0.37 });
    const items = instances.flatMap((instance, i) => [
      { id: `${i}a`, instance, completion: gold(instance), tokens: 20 },
      { id: `${i}b`, instance: JSON.stringify(instance), completion: gold(instances[(i + 1) % instances.length]!), tokens: 30 },
      { id: `${i}c`, instance, completion: "no plan", tokens: 3 },
      { id: `${i}d`, instance, completion: gold(instance), tokens: 20, finish_reason: "length" },
    ]);
    const results = await ask({ reward, ema_valid: 0.37, items });
    expect(results.map((r) => r.id)).toEqual(items.map((item) => item.id));
    instances.forEach((instance, i) => {
      const expected = scorer.scoreGroup(
        instance,
        items.slice(4 * i, 4 * i + 4).map((item) => ({
          text: item.completion,
          tokens: item.tokens,
          finishReason: (item as { finish_reason?: "length" }).finish_reason ?? "stop",
        })),
      );
      expected.completions.forEach(({ verdict, reward: { total } }, s) => {
        expect(results[4 * i + s]).toMatchObject({ score: total, code: verdict.code, valid: verdict.ok, error: null });
      });
    });
    expect(results[0]!.valid).toBe(true);
    expect(results[3]!.code).toBe("truncated");
  });

  test("without reward options are the accuracy alone: 0 for what is not valid however short, and no less for a long plan", async () => {
    const [instance, ...others] = instances as [Instance, ...Instance[]];
    const other = others.find(({ agents }) => agents.length === instance.agents.length)!;
    const items = [
      { id: 1, instance, completion: "no" },
      { id: 2, instance, completion: gold(other), tokens: 1 },
      { id: 3, instance, completion: gold(instance), tokens: 500 },
      { id: 4, instance, completion: gold(instance), tokens: 1 },
      { id: 5, instance, completion: gold(instance), tokens: 1, finish_reason: "length" },
    ];
    const scores = (await ask({ items })).map((r) => [r.valid, r.score, r.accuracy, r.length, r.weight]);
    const [right, wrong] = [
      [true, 1, 1, 0, 1],
      [false, 0, 0, 0, 1],
    ];
    expect(scores).toEqual([wrong, wrong, right, right, wrong]);
    // With options all terms count, whichever of them are given.
    const [given] = await ask({ items: items.slice(1, 2), reward: { length_max: 100 } });
    expect(given!.score).toBeCloseTo(0.2, 12);
  });

  test("an item that cannot be judged has an error and no score, the others are scored, all with the same keys", async () => {
    const [instance] = instances as [Instance];
    const items = [
      { id: 1, instance, completion: gold(instance) },
      { id: 2, instance: { size: 4 }, completion: "" },
      { id: 3, instance: "{", completion: "" },
      { id: 4, completion: "" },
      null,
      { id: 6, instance, completion: "", tokens: -1 },
      { id: 7, instance, completion: "" },
    ];
    const results = await ask({ items });
    expect(results.map((r) => r.error?.code ?? r.code)).toEqual([
      "valid",
      "invalid-instance",
      "invalid-instance",
      "invalid-item",
      "invalid-item",
      "invalid-item",
      "parse-error",
    ]);
    expect(results.map((r) => r.id)).toEqual([1, 2, 3, 4, null, 6, 7]);
    expect(results.map((r) => r.score === null)).toEqual([false, true, true, true, true, true, false]);
    const keys = Object.keys(results[0]!).sort();
    for (const result of results) expect(Object.keys(result).sort()).toEqual(keys);
  });

  test("a plan that beats the recorded optimum is an error of its item, whose record is wrong, and never a score above 1", async () => {
    const [instance] = instances as [Instance];
    const optimum = { ...instance.optimum, makespan: instance.optimum.makespan + 5 };
    const wrong = { ...instance, optimum };
    const items = [
      { id: 1, instance: wrong, completion: gold(instance) },
      { id: 2, instance: wrong, completion: "no plan" },
      { id: 3, instance, completion: gold(instance), tokens: 1 },
    ];
    const results = await ask({ items });
    expect(results.map((r) => [r.score, r.error?.code ?? r.code])).toEqual([
      [null, "invalid-instance"],
      [expect.any(Number), "parse-error"],
      [1, "valid"],
    ]);
    expect(results[0]!.error!.message).toContain(`below the recorded optimum ${optimum.makespan}`);
  });

  test("the weight moves once per training step, as the loop's does, however the step is cut into batches", async () => {
    const seen: JudgedCompletion[] = [];
    const stepped = await serveReward({ ...options, stepSize: 8, emaValid: 0.5, onScored: (items) => seen.push(...items) });
    try {
      const items = Array.from({ length: 16 }, (_, i) => {
        const instance = instances[i % 4]!;
        return { id: i, instance, completion: i % 2 === 0 ? gold(instance) : "" };
      });
      for (let at = 0; at < 16; at += 4) await ask({ items: items.slice(at, at + 4) }, stepped.url);
      const reference = new FamilyScorer(family, {
        objective: "makespan",
        rendering: "compact",
        reward: rewardOptionsSchema.parse({}),
        scale: "group",
      });
      reference.load({ ema_valid: 0.5 });
      reference.update(0.5);
      reference.update(0.5);
      expect(stepped.emaValid()).toBe(reference.state().ema_valid);
      expect(seen.map((s) => s.instance)).toEqual(items.map((item) => item.instance.id));
    } finally {
      await stepped.close();
    }
  });
});

test("a batch that is sent again with its key, at once or later, is answered as before and counted once", async () => {
  const seen: JudgedCompletion[] = [];
  const stepped = await serveReward({ ...options, stepSize: 4, emaValid: 0.5, onScored: (items) => seen.push(...items) });
  try {
    const body = JSON.stringify({ items: [0, 1].map((id) => ({ id, instance: instances[0], completion: gold(instances[0]!) })) });
    const ask = async (key: string) => (await post(stepped.url, body, { "idempotency-key": key })).text();
    const answers = [...(await Promise.all([ask("one"), ask("one")])), await ask("one")];
    expect(new Set(answers).size).toBe(1);
    expect(JSON.parse(answers[0]!).results).toHaveLength(2);
    expect(seen).toHaveLength(2);
    expect(stepped.emaValid()).toBe(0.5);
    // The same batch with another key is another batch, and ends the step.
    await ask("two");
    expect(seen).toHaveLength(4);
    expect(stepped.emaValid()).toBeCloseTo(0.98 * 0.5 + 0.02, 12);
  } finally {
    await stepped.close();
  }
});

describe("what goes wrong has a defined answer", () => {
  test("JSON that is none, a schema that is not kept, an unknown family or objective: 400 with the reason", async () => {
    const [instance] = instances as [Instance];
    const item = { id: 1, instance, completion: "" };
    for (const [body, reason] of [
      ["{", "not JSON"],
      ["[]", "the body"],
      ['{"items": []}', "items"],
      [JSON.stringify({ items: [item], unheard: 1 }), "unheard"],
      [JSON.stringify({ items: [item], family: "chess" }), "chess"],
      [JSON.stringify({ items: [item], objective: "beauty" }), "beauty"],
      [JSON.stringify({ items: [item], reward: { length_min: 9, length_max: 3 } }), "length_max"],
    ] as const) {
      const response = await post(service.url, body);
      expect(response.status, body).toBe(400);
      expect(((await response.json()) as { error: { message: string } }).error.message).toContain(reason);
    }
  });

  test("a client that is slow with its headers or its body is let go with 408", async () => {
    const impatient = await serveReward({ ...options, timeouts: { headers: 200, request: 400 } });
    try {
      const port = Number(new URL(impatient.url).port);
      const [headers, body] = await Promise.all([
        rawAnswer(port, "POST /v1/score HTTP/1.1\r\nHost: localhost\r\n"),
        rawAnswer(port, "POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"),
      ]);
      expect(headers).toContain("408");
      expect(body).toContain("408");
    } finally {
      await impatient.close();
    }
  });

  test("without the token: 401; with it: 200; health needs none", async () => {
    const guarded = await serveReward({ ...options, token: "a secret" });
    try {
      const body = JSON.stringify({ items: [{ id: 1, instance: instances[0], completion: "" }] });
      expect((await post(guarded.url, body)).status).toBe(401);
      expect((await post(guarded.url, body, { authorization: "Bearer another" })).status).toBe(401);
      expect((await post(guarded.url, body, { authorization: "Bearer a secret" })).status).toBe(200);
      expect((await fetch(`${guarded.url}/health`)).status).toBe(200);
      expect((await fetch(`${guarded.url}/metrics`)).status).toBe(401);
    } finally {
      await guarded.close();
    }
  });
});

test("the metrics count batches and verdicts", async () => {
  const before = await (await fetch(`${service.url}/metrics`)).text();
  await ask({ items: [{ id: 1, instance: instances[0], completion: "" }] });
  const after = await (await fetch(`${service.url}/metrics`)).text();
  const count = (text: string) => Number(/envwright_reward_items_total\{code="parse-error"\} (\d+)/.exec(text)?.[1] ?? 0);
  expect(count(after) - count(before)).toBe(1);
});

function rawAnswer(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    let answer = "";
    socket.on("data", (data) => {
      answer += data;
    });
    socket.on("close", () => resolve(answer));
    socket.on("error", reject);
  });
}
