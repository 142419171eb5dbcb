/**
 * The dashboard's HTTP interface: a read-only JSON API over run folders, the event stream, the page's files; actions where they are allowed.
 * Computes nothing of its own: each route is a question to one of the modules beside this one.
 *
 *     GET  /api/meta  /api/runs  /api/runs/:run  /api/runs/:run/events  /api/runs/:run/stages/:stage
 *     GET  /api/runs/:run/tables  /api/runs/:run/sql?sql
 *     GET  /api/runs/:run/rollouts?…  /api/runs/:run/rollout?set&stage&id  /api/runs/:run/picture?…  /api/compare?runs=a,b  /api/benchmarks?against  /api/experiments
 *     POST /api/runs/:run/stages/:stage/propose  /api/runs/:run/stages/:stage/answer          (--allow-actions)
 */
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { streamSSE } from "hono/streaming";
import { z } from "zod";
import { EnvwrightError, InputError, parseWith } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { versions } from "../../store/index.js";
import type { ApiProblem, Meta, ReproposeAnswer } from "../records.js";
import { comparison, experiments } from "./comparisons.js";
import { Evaluations } from "./evaluations.js";
import { followEvents } from "./event-tail.js";
import { guard } from "./guard.js";
import { answerAsHuman, humanAnswerSchema } from "./human.js";
import { RolloutQueries } from "./kept-tables.js";
import { pageFile } from "./page-files.js";
import { rolloutDetail, rolloutPicture } from "./rollout-detail.js";
import { queryRollouts, rolloutFilterSchema } from "./rollout-query.js";
import { ServedRoot } from "./root.js";
import { isRunning, isWaiting } from "./run-state.js";
import { RunShelf } from "./runs.js";
import { BusyError, SqlQuestions, sqlQuerySchema } from "./sql-questions.js";
import { stageDetail } from "./stages.js";

/** What the page can ask for beyond reading; the command line hands it in. */
export interface Actions {
  /** Asks an engineer about a stored stage again; writes nothing. */
  propose(request: ProposeRequest & { run: string; stage: number }, signal: AbortSignal): Promise<Omit<ReproposeAnswer, "knobs">>;
}

export const proposeRequestSchema = z.strictObject({
  engineer: z.string().max(40).optional(),
  variant: z.string().max(40).optional(),
  /** A policy as for `envwright propose --model`, for the engineer `llm`. */
  model: z.string().min(1).max(400).optional(),
  samples: z.int().min(1).max(5).default(1),
});
export type ProposeRequest = z.infer<typeof proposeRequestSchema>;

export interface AppOptions {
  runs: string;
  /** `runs` is one run, which may not exist yet: nothing beside it is served. */
  isRun?: boolean;
  host: string;
  /** Absent: read-only. */
  actions?: Actions;
  /** Aborted when the server closes: open streams end. */
  signal: AbortSignal;
  /** Folder of the built page; the package's own unless given. */
  pageDir?: string;
}

/** Of a POST, in bytes; what is larger is not read to its end. */
const LARGEST_BODY = 64 * 1024;
const rolloutQuery = z.strictObject({
  set: z.enum(["training", "validation"]),
  stage: z.coerce.number().int().nonnegative().max(9999),
  id: z.string().max(200),
});
const stageNumber = z.coerce.number().int().nonnegative().max(9999);

export interface App {
  app: Hono;
  /** Best effort, before anybody asks. */
  warm(): Promise<void>;
  close(): Promise<void>;
}

export function createApp(options: AppOptions): App {
  const { host, actions, signal } = options;
  // Looked at anew by each request until it exists: the first run may make it.
  const shelf = new RunShelf(ServedRoot.at(options.runs, options.isRun));
  const { root } = shelf;
  const queries = new RolloutQueries();
  const questions = new SqlQuestions();
  const evaluations = new Evaluations(root);
  const app = new Hono();

  app.use("*", guard({ host, actions: actions !== undefined }));
  app.use("/api/*", async (c, next) => {
    c.header("Cache-Control", "no-store");
    await next();
  });
  app.use(
    "/api/*",
    bodyLimit({
      maxSize: LARGEST_BODY,
      onError: (c) => c.json({ error: "the request is too large", remedy: `send at most ${LARGEST_BODY} bytes` } satisfies ApiProblem, 413),
    }),
  );
  app.onError((error, c) => refuse(c, error));

  app.get("/api/meta", (c) =>
    c.json({ version: versions().envwright ?? "", root: root.shown, actions: actions !== undefined } satisfies Meta),
  );
  app.get("/api/runs", async (c) => c.json(await shelf.list()));
  app.get("/api/runs/:run", async (c) => c.json(await shelf.detail(c.req.param("run"))));

  app.get("/api/runs/:run/events", (c) => {
    const dir = root.folder("run", c.req.param("run"));
    const from = c.req.header("last-event-id") ?? c.req.query("from") ?? "0";
    const offset = parseWith(z.coerce.number().int().nonnegative(), from, "the offset in the event stream");
    const newest = async (): Promise<number | undefined> => (await shelf.open(c.req.param("run"))).history.stages.at(-1)?.index;
    return streamSSE(c, async (stream) => {
      let stage = await newest().catch(() => undefined);
      const refresh = setInterval(() => void newest().then((n) => { stage = n; }, () => {}), 1000); // biome-ignore format: one thought
      try {
        const state = (): string => (isRunning(dir) ? (isWaiting(dir, stage) ? "waiting" : "running") : "stopped");
        await followEvents(stream, { dir, offset, signal, state });
      } finally {
        clearInterval(refresh);
      }
    });
  });

  app.get("/api/runs/:run/stages/:stage", async (c) => {
    const detail = await stageDetail(shelf, c.req.param("run"), stageOf(c));
    return detail === undefined ? missing(c, `there is no stage ${c.req.param("stage")} in this run yet`) : c.json(detail);
  });

  app.get("/api/runs/:run/rollouts", async (c) => {
    const filter = parseWith(rolloutFilterSchema, c.req.query(), "filter");
    const { folder } = await shelf.open(c.req.param("run"));
    return c.json(await queryRollouts(queries, folder, filter));
  });

  app.get("/api/runs/:run/tables", async (c) => {
    const { folder } = await shelf.open(c.req.param("run"));
    return c.json(await questions.tables(folder, AbortSignal.any([signal, c.req.raw.signal])));
  });
  app.get("/api/runs/:run/sql", async (c) => {
    const { sql } = parseWith(sqlQuerySchema, c.req.query(), "query");
    const { folder } = await shelf.open(c.req.param("run"));
    return c.json(await questions.ask(folder, sql, AbortSignal.any([signal, c.req.raw.signal])));
  });

  app.get("/api/runs/:run/rollout", async (c) => {
    const { set, stage, id } = parseWith(rolloutQuery, c.req.query(), "rollout");
    const { folder } = await shelf.open(c.req.param("run"));
    const detail = await rolloutDetail(folder, c.req.param("run"), set, stage, id);
    return detail === undefined ? missing(c, `there is no rollout "${id}" in stage ${stage}`) : c.json(detail);
  });

  app.get("/api/runs/:run/picture", async (c) => {
    const query = rolloutQuery.extend({ plan: z.enum(["model", "optimum"]), format: z.enum(["svg", "gif"]) });
    const { set, stage, id, plan, format } = parseWith(query, c.req.query(), "picture");
    const { folder } = await shelf.open(c.req.param("run"));
    const picture = await rolloutPicture(folder, set, stage, id, plan, format);
    if (picture === undefined) return missing(c, "there is no plan to draw");
    return c.body(typeof picture === "string" ? picture : new Uint8Array(picture), 200, {
      "Content-Type": format === "svg" ? "image/svg+xml" : "image/gif",
      "Content-Disposition": `attachment; filename="${plan}-${id.replace(/[^\w-]+/g, "-")}.${format}"`,
    });
  });

  app.get("/api/compare", async (c) => {
    const ids = (c.req.query("runs") ?? "").split(",").filter((id) => id !== "");
    if (ids.length < 2 || ids.length > 12) {
      throw new InputError({
        message: `${ids.length} runs cannot be compared`,
        expected: "two to twelve runs",
        remedy: "tick runs in the list",
      });
    }
    return c.json(await comparison(shelf, ids));
  });
  app.get("/api/benchmarks", async (c) => c.json(await evaluations.benchmarks(c.req.query("against"))));
  app.get("/api/experiments", async (c) => c.json(await experiments(root)));

  app.post("/api/runs/:run/stages/:stage/propose", async (c) => {
    const request = parseWith(proposeRequestSchema, await bodyOf(c), "request");
    const stage = stageOf(c);
    const { dir, folder } = await shelf.open(c.req.param("run"));
    const family = familyByName(folder.record.recipe.family);
    const answer = await actions!.propose({ ...request, run: dir, stage }, AbortSignal.any([signal, c.req.raw.signal]));
    return c.json({ ...answer, knobs: answer.proposals.map((p) => family.knobTable(p.config)) } satisfies ReproposeAnswer);
  });

  app.post("/api/runs/:run/stages/:stage/answer", async (c) => {
    const answer = parseWith(humanAnswerSchema, await bodyOf(c), "answer");
    const { folder } = await shelf.open(c.req.param("run"));
    await answerAsHuman(folder, stageOf(c), answer);
    return c.json({ ok: true });
  });

  app.all("/api/*", (c) => missing(c, "there is no such question"));
  app.get("*", (c) => pageFile(c, options.pageDir));
  return {
    app,
    warm: () => shelf.warm().catch(() => {}),
    close: async () => void (await Promise.all([queries.close(), questions.close()])),
  };
}

function stageOf(c: Context): number {
  return parseWith(stageNumber, c.req.param("stage"), "stage");
}

async function bodyOf(c: Context): Promise<unknown> {
  const text = await c.req.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new InputError({ message: "the request is not JSON", expected: "a JSON object" });
  }
}

function missing(c: Context, error: string): Response {
  return c.json({ error, remedy: "go back to the list" } satisfies ApiProblem, 404);
}

function refuse(c: Context, error: unknown): Response {
  if (error instanceof InputError) {
    const status = /^there is no (run|evaluation|experiment)/.test(error.message) ? 404 : 400;
    return c.json({ error: error.message, remedy: error.remedy ?? error.expected ?? null } satisfies ApiProblem, status);
  }
  if (error instanceof BusyError) return c.json({ error: error.message, remedy: error.remedy ?? null } satisfies ApiProblem, 503);
  if (error instanceof EnvwrightError) return c.json({ error: error.message, remedy: error.remedy ?? null } satisfies ApiProblem, 500);
  return c.json({ error: String((error as Error).message).split("\n")[0]!, remedy: null } satisfies ApiProblem, 500);
}
