/**
 * The OpenEnv server of MAPF-FrozenLake as a served part: episodes over the WebSocket /ws (see sessions.ts), and over HTTP the stateless half:
 * /reset, /step, /state, /metadata, /schema, /openapi.json, /sessions and POST /mcp; /health is the host's. HTTP keeps nothing between
 * requests, so a step there names its board again. WebSockets of
 * other sites' pages are refused.
 */
import { type Context, Hono } from "hono";
import { mapfFrozenLake as lake } from "../../environments/mapf-frozenlake/index.js";
import type { ServedPart } from "../host.js";
import { Boards, type BoardsOptions } from "./boards.js";
import { type Environment, InvalidDataError, LakeEnvironment, validated } from "./environment.js";
import { failure, ToolFace } from "./mcp.js";
import { described } from "./messages.js";
import { openApi } from "./openapi.js";
import { actionJsonSchema, jsonSchemaOf, observationSchema, stateSchema, stepRequestSchema } from "./schema.js";
import { DEFAULT_LIMITS, type SessionLimits, Sessions } from "./sessions.js";

export interface OpenEnvOptions extends BoardsOptions {
  /** Of the package. */
  version: string;
  limits?: Partial<SessionLimits>;
  /** Milliseconds of a clock that does not jump. */
  now?: () => number;
  /** Makes the environment of a session. */
  newEnvironment?: (boards: Boards) => Environment;
}

export interface OpenEnvPart extends ServedPart {
  activeSessions(): number;
}

export function openEnvPart({ version, limits, now, newEnvironment, ...boardsOptions }: OpenEnvOptions): OpenEnvPart {
  const boards = new Boards(boardsOptions);
  const make = () => newEnvironment?.(boards) ?? new LakeEnvironment(boards);
  const tools = new ToolFace(make, version);
  const sessions = new Sessions(make, tools, { ...DEFAULT_LIMITS, ...limits }, now ?? (() => performance.now()));
  const routes = new Hono();

  routes.post("/reset", (c) => replied(c, async (body) => make().reset(body ?? {})));
  routes.post("/step", (c) =>
    replied(c, async (body) => {
      const { action, reset } = validated(stepRequestSchema, body);
      const environment = make();
      await environment.reset(reset);
      return environment.step(action);
    }),
  );
  routes.get("/state", (c) => c.json(make().state()));
  routes.get("/metadata", (c) => c.json({ name: lake.name, description: lake.description, version, author: "Envwright" }));
  routes.get("/schema", (c) =>
    c.json({ action: actionJsonSchema(), observation: jsonSchemaOf(observationSchema), state: jsonSchemaOf(stateSchema) }),
  );
  routes.get("/openapi.json", (c) => c.json(openApi(lake.description)));
  routes.get("/sessions", (c) => c.json({ active_sessions: sessions.active, max_sessions: sessions.limits.sessions }));
  routes.post("/mcp", async (c) => {
    const body = parsedBody(await c.req.text());
    if (body === undefined) return c.json(failure(null, -32700, "the body is not JSON"));
    const reply = await tools.answer(body);
    return reply === undefined ? c.body(null, 202) : c.json(reply);
  });

  return {
    name: "openenv",
    routes,
    upgrade(request, socket, head) {
      // As text: what a client sends need not be a URL.
      if (request.url?.split("?", 1)[0] !== "/ws") return false;
      const { origin, host } = request.headers;
      if (origin !== undefined && hostOf(origin) !== host) socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
      else sessions.accept(request, socket, head);
      return true;
    },
    drain: () => sessions.close(),
    async close() {
      await sessions.close();
      await boards.close();
    },
    activeSessions: () => sessions.active,
  };
}

/** A result, or what was wrong: 422 for the data, 500 for the rest, in FastAPI's form as OpenEnv's own servers answer. */
async function replied(c: Context, work: (body: unknown) => Promise<unknown>): Promise<Response> {
  try {
    const text = await c.req.text();
    const body = text === "" ? undefined : parsedBody(text);
    if (text !== "" && body === undefined) throw new InvalidDataError("the body is not JSON", [{ path: "", message: "not JSON" }]);
    return c.json((await work(body)) as object);
  } catch (error) {
    const [code, message] = described(error);
    const issues = error instanceof InvalidDataError ? error.issues : [{ path: "", message }];
    const detail = issues.map((issue) => ({ loc: ["body", ...issue.path.split(".").filter(Boolean)], msg: issue.message, type: code }));
    return c.json({ detail }, code === "VALIDATION_ERROR" ? 422 : 500);
  }
}

function parsedBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
