/** The server by its own requests, without a network or a browser: who may ask, what an id can reach, filters, the event stream. */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Rollout, recipeSchema, rolloutSchema, SCHEMA_VERSION, stageConfigSchema, validationReportSchema } from "../../core/index.js";
import { instanceSchema, mapfFrozenLake } from "../../environments/mapf-frozenlake/index.js";
import { isOwnHost } from "../../server/own-host.js";
import { RunFolder, writeParquet } from "../../store/index.js";
import type { RolloutDetail, RolloutPage, RunDetail, RunEntry, SqlAnswer, SqlTables, StageDetail } from "../records.js";
import { createApp } from "./app.js";
import { startUi } from "./serve.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-ui-"));
const runs = join(dir, "runs");
const ending = new AbortController();
let reading: ReturnType<typeof createApp>;
let acting: ReturnType<typeof createApp>;
const board = mapfFrozenLake.complete({
  id: "validation/0:0",
  size: 3,
  holes: [[1, 1]],
  agents: [
    { start: [0, 0], goal: [0, 2] },
    { start: [2, 0], goal: [2, 2] },
  ],
});
const config = { agents: [2], objective: "makespan", sizes: { "3": { data_ratio: 1, hole_ratio: 0.11, wait_ratio: 0 } } };

beforeAll(async () => {
  mkdirSync(runs);
  const recipe = recipeSchema.parse({ name: "small", stages: 2, instances: 4, config, base: "/nowhere" });
  const folder = await RunFolder.create(join(runs, "one"), { recipe });
  const cell = {
    n: 2,
    valid: { rate: 0.5, stderr: 0.35 },
    optimal: { rate: 0, stderr: 0 },
    codes: { valid: 1, hole: 1 },
    tokens: 4,
    gap: 0.5,
  };
  const report = { schema_version: SCHEMA_VERSION as 1, stage: 0, objective: "makespan", set_sha256: "0".repeat(64), total: cell, by_stratum: { "3": cell }, by_tag: {}, outcomes: [1, 0], failed: 0 }; // biome-ignore format: one record
  await folder.writeRecord("run", "base-validation.json", validationReportSchema, report);
  const stage = { schema_version: SCHEMA_VERSION as 1, stage: 0, requested: config, normalised: config, repairs: [], provenance: { source: "initial" as const }, from_checkpoint: 0 }; // biome-ignore format: one record
  await folder.writeRecord(0, "config.json", stageConfigSchema, stage);
  await folder.writeRecord(0, "validation.json", validationReportSchema, report);
  await writeParquet(join(folder.dir, "validation.parquet"), instanceSchema, [board]);
  const answers = ["<cell:0,1><cell:0,2><next><cell:2,1><cell:2,2>", "<cell:0,1><cell:1,1><next><cell:2,1><cell:2,2>"];
  const rollouts = answers.map((completion, i): Rollout => {
    const verdict = mapfFrozenLake.verify(board, completion, "stop", "compact");
    return { id: `0/validation/0/0/${i}`, instance: board.id, stratum: "3", stage: 0, step: 0, sample: i, completion, tokens: 6 - i, finish_reason: "stop", verdict }; // biome-ignore format: one record
  });
  await writeParquet(folder.path(0, "validation-rollouts.parquet"), rolloutSchema, rollouts);
  folder.appendEvent({ type: "phase-started", stage: 0, phase: "train", time: new Date(0).toISOString() });
  folder.close();
  writeFileSync(join(dir, "secret.json"), "{}");
  mkdirSync(join(dir, "outside"));
  writeFileSync(join(dir, "outside", "run.json"), "{}");
  symlinkSync(join(dir, "outside"), join(runs, "link"));
  const options = { runs, host: "127.0.0.1", signal: ending.signal };
  reading = createApp(options);
  acting = createApp({ ...options, actions: { propose: () => Promise.reject(new Error("not asked here")) } });
});
afterAll(async () => {
  ending.abort();
  await reading.close();
  await acting.close();
  rmSync(dir, { recursive: true, force: true });
});

const HOST = { host: "localhost:4680" };
const get = async (path: string, headers: Record<string, string> = HOST) =>
  reading.app.request(`http://localhost:4680${path}`, { headers });
const json = async <T>(path: string): Promise<T> => {
  const response = await get(path);
  expect(response.status, path).toBe(200);
  return (await response.json()) as T;
};
const post = (app: ReturnType<typeof createApp>, path: string, body: unknown, headers: Record<string, string>) =>
  app.app.request(`http://localhost:4680${path}`, { method: "POST", body: JSON.stringify(body), headers: { ...HOST, ...headers } });

describe("who may ask", () => {
  test("names that are not this machine's are refused, so that no foreign page can point its own name here", async () => {
    for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "localhost:4680@evil.example"]) {
      expect((await get("/api/meta", { host })).status, host).toBe(421);
    }
    for (const host of ["localhost", "127.0.0.1:80", "[::1]:4680", "LOCALHOST:1"])
      expect((await get("/api/meta", { host })).status, host).toBe(200);
    expect([isOwnHost("192.168.1.4:80", "0.0.0.0"), isOwnHost("192.168.1.4:80", "127.0.0.1"), isOwnHost("box:80", "box")]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test("nothing is done without --allow-actions, and with it only for the page itself", async () => {
    const path = "/api/runs/one/stages/0/propose";
    const own = { origin: "http://localhost:4680", "content-type": "application/json" };
    expect((await post(reading, path, {}, own)).status).toBe(403);
    expect((await post(acting, path, {}, { ...own, origin: "http://evil.example" })).status).toBe(403);
    expect((await post(acting, path, {}, { "content-type": "application/json" })).status).toBe(403);
    expect((await post(acting, path, {}, { ...own, "content-type": "text/plain" })).status).toBe(415);
    expect((await post(acting, path, { samples: 99 }, own)).status).toBe(400);
    const failed = await post(acting, path, {}, own);
    expect([failed.status, await failed.json()]).toEqual([500, { error: "not asked here", remedy: null }]);
    expect((await acting.app.request("http://localhost:4680/api/meta", { method: "DELETE", headers: HOST })).status).toBe(405);
  });

  test("a body over 64 KiB is refused without being read to its end, announced or not", async () => {
    let read = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(stream) {
        read += 16384;
        if (read > 64e6) stream.close();
        else stream.enqueue(new Uint8Array(16384).fill(32));
      },
    });
    const headers = { ...HOST, origin: "http://localhost:4680", "content-type": "application/json" };
    const send = (body: ReadableStream | string, more: Record<string, string> = {}) =>
      acting.app.request("http://localhost:4680/api/runs/one/stages/0/propose", { method: "POST", body, headers: { ...headers, ...more }, duplex: "half" } as RequestInit); // biome-ignore format: one request
    expect((await send(endless)).status).toBe(413);
    expect(read).toBeLessThan(1e6);
    expect((await send("{}", { "content-length": String(64 * 1024 + 1) })).status).toBe(413);
    expect((await send(`{"samples":99}${" ".repeat(60_000)}`)).status).toBe(400);
  });

  test("what another site's page asks in the browser is refused, reading too; a link to the page from there is not", async () => {
    for (const site of ["cross-site", "same-site"]) {
      for (const path of ["/api/runs", "/api/runs/one/sql?sql=SELECT%201", "/api/runs/one/events"])
        expect([site, path, (await get(path, { ...HOST, "sec-fetch-site": site })).status]).toEqual([site, path, 403]);
      expect((await get("/", { ...HOST, "sec-fetch-site": site })).status).not.toBe(403);
    }
    for (const site of ["same-origin", "none"]) expect((await get("/api/runs", { ...HOST, "sec-fetch-site": site })).status).toBe(200);
  });

  test("actions beyond loopback are refused before a port is opened", async () => {
    const actions = { propose: () => Promise.reject(new Error()) };
    await expect(startUi({ runs, host: "0.0.0.0", port: 0, actions })).rejects.toThrow(/anyone on the network/);
  });

  test("every answer forbids scripts, styles and requests from elsewhere", async () => {
    for (const path of ["/api/meta", "/", "/nothing"]) {
      const policy = (await get(path)).headers.get("content-security-policy")!;
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
    }
  });
});

test("an id reaches runs below the folder and nothing else", async () => {
  for (const id of ["..", "../outside", "one/..", "one/../one", "/etc", "link", "nothing", "one%00", "one\\..", ".git", ""]) {
    const response = await get(`/api/runs/${encodeURIComponent(id)}`);
    expect([id, response.status === 404 || (id === "" && response.status === 200)]).toEqual([id, true]);
  }
  for (const path of ["/../secret.json", "/%2e%2e/secret.json", "/assets/..%2f..%2f..%2fpackage.json"]) {
    expect([path, (await get(path)).status === 200]).toEqual([path, false]);
  }
  expect((await json<RunEntry[]>("/api/runs")).map((r) => [r.id, r.state])).toContainEqual(["one", "interrupted"]);
});

test("one run is served before it exists, and nothing beside it ever", async () => {
  const home = join(dir, "home");
  mkdirSync(join(home, "private"), { recursive: true });
  symlinkSync(home, join(dir, "to-home"));
  const { recipe } = JSON.parse(readFileSync(join(runs, "one", "run.json"), "utf8"));
  const make = async (name: string) => (await RunFolder.create(join(home, name), { recipe: recipeSchema.parse(recipe) })).close();
  await make("private/old");
  const { app, close } = createApp({ runs: join(dir, "to-home", "new"), isRun: true, host: "127.0.0.1", signal: ending.signal });
  const ask = (path: string) => app.request(`http://localhost:4680${path}`, { headers: HOST });
  const listed = async () => ((await (await ask("/api/runs")).json()) as RunEntry[]).map(({ id }) => id);
  expect(await listed()).toEqual([]);
  await make("new");
  await make("other");
  expect(await listed()).toEqual(["new"]);
  expect((await ask("/api/runs/new")).status).toBe(200);
  for (const id of ["other", "private/old", "."])
    expect([id, (await ask(`/api/runs/${encodeURIComponent(id)}`)).status]).toEqual([id, 404]);
  await close();
});

test("a run, its stage and its rollouts are what the records say", async () => {
  const run = await json<RunDetail>("/api/runs/one");
  expect([run.state, run.report.base?.valid.rate, run.stages[0]?.requested]).toEqual(["interrupted", 0.5, config.sizes]);
  const stage = await json<StageDetail>("/api/runs/one/stages/0");
  expect([stage.proposal, stage.taken, stage.knobs, stage.validation?.["3"]?.codes.hole]).toEqual([null, null, config.sizes, 1]);
  expect(stage.ask).toMatchObject({
    own: { engineer: "self", variant: "V6", model: null },
    variants: expect.arrayContaining(["V1", "V6"]),
  });
  expect(stage.ask.engineers).toEqual(expect.arrayContaining(["self", "llm", "rule"]));
  expect(stage.ask.engineers.filter((name) => ["human", "replay"].includes(name))).toEqual([]);
  expect((await get("/api/runs/one/stages/7")).status).toBe(404);
});

test("a run is read once for all who ask at once, the server's own look before the first reader included; after a failure again", async () => {
  const opened = vi.spyOn(RunFolder, "open");
  const { app, warm, close } = createApp({ runs, host: "127.0.0.1", signal: ending.signal });
  const ask = async () => (await app.request("http://localhost:4680/api/runs/one", { headers: HOST })).status;
  opened.mockRejectedValueOnce(new Error("the disk is away"));
  await warm();
  expect(await Promise.all([warm(), ask(), ask(), ask()])).toEqual([undefined, 200, 200, 200]);
  expect(opened).toHaveBeenCalledTimes(2);
  opened.mockRestore();
  await close();
});

describe("rollouts", () => {
  test("are filtered by bound values, and the query shown is the one that ran", async () => {
    const page = await json<RolloutPage>("/api/runs/one/rollouts?code=hole&agents=2&size=3&stage=0");
    expect([page.total, page.rows.map((r) => [r.id, r.code, r.agents]), page.codes]).toEqual([
      1,
      [["0/validation/0/0/1", "hole", 2]],
      { hole: 1 },
    ]);
    expect(page.sql).toContain("'hole'");
    const none = await json<RolloutPage>(`/api/runs/one/rollouts?code=${encodeURIComponent("hole' OR 1=1 --")}`);
    expect(none.total).toBe(0);
    expect(none.sql).toContain("'hole'' OR 1=1 --'");
    expect((await json<RolloutPage>("/api/runs/one/rollouts?order=tokens&direction=asc")).rows.map((r) => r.tokens)).toEqual([5, 6]);
    expect((await json<RolloutPage>("/api/runs/one/rollouts?limit=1&offset=1")).rows.map((r) => r.id)).toEqual(["0/validation/0/0/1"]);
    for (const query of ["limit=9999", "order=id;drop", "colour=red", "stage=x"])
      expect((await get(`/api/runs/one/rollouts?${query}`)).status, query).toBe(400);
  });

  test("are answered in free SQL too: the filter's own query gives its rows, and refusals say why", { timeout: 120_000 }, async () => {
    const sql = (text: string) => get(`/api/runs/one/sql?sql=${encodeURIComponent(text)}`);
    const page = await json<RolloutPage>("/api/runs/one/rollouts?code=hole&agents=2&size=3&order=tokens&direction=desc");
    const same = (await (await sql(page.sql)).json()) as SqlAnswer;
    const named = same.rows.map((row) => Object.fromEntries(same.columns.map(({ name }, i) => [name, row[i]])));
    expect([page.rows.length, named]).toEqual([1, page.rows.map((row) => ({ set: "validation", ...row }))]);
    const { rows } = (await (
      await sql("SELECT set, len(i.holes) FROM rollouts JOIN instances i USING (set) GROUP BY ALL")
    ).json()) as SqlAnswer;
    expect(rows).toEqual([["validation", "1"]]);
    const { tables } = await json<SqlTables>("/api/runs/one/tables");
    expect(tables.map(({ name }) => name)).toEqual(["rollouts", "instances"]);
    expect(tables[0]!.columns).toContainEqual({ name: "completion", type: "VARCHAR" });
    for (const text of [
      "SELECT * FROM read_csv('/etc/passwd')",
      `FROM '${join(runs, "one", "run.json")}'`,
      "COPY rollouts TO 'x'",
      "SELECT 1; SELECT 2",
      "PRAGMA x",
    ]) {
      const refused = await sql(text);
      expect([text, refused.status, await refused.text()]).toEqual([text, 400, expect.not.stringContaining("root:")]);
    }
    expect((await get("/api/runs/one/sql")).status).toBe(400);
    expect((await get("/api/runs/link/sql?sql=SELECT%201")).status).toBe(404);
  });

  test("are not asked for by any number of free queries at once: more than wait already are refused", async () => {
    const gone = AbortSignal.abort();
    const asked = Array.from({ length: 12 }, () =>
      reading.app.request("http://localhost:4680/api/runs/one/sql?sql=SELECT%201", { headers: HOST, signal: gone }),
    );
    const refused = (await Promise.all(asked)).filter(({ status }) => status === 503);
    expect([refused.length, await refused[0]?.json()]).toEqual([
      3,
      { error: "8 queries are waiting already", remedy: "ask again when they have been answered" },
    ]);
  });

  test("come with the places of every agent under the plan that was judged, and the rule it breaks", async () => {
    const good = await json<RolloutDetail>("/api/runs/one/rollout?set=validation&stage=0&id=0/validation/0/0/0");
    expect(good.model?.positions.map((p) => p[0])).toEqual([[0, 0], [0, 1], [0, 2]]); // biome-ignore format: one path
    expect([good.model?.broken, good.optimum?.positions.length]).toEqual([[], board.optimum.makespan + 1]);
    const bad = await json<RolloutDetail>("/api/runs/one/rollout?set=validation&stage=0&id=0/validation/0/0/1");
    expect(bad.verdict?.code).toBe("hole");
    expect(bad.model?.broken[0]).toMatchObject({ rule: "hole", step: 2, agents: [0], cell: [1, 1] });
    const picture = await get("/api/runs/one/picture?set=validation&stage=0&id=0/validation/0/0/1&plan=model&format=svg");
    expect([picture.status, (await picture.text()).startsWith("<svg")]).toEqual([200, true]);
    expect((await get("/api/runs/one/rollout?set=validation&stage=0&id=none")).status).toBe(404);
  });
});

test("the event stream starts at the offset asked for, sends whole lines as they come, and says when the file began anew", async () => {
  const events = join(runs, "one", "events.jsonl");
  const response = await get("/api/runs/one/events", { ...HOST, "last-event-id": "0" });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const until = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(text)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`the stream ended before ${pattern}: ${text}`);
      text += value;
    }
  };
  await until(/phase-started[\s\S]*"state":"stopped"/);
  appendFileSync(events, '{"type":"warning","message":"half');
  appendFileSync(events, ' a line","time":"1970-01-01T00:00:00.000Z"}\n');
  await until(/half a line/);
  expect(text.match(/half/g)).toHaveLength(1);
  const last = [...text.matchAll(/id: (\d+)/g)].at(-1)![1]!;
  writeFileSync(events, "{}\n");
  await until(/event: reset/);
  expect(Number(last)).toBeGreaterThan(3);
  await reader.cancel();
});

test("nobody can answer for a run that does not wait", async () => {
  const own = { origin: "http://localhost:4680", "content-type": "application/json" };
  const refused = await post(acting, "/api/runs/one/stages/0/answer", { knobs: { "3": { data_ratio: 1 } } }, own);
  expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([400, "stage 0 waits for nobody"]);
});
