import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import {
  type Instance,
  mapfFrozenLake as lake,
  loadBenchmark,
  optimalPlan,
  reservedHashes,
} from "../../environments/mapf-frozenlake/index.js";
import { type Host, startHost } from "../host.js";
import { type OpenEnvOptions, type OpenEnvPart, openEnvPart } from "./index.js";
import { actionSchema, observationSchema } from "./schema.js";

interface Reply {
  type: string;
  data: {
    code?: string;
    message?: string;
    observation: { prompt: string; code: string | null; positions: number[][]; board: unknown; metadata: Record<string, unknown> };
    reward: number | null;
    done: boolean;
    [key: string]: unknown;
  };
}

/** A client that keeps what it was sent until it is asked for. */
class Client {
  private readonly replies: Reply[] = [];
  private readonly waiting: ((reply: Reply) => void)[] = [];
  readonly closed: Promise<number>;

  private constructor(readonly socket: WebSocket) {
    this.closed = new Promise((resolve) => socket.on("close", (code) => resolve(code)));
    socket.on("message", (data) => {
      const reply = JSON.parse(String(data)) as Reply;
      const next = this.waiting.shift();
      if (next === undefined) this.replies.push(reply);
      else next(reply);
    });
  }

  static open(url: string, options: object = {}): Promise<Client> {
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, options);
    const client = new Client(socket);
    return new Promise((resolve, reject) => {
      socket.on("open", () => resolve(client));
      socket.on("error", reject);
    });
  }

  next(): Promise<Reply> {
    const reply = this.replies.shift();
    return reply === undefined ? new Promise((resolve) => this.waiting.push(resolve)) : Promise.resolve(reply);
  }

  ask(message: unknown): Promise<Reply> {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
    return this.next();
  }
  reset(data: object = {}): Promise<Reply> {
    return this.ask({ type: "reset", data });
  }
  step(data: object): Promise<Reply> {
    return this.ask({ type: "step", data });
  }
  async end(): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }
}

const opened: Host[] = [];
async function serve(options: Partial<OpenEnvOptions> = {}, token?: string): Promise<{ url: string; part: OpenEnvPart; host: Host }> {
  const part = openEnvPart({ version: "1.2.3", ...options });
  const host = await startHost({ parts: [part], host: "127.0.0.1", port: 0, token });
  opened.push(host);
  return { url: host.url, part, host };
}

let url: string;
beforeAll(async () => {
  ({ url } = await serve());
});
afterAll(async () => {
  for (const host of opened) await host.close();
});

/** A frozen board, so that no test waits for the generator. */
const fixed = { set: "bench-3", index: loadBenchmark("bench-3").findIndex(({ size }) => size === 4) };
const board = loadBenchmark("bench-3")[fixed.index]!;
const gold = lake.demonstrate(board, "makespan", "chat");

describe("an episode by one whole answer", () => {
  test("reset tells board and prompt and keeps the optimum back; the optimal answer earns 1", async () => {
    const client = await Client.open(url);
    const reset = await client.reset({ ...fixed, episode_id: "e1" });
    expect(reset.type).toBe("observation");
    expect(reset.data).toMatchObject({
      reward: null,
      done: false,
      observation: { prompt: lake.prompt(board, "chat"), code: null, optimum: null },
    });
    expect(JSON.stringify(reset.data)).not.toMatch(/wait_required|"conflict"/);
    observationSchema.parse(reset.data.observation);
    const step = await client.step({ message: `Let me see. ${gold}` });
    expect(step.data).toMatchObject({
      reward: 1,
      done: true,
      observation: { code: "valid", optimal: true, optimum: board.optimum.makespan },
    });
    observationSchema.parse(step.data.observation);
    const state = await client.ask({ type: "state" });
    expect(state).toMatchObject({ type: "state", data: { episode_id: "e1", step_count: 1, done: true, instance: board.id } });
    await client.end();
  });

  test("wrong, unreadable and truncated answers earn 0 and their code; a longer plan earns less than 1", async () => {
    const client = await Client.open(url);
    const outcome = async (action: object) => {
      await client.reset(fixed);
      const { data } = await client.step(action);
      return [data.observation.code, data.reward];
    };
    expect(await outcome({ message: "no" })).toEqual(["parse-error", 0]);
    expect(await outcome({ message: gold, finish_reason: "length" })).toEqual(["truncated", 0]);
    expect(await outcome({ message: gold.replaceAll(/UP|DOWN|LEFT|RIGHT/g, "WAIT") })).toEqual(["goal-missed", 0]);
    const [code, reward] = await outcome({ message: gold.replaceAll(": ", ": WAIT, ") });
    expect(code).toBe("valid");
    expect(reward).toBeCloseTo(1 - 1 / board.optimum.makespan, 12);
    await client.end();
  });

  test("the compact rendering has its own prompt and answers", async () => {
    const client = await Client.open(url);
    const reset = await client.reset({ ...fixed, rendering: "compact" });
    expect(reset.data.observation.prompt).toBe(lake.prompt(board, "compact"));
    const step = await client.step({ message: lake.demonstrate(board, "makespan", "compact") });
    expect(step.data.reward).toBe(1);
    await client.end();
  });
});

describe("an episode by joint moves", { timeout: 60_000 }, () => {
  const plan = optimalPlan(board, "makespan");
  const joint = Array.from({ length: board.optimum.makespan }, (_, step) => plan.map((moves) => moves[step] ?? "WAIT"));

  test("an optimal plan earns 1 at its last move and nothing before, as moves or as text", async () => {
    const client = await Client.open(url);
    for (const asText of [false, true]) {
      const reset = await client.reset({ ...fixed, form: "moves" });
      expect(reset.data.observation.prompt).toContain("Reply with the next joint move alone");
      expect(reset.data.observation.prompt).not.toContain("<answer>");
      for (const [i, moves] of joint.entries()) {
        const last = i === joint.length - 1;
        const { data } = await client.step(asText ? { message: `<think>so</think>Hm.\n${moves.join(", ").toLowerCase()}\n` } : { moves });
        expect(data).toMatchObject({ done: last, reward: last ? 1 : null, observation: { step: i + 1 } });
        if (!last) expect(data.observation.prompt).toContain(`After step ${i + 1}`);
      }
    }
    await client.end();
  });

  test("a broken rule ends the episode at its step", async () => {
    const own = { size: 3, holes: [[0, 1]], agents: [{ start: [0, 0], goal: [2, 2] }, { start: [2, 0], goal: [0, 2] }] }; // biome-ignore format: one board
    const client = await Client.open(url);
    const outcome = async (...steps: object[]) => {
      await client.reset({ instance: own, form: "moves" });
      let reply: Reply | undefined;
      for (const step of steps) reply = await client.step(step);
      const { observation, reward, done } = reply!.data;
      return [observation.code, reward, done];
    };
    expect(await outcome({ moves: ["RIGHT", "WAIT"] })).toEqual(["hole", 0, true]);
    expect(await outcome({ moves: ["UP", "WAIT"] })).toEqual(["illegal-move", 0, true]);
    expect(await outcome({ moves: ["DOWN", "UP"] })).toEqual(["vertex-conflict", 0, true]);
    expect(await outcome({ moves: ["DOWN", "WAIT"] }, { moves: ["DOWN", "UP"] })).toEqual(["swap-conflict", 0, true]);
    expect(await outcome({ moves: ["DOWN", "RIGHT"] })).toEqual([null, null, false]);
    expect(await outcome({ message: "Move both of them." })).toEqual(["parse-error", 0, true]);
    expect(await outcome({ message: "DOWN" })).toEqual(["parse-error", 0, true]);
    expect(await outcome({ message: "<think>DOWN, WAIT" })).toEqual(["truncated", 0, true]);
    expect(await outcome({ message: "DOWN, WAIT", finish_reason: "length" })).toEqual(["truncated", 0, true]);
    await client.reset({ instance: own, form: "moves", max_steps: 2 });
    expect((await client.step({ moves: ["WAIT", "WAIT"] })).data.done).toBe(false);
    expect((await client.step({ moves: ["WAIT", "WAIT"] })).data).toMatchObject({
      done: true,
      reward: 0,
      observation: { code: "goal-missed" },
    });
    await client.end();
  });

  test("positions follow the moves; a whole answer after moves, or moves for too few agents, are refused and end nothing", async () => {
    const client = await Client.open(url);
    await client.reset(fixed);
    expect((await client.step({ moves: ["WAIT"] })).data.code).toBe("VALIDATION_ERROR");
    const moved = await client.step({ moves: joint[0]! });
    expect(moved.data.observation.positions).not.toEqual(board.agents.map(({ start }) => start));
    expect((await client.step({ message: gold })).data.code).toBe("EXECUTION_ERROR");
    for (const moves of joint.slice(1)) await client.step({ moves });
    expect((await client.ask({ type: "state" })).data).toMatchObject({ done: true, step_count: joint.length });
    await client.end();
  });
});

describe("which board", { timeout: 60_000 }, () => {
  test("the same seed gives the same board on another server, another seed another; a block of seeds meets the ratios", async () => {
    const other = await serve();
    const config = { agents: [2], sizes: { "3": { data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0.5 }, "4": { data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0 } } }; // biome-ignore format: one config
    const [one, two] = [await Client.open(url), await Client.open(other.url)];
    const boards: Instance[] = [];
    for (let seed = 16; seed < 32; seed++) {
      const first = await one.reset({ seed, config });
      const second = await two.reset({ seed, config });
      expect(second.data.observation.board).toEqual(first.data.observation.board);
      boards.push(lake.complete(first.data.observation.board));
    }
    expect(new Set(boards.map(({ hash }) => hash)).size).toBe(16);
    expect(boards.filter(({ size }) => size === 3)).toHaveLength(8);
    expect(boards.filter(({ wait_required }) => wait_required)).toHaveLength(4);
    const reserved = reservedHashes();
    expect(boards.some(({ hash }) => reserved.has(hash))).toBe(false);
    const three = await one.reset({ seed: 0, config, agents: 3 });
    expect(three.data.observation.positions).toHaveLength(3);
    const unnamed = await one.reset({ config });
    const again = await two.reset({ config, seed: unnamed.data.observation.metadata.seed });
    expect(again.data.observation.board).toEqual(unnamed.data.observation.board);
    await one.end();
    await two.end();
  });

  test("a set without an index takes the seed's; an own board is checked", async () => {
    const client = await Client.open(url);
    const picked = await client.reset({ set: "bench-3", seed: 2 });
    expect(picked.data.observation.metadata.instance).toBe("bench-3:2");
    const blocked = { size: 2, holes: [[0, 1], [1, 0]], agents: [{ start: [0, 0], goal: [1, 1] }] }; // biome-ignore format: one board
    const refused = await client.reset({ instance: blocked });
    expect(refused.data).toMatchObject({ code: "VALIDATION_ERROR", message: expect.stringContaining("no solution") });
    await client.end();
  });
});

describe("what is wrong is answered by its code and the session goes on", () => {
  const cases: [string, string | object, string][] = [
    ["text that is no JSON", "{", "INVALID_JSON"],
    ["JSON that is no object", "[1]", "VALIDATION_ERROR"],
    ["a message without a type", {}, "UNKNOWN_TYPE"],
    ["an unknown type", { type: "constructor" }, "UNKNOWN_TYPE"],
    ["a key that the message has not", { type: "state", extra: 1 }, "VALIDATION_ERROR"],
    ["a step without data", { type: "step" }, "VALIDATION_ERROR"],
    ["a step before any reset", { type: "step", data: { message: "x" } }, "EXECUTION_ERROR"],
    ["an action with nothing in it", { type: "step", data: {} }, "VALIDATION_ERROR"],
    ["an action that is not one", { type: "step", data: { moves: ["JUMP"] } }, "VALIDATION_ERROR"],
    ["a misspelt option", { type: "reset", data: { sed: 1 } }, "VALIDATION_ERROR"],
    ["a negative seed", { type: "reset", data: { seed: -1 } }, "VALIDATION_ERROR"],
    ["two sources of boards", { type: "reset", data: { set: "bench-3", agents: 2 } }, "VALIDATION_ERROR"],
    ["an index without a set", { type: "reset", data: { index: 2 } }, "VALIDATION_ERROR"],
    ["an index beyond the set", { type: "reset", data: { set: "bench-3", index: 10 ** 9 } }, "VALIDATION_ERROR"],
    ["a config that is none", { type: "reset", data: { config: { sizes: { "99": {} } } } }, "VALIDATION_ERROR"],
    ["a config that cannot be generated", { type: "reset", data: { agents: 8, config: { sizes: { "3": { data_ratio: 1, hole_ratio: 0.5, wait_ratio: 0 } } } } }, "VALIDATION_ERROR"], // biome-ignore format: one case
    ["moves in the compact rendering", { type: "reset", data: { ...fixed, form: "moves", rendering: "compact" } }, "VALIDATION_ERROR"],
  ];

  test("for every kind of fault", async () => {
    const client = await Client.open(url);
    for (const [what, message, code] of cases) {
      const reply = await client.ask(message);
      expect([what, reply.type, reply.data.code]).toEqual([what, "error", code]);
      expect(reply.data.message).not.toBe("");
    }
    expect((await client.reset(fixed)).type).toBe("observation");
    await client.step({ message: gold });
    expect((await client.step({ message: gold })).data).toMatchObject({
      code: "EXECUTION_ERROR",
      message: expect.stringContaining("over"),
    });
    await client.end();
  });

  test("an environment that cannot be made is a FACTORY_ERROR, and a binary message a SESSION_ERROR", async () => {
    const broken = await serve({
      newEnvironment: () => {
        throw new Error("out of lakes");
      },
    });
    const none = await Client.open(broken.url);
    expect((await none.next()).data).toMatchObject({ code: "FACTORY_ERROR", message: expect.stringContaining("out of lakes") });
    expect(await none.closed).toBe(1011);
    const client = await Client.open(url);
    client.socket.send(Buffer.from([1, 2]));
    expect((await client.next()).data.code).toBe("SESSION_ERROR");
    expect(await client.closed).toBe(1003);
  });
});

describe("sessions", () => {
  test("two at once do not mix, and messages sent in one go are answered in order", async () => {
    const [one, two] = [await Client.open(url), await Client.open(url)];
    await one.reset(fixed);
    await two.reset({ set: "bench-3", index: 400 });
    expect((await two.step({ message: gold })).data.reward).toBe(0);
    expect((await one.step({ message: gold })).data.reward).toBe(1);
    const sent = Array.from({ length: 50 }, (_, index) => ({ type: "reset", data: { set: "bench-3", index } }));
    for (const message of sent) one.socket.send(JSON.stringify(message));
    for (const { data } of sent) expect((await one.next()).data.observation.metadata.instance).toBe(`bench-3:${data.index}`);
    await one.end();
    await two.end();
  });

  test("a full server says CAPACITY_REACHED and closes; a freed place is given away", async () => {
    const { url: small, part } = await serve({ limits: { sessions: 2 } });
    const kept = [await Client.open(small), await Client.open(small)];
    const refused = await Client.open(small);
    expect((await refused.next()).data).toMatchObject({ code: "CAPACITY_REACHED", active_sessions: 2, max_sessions: 2 });
    expect(await refused.closed).toBe(1013);
    kept[0]!.socket.send(JSON.stringify({ type: "close" }));
    expect(await kept[0]!.closed).toBe(1000);
    await until(() => part.activeSessions() === 1);
    const next = await Client.open(small);
    expect((await next.reset(fixed)).type).toBe("observation");
    expect(await (await fetch(`${small}/sessions`)).json()).toEqual({ active_sessions: 2, max_sessions: 2 });
  });

  test("an idle session is told and closed, one that speaks stays", async () => {
    let time = 0;
    const { url: lazy, part } = await serve({ limits: { idle: 40 }, now: () => time });
    const [idle, busy] = [await Client.open(lazy), await Client.open(lazy)];
    await busy.ask({ type: "state" });
    time = 30;
    await busy.ask({ type: "state" });
    time = 50;
    expect((await idle.next()).data).toMatchObject({ code: "SESSION_ERROR", message: expect.stringContaining("idle") });
    expect(await idle.closed).toBe(1001);
    expect(part.activeSessions()).toBe(1);
    expect((await busy.ask({ type: "state" })).type).toBe("state");
  });

  test("a half-open connection, which answers no ping, is cut long before it counts as idle", async () => {
    const { url: wary, part } = await serve({ limits: { heartbeat: 250 } });
    const socket = await silentWebSocket(Number(new URL(wary).port));
    await until(() => part.activeSessions() === 1);
    const listening = await Client.open(wary);
    await new Promise((resolve) => socket.once("close", resolve));
    await until(() => part.activeSessions() === 1);
    expect((await listening.ask({ type: "state" })).type).toBe("state");
  });

  test("a message over the limit closes its connection alone", async () => {
    const { url: narrow } = await serve({ limits: { maxMessage: 2000 } });
    const [large, other] = [await Client.open(narrow), await Client.open(narrow)];
    large.socket.send(JSON.stringify({ type: "step", data: { message: "x".repeat(3000) } }));
    expect(await large.closed).toBe(1009);
    expect((await other.ask({ type: "state" })).type).toBe("state");
  });

  test("closing the server says goodbye to open sessions and ends at once", async () => {
    const { url: ending, host } = await serve();
    const client = await Client.open(ending);
    const reply = client.reset(fixed);
    await reply;
    const started = performance.now();
    await host.close();
    opened.splice(opened.indexOf(host), 1);
    expect(await client.closed).toBe(1001);
    expect(performance.now() - started).toBeLessThan(3000);
    await expect(Client.open(ending)).rejects.toThrow();
  });

  test("the token is asked of sessions too; pages of other sites and other paths get none", async () => {
    const { url: locked } = await serve({}, "s3cret");
    await expect(Client.open(locked)).rejects.toThrow("401");
    const client = await Client.open(locked, { headers: { authorization: "Bearer s3cret" } });
    expect((await client.ask({ type: "state" })).type).toBe("state");
    await expect(Client.open(url, { origin: "http://evil.example" })).rejects.toThrow("403");
    const same = await Client.open(url, { origin: url });
    await same.end();
    await expect(Client.open(`${url}/other`)).rejects.toThrow("404");
  });
});

test("a client's board whose recorded optimum is beaten earns an error and no reward", async () => {
  const optimum = { ...board.optimum, makespan: board.optimum.makespan + 5 };
  const client = await Client.open(url);
  await client.reset({ instance: { ...board, optimum } });
  const reply = await client.step({ message: gold });
  expect(reply).toMatchObject({ type: "error", data: { code: "VALIDATION_ERROR" } });
  expect(reply.data.message).toContain(`below the recorded optimum ${optimum.makespan}`);
  await client.reset({ instance: board });
  expect((await client.step({ message: gold })).data.reward).toBe(1);
  await client.end();
});

describe("over HTTP", () => {
  const post = async (path: string, body: unknown) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(`${url}${path}`, { method: "POST", body: text, headers: { "content-type": "application/json" } });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const get = async (path: string) => (await (await fetch(`${url}${path}`)).json()) as Record<string, Record<string, unknown>>;

  test("reset and step are stateless: a step names its board again", async () => {
    const reset = await post("/reset", fixed);
    expect(reset).toMatchObject({ status: 200, body: { done: false, reward: null } });
    expect(await post("/step", { action: { message: gold }, reset: fixed })).toMatchObject({
      status: 200,
      body: { done: true, reward: 1 },
    });
    expect(await post("/step", { action: { message: gold } })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["body", "reset"] }] },
    });
    expect((await post("/reset", "{")).status).toBe(422);
    expect((await post("/reset", { index: 3 })).status).toBe(422);
    expect(await get("/state")).toMatchObject({ episode_id: null, step_count: 0 });
  });

  test("metadata, schemas and the OpenAPI document say what the validators ask for", async () => {
    expect(await get("/metadata")).toMatchObject({ name: "mapf-frozenlake", version: "1.2.3" });
    const { action, observation, state } = await get("/schema");
    expect(action).toMatchObject({ type: "object", required: ["message"] });
    expect(Object.keys(action!.properties as object)).toEqual(Object.keys(actionSchema.shape));
    expect(observation!.required).toContain("prompt");
    expect(state!.required).toContain("step_count");
    const api = await get("/openapi.json");
    expect(api.info!.version).toMatch(/^1\./);
    expect(Object.keys(api.paths!)).toEqual(expect.arrayContaining(["/reset", "/step", "/state"]));
    expect(await get("/health")).toMatchObject({ status: "healthy" });
  });

  test("MCP: tools are listed and called by the same handlers, over HTTP and within a session", async () => {
    const rpc = (method: string, params: object = {}) => post("/mcp", { jsonrpc: "2.0", id: 1, method, params });
    expect((await rpc("initialize")).body).toMatchObject({ jsonrpc: "2.0", id: 1, result: { capabilities: { tools: {} } } });
    const { tools } = (await rpc("tools/list")).body.result as { tools: { name: string; inputSchema: object }[] };
    expect(tools.map(({ name }) => name)).toEqual(["new_board", "judge_plan"]);
    const judged = await rpc("tools/call", { name: "judge_plan", arguments: { board: fixed, answer: { message: gold } } });
    expect(judged.body).toMatchObject({ result: { isError: false, structuredContent: { reward: 1, done: true } } });
    expect((await rpc("tools/call", { name: "judge_plan", arguments: {} })).body).toMatchObject({ error: { code: -32602 } });
    expect((await rpc("tools/call", { name: "reset" })).body).toMatchObject({ error: { code: -32602 } });
    expect((await rpc("nothing")).body).toMatchObject({ error: { code: -32601 } });
    expect((await post("/mcp", {})).body).toMatchObject({ jsonrpc: "2.0", error: { code: -32600 } });
    expect((await post("/mcp", "{")).body).toMatchObject({ error: { code: -32700 } });
    const client = await Client.open(url);
    const reply = await client.ask({ type: "mcp", data: { jsonrpc: "2.0", id: "a", method: "tools/call", params: { name: "new_board", arguments: fixed } } }); // biome-ignore format: one call
    expect(reply).toMatchObject({
      type: "mcp",
      data: { id: "a", result: { structuredContent: { observation: { prompt: lake.prompt(board, "chat") } } } },
    });
    await client.end();
  });
});

test("a board that is not found in time is an error of that reset, and the next is served", async () => {
  const { url: hasty } = await serve({ limit: 0.001 });
  const client = await Client.open(hasty);
  expect((await client.reset({ seed: 1 })).data).toMatchObject({
    code: "EXECUTION_ERROR",
    message: expect.stringContaining("no board was found"),
  });
  expect((await client.reset(fixed)).type).toBe("observation");
  await client.end();
});

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("it did not come to pass");
}

/** A WebSocket by hand that never answers a ping. */
function silentWebSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const head = ["GET /ws HTTP/1.1", `Host: 127.0.0.1:${port}`, "Upgrade: websocket", "Connection: Upgrade"];
    const socket = connect(port, "127.0.0.1", () =>
      socket.write([...head, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", ""].join("\r\n")),
    );
    socket.once("data", () => resolve(socket));
    socket.on("error", reject);
    socket.resume();
  });
}

test("an upgrade of a target that is no URL is a 404, and the server goes on", async () => {
  for (const target of ["//", "http://[", "/\\", "http://a:99999/", "/wsx", "/ws/"]) {
    const answer = await new Promise<string>((resolve, reject) => {
      const raw = connect(Number(new URL(url).port), "127.0.0.1");
      raw.on("error", reject).once("data", (bytes) => {
        raw.destroy();
        resolve(String(bytes).split("\r\n", 1)[0]!);
      });
      raw.write(`GET ${target} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    });
    expect([target, answer]).toEqual([target, expect.stringMatching(/^HTTP\/1\.1 40[04] /)]);
  }
  expect((await fetch(`${url}/health`)).status).toBe(200);
});
