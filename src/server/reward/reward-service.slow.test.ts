/** The reward service under what takes seconds: a body far too large, a thousand connections, an end while a long batch is open. */
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Instance } from "../../environments/mapf-frozenlake/index.js";
import { type RewardService, type ScoreResult, serveReward } from "./index.js";
import { gold, options, rewardTestBoards } from "./test-boards.js";

let instances: Instance[] = [];
let service: RewardService;

beforeAll(async () => {
  instances = await rewardTestBoards();
  service = await serveReward(options);
});
afterAll(() => service.close());

test("a body of 100 MB is refused with 413, announced or not", async () => {
  const announced = await statusOf(service.url, { "content-length": String(100e6) }, () => {});
  expect(announced).toBe(413);
  const chunk = Buffer.alloc(1e6, 0x20);
  const streamed = await statusOf(service.url, {}, async (write) => {
    for (let i = 0; i < 100; i++) if (!(await write(chunk))) return;
  });
  expect(streamed).toBe(413);
  expect((await fetch(`${service.url}/health`)).status).toBe(200);
});

test("closing finishes the batches that are open and takes no new ones", async () => {
  const closing = await serveReward(options);
  const items = Array.from({ length: 4000 }, (_, id) => ({ id, instance: instances[id % 24], completion: gold(instances[id % 24]!) }));
  const open = fetch(`${closing.url}/v1/score`, { method: "POST", body: JSON.stringify({ items }) });
  await until(async () => /waiting_batches 1/.test(await (await fetch(`${closing.url}/metrics`)).text()));
  const closed = closing.close();
  const response = await open;
  expect(response.status).toBe(200);
  expect(((await response.json()) as { results: unknown[] }).results).toHaveLength(4000);
  await closed;
  await expect(fetch(`${closing.url}/health`)).rejects.toThrow();
});

test("1,000 connections at once: every one gets its own answer", async () => {
  const bodies = Array.from({ length: 1000 }, (_, id) =>
    JSON.stringify({ items: [{ id, instance: instances[id % 24], completion: id % 2 === 0 ? gold(instances[id % 24]!) : "" }] }),
  );
  const answers = await Promise.all(bodies.map((body) => onOwnConnection(service.url, body)));
  answers.forEach((text, id) => {
    const [result] = (JSON.parse(text) as { results: ScoreResult[] }).results;
    expect(result).toMatchObject({ id, valid: id % 2 === 0 });
  });
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries++) if (await holds()) return;
  throw new Error("it did not come to pass");
}

/** A POST whose body is written by `send`; resolves with the status of the answer, whether or not all of the body was taken. */
function statusOf(
  url: string,
  headers: Record<string, string>,
  send: (write: (chunk: Buffer) => Promise<boolean>) => void | Promise<void>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let open = true;
    const request = httpRequest(`${url}/v1/score`, { method: "POST", headers }, (response) => {
      open = false;
      resolve(response.statusCode!);
      request.destroy();
    });
    request.on("error", (error) => {
      if (open) reject(error);
    });
    request.flushHeaders();
    const write = (chunk: Buffer) => new Promise<boolean>((done) => (open ? request.write(chunk, () => done(open)) : done(false)));
    void Promise.resolve(send(write)).then(() => {
      if (open && headers["content-length"] === undefined) request.end();
    });
  });
}

function onOwnConnection(url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}/v1/score`, { method: "POST", agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part) => {
        text += part;
      });
      response.on("end", () => resolve(text));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}
