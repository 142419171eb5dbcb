/**
 * The reward service: POST /v1/score judges a batch with the loop's verifier and reward; GET /metrics is for Prometheus; /health is the
 * host's. What cannot be judged is an error, of the request or of its item, and never a score of zero.
 *
 * Without reward options, of the request or of the service, a score is the accuracy term alone.
 *
 * With `stepSize` the service moves the adaptive weight as the loop's scorer does: once per training step, that is, after that many
 * judged completions. Requests that carry `ema_valid` are judged under theirs and move nothing.
 *
 * A batch that is sent again with its Idempotency-Key, because its answer was lost, gets its first answer and is counted once.
 */
import { Hono } from "hono";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { JudgedCompletion } from "../../core/index.js";
import type { ServedPart } from "../host.js";
import type { JudgeDefaults } from "./judge.js";
import { JudgePool, OverloadedError } from "./judge-pool.js";
import type { JudgeReply } from "./judge-worker.js";
import { RepeatedBatches } from "./repeated-batches.js";

export interface RewardOptionsOfService extends JudgeDefaults {
  threads: number;
  /** Judged completions that make one training step; 0: the weight stays. */
  stepSize?: number;
  /** Moving average of the valid rate to begin with. */
  emaValid?: number;
  /** Called with every judged batch, in the order of the answers. */
  onScored?: (items: JudgedCompletion[]) => void;
}

/** Largest batch in bytes: 4,096 items of 16 KiB. */
export const MAX_REWARD_BODY = 64 * 1024 * 1024;

export interface RewardPart extends ServedPart {
  emaValid(): number;
}

export function rewardPart(options: RewardOptionsOfService): RewardPart {
  const { family, rendering, objective, reward, threads, stepSize = 0, onScored } = options;
  const pool = new JudgePool(threads, { family, rendering, objective, reward });
  const metrics = serviceMetrics(() => pool.waiting);
  const weight = new StepWeight(options.emaValid ?? 0, stepSize, reward?.ema_decay ?? 0.98);
  const routes = new Hono();
  const repeated = new RepeatedBatches<Pick<JudgeReply, "status" | "body">>(({ body }) => body.length);

  const judge = async (given: ArrayBuffer): Promise<Pick<JudgeReply, "status" | "body">> => {
    const { status, body, codes, scored } = await pool.judge(given, weight.emaValid, stepSize > 0 || onScored !== undefined);
    for (const [code, count] of Object.entries(codes)) metrics.items.inc({ code }, count);
    weight.add(scored);
    onScored?.(scored);
    return { status, body };
  };

  routes.post("/v1/score", async (c) => {
    const started = performance.now();
    const answer = (status: 200 | 400 | 500 | 503, body: string | Uint8Array<ArrayBuffer>) => {
      metrics.requests.inc({ status });
      metrics.seconds.observe((performance.now() - started) / 1000);
      return c.body(body, status, { "content-type": "application/json", ...(status === 503 ? { "retry-after": "1" } : {}) });
    };
    try {
      const given = await c.req.arrayBuffer();
      const key = c.req.header("idempotency-key");
      const { status, body } = await (key === undefined ? judge(given) : repeated.once(key, given, () => judge(given)));
      return answer(status, body);
    } catch (error) {
      const { message } = error as Error;
      return answer(error instanceof OverloadedError ? 503 : 500, JSON.stringify({ error: { message, type: "server_error" } }));
    }
  });

  routes.get("/metrics", async (c) => c.body(await metrics.registry.metrics(), 200, { "content-type": metrics.registry.contentType }));

  return { name: "reward", routes, maxBody: MAX_REWARD_BODY, close: () => pool.close(), emaValid: () => weight.emaValid };
}

/** The moving average behind the accuracy weight: as FamilyScorer moves it, once per `stepSize` completions. */
class StepWeight {
  private judged = 0;
  private valid = 0;

  constructor(
    public emaValid: number,
    private readonly stepSize: number,
    private readonly decay: number,
  ) {}

  add(items: readonly JudgedCompletion[]): void {
    if (this.stepSize === 0) return;
    for (const { verdict } of items) {
      this.judged++;
      if (verdict.ok) this.valid++;
      if (this.judged < this.stepSize) continue;
      this.emaValid = this.decay * this.emaValid + (1 - this.decay) * (this.valid / this.judged);
      this.judged = 0;
      this.valid = 0;
    }
  }
}

function serviceMetrics(waiting: () => number) {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({ name: "envwright_reward_requests_total", help: "Answered batches", labelNames: ["status"], registers });
  const items = new Counter({
    name: "envwright_reward_items_total",
    help: "Items by verdict code, or by error code where not judged",
    labelNames: ["code"],
    registers,
  });
  const seconds = new Histogram({
    name: "envwright_reward_request_seconds",
    help: "Time from a batch's arrival to its answer",
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    registers,
  });
  new Gauge({
    name: "envwright_reward_waiting_batches",
    help: "Batches that are being judged or wait for it",
    registers,
    collect() {
      this.set(waiting());
    },
  });
  return { registry, requests, items, seconds };
}
