/** The embedded trainer on a task small enough to be learned in seconds: say one word. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  DivergenceError,
  type GrpoOptions,
  grpoOptionsSchema,
  InterruptedError,
  type Metrics,
  type Rollout,
  type Scorer,
  Seed,
} from "../../core/index.js";
import { Engine, initialParameters, qwen3ConfigSchema, readCheckpoint, Tokenizer, writeCheckpoint } from "../../nn/index.js";
import { EmbeddedTrainer } from "./grpo.js";
import { readTrainerState } from "./trainer-state.js";

const WORDS = ["<ask>", "<yes>", "<no>", "<maybe>", "<never>"];
const tokenizer = Tokenizer.create(WORDS);
const config = qwen3ConfigSchema.parse({
  vocab_size: tokenizer.size,
  hidden_size: 16,
  intermediate_size: 16,
  num_hidden_layers: 1,
  num_attention_heads: 1,
  num_key_value_heads: 1,
  head_dim: 16,
  max_position_embeddings: 32,
});

/** 1 for an answer that begins with <yes>, else 0; advantages centred on the group. */
function scorer(): Scorer<{ id: string; hash: string }> {
  let ema = 0;
  return {
    scoreGroup(instance, completions) {
      const rewards = completions.map((c) => (c.text.startsWith("<yes>") ? 1 : 0));
      const mean = rewards.reduce<number>((a, b) => a + b, 0) / rewards.length;
      const zeroVariance = rewards.every((r) => r === rewards[0]);
      return {
        zeroVariance,
        completions: rewards.map((r) => ({
          verdict: {
            instance: instance.id,
            ok: r === 1,
            code: r === 1 ? "valid" : "no",
            reason: "",
            counts: {},
            optima: {},
            optimal: { cost: r === 1 },
          },
          reward: { total: r, accuracy: r, length: 0, weight: 1 },
          advantage: zeroVariance ? 0 : r - mean,
        })),
      };
    },
    update: (rate) => {
      ema = 0.5 * ema + 0.5 * rate;
    },
    state: () => ({ ema_valid: ema }),
    load: (state) => {
      ema = state.ema_valid;
    },
  };
}

const scratch = mkdtempSync(join(tmpdir(), "envwright-grpo-"));
const base = join(scratch, "base");
let engine: Engine;

beforeAll(async () => {
  await writeCheckpoint(base, { config, tokenizer, parameters: initialParameters(config, Seed.root("grpo-test")) });
  engine = await Engine.start({ config, workers: 1 });
});
afterAll(async () => {
  await engine.close();
  rmSync(scratch, { recursive: true, force: true });
});

interface Trained {
  metrics: Metrics[];
  rollouts: Rollout[];
}

async function train(to: string, changes: Partial<GrpoOptions>, from = base, stage = 0, signal?: AbortSignal): Promise<Trained> {
  const grpo = { ...grpoOptionsSchema.parse({ steps: 12, prompts: 4, group: 16, updates: 1, max_tokens: 2, replay_every: 0 }), ...changes };
  const trainer = new EmbeddedTrainer(engine, { grpo, objective: "cost" });
  const metrics: Metrics[] = [];
  const rollouts: Rollout[] = [];
  await trainer.trainStage({
    stage,
    seed: Seed.root("train").child(stage),
    instances: Array.from({ length: 8 }, (_, i) => ({ id: String(i), hash: String(i) })),
    prompt: () => "<ask>",
    stratum: () => "1",
    scorer: scorer(),
    from,
    to,
    onStep: (m) => metrics.push(m),
    onRollouts: (groups) => {
      rollouts.push(...groups.flat());
    },
    ...(signal === undefined ? {} : { signal }),
  });
  return { metrics, rollouts };
}

const optimiser = { ...grpoOptionsSchema.parse({}).optimiser, lr: 0.03, warmup: 0 };

describe("GRPO on the embedded engine", () => {
  it("learns to say the rewarded word, from one chance in hundreds to nearly always", async () => {
    const { metrics, rollouts } = await train(join(scratch, "learned"), { optimiser, steps: 40 });
    expect(metrics[0]!.reward).toBeLessThan(0.2);
    expect(metrics.at(-1)!.reward).toBeGreaterThan(0.9);
    expect(rollouts).toHaveLength(40 * 64);
    expect(new Set(rollouts.map((r) => r.id)).size).toBe(40 * 64);
    // On the first optimiser step of a batch sampler and training graph agree.
    const worst = Math.max(...metrics.map((m) => m.sampling_logp_difference ?? 0));
    expect(worst).toBeLessThan(1e-4);
  });

  it("makes no step, and moves nothing, on a batch whose groups are all without variance", async () => {
    const to = join(scratch, "flat");
    const { metrics } = await train(to, { optimiser, steps: 1, prompts: 1, group: 2, max_tokens: 1 });
    expect(metrics[0]!.frac_reward_zero_std).toBe(1);
    expect([...(await readCheckpoint(to)).parameters]).toEqual([...(await readCheckpoint(base)).parameters]);
  });

  it("goes on from a saved stage: step count, reward weights and optimiser moments come from the checkpoint", async () => {
    const first = join(scratch, "first");
    await train(first, { optimiser, steps: 5 });
    const { metrics } = await train(join(scratch, "second"), { optimiser, steps: 2 }, first, 1);
    expect(metrics.map((m) => m.step)).toEqual([5, 6]);
    const saved = await readTrainerState(first);
    expect(saved!.globalStep).toBe(5);
    const again = join(scratch, "again");
    await train(again, { optimiser, steps: 2 }, first, 1);
    expect((await readCheckpoint(again)).parameters).toEqual((await readCheckpoint(join(scratch, "second"))).parameters);
  });

  it("holds the policy to its start when the KL term is heavy", async () => {
    const free = await train(join(scratch, "free"), { optimiser, steps: 25 });
    const held = await train(join(scratch, "held"), { optimiser, steps: 25, kl: 50, zero_variance: "keep" });
    // At the stage's first step policy and reference are the same; later they never stray far.
    expect(held.metrics[0]!.kl).toBeCloseTo(0, 5);
    expect(Math.max(...held.metrics.map((m) => m.kl!))).toBeLessThan(0.5);
    expect(held.metrics.at(-1)!.reward!).toBeLessThan(free.metrics.at(-1)!.reward! - 0.3);
  });

  it("reports divergence as such and writes no checkpoint", async () => {
    const to = join(scratch, "diverged");
    const wild = { ...optimiser, lr: 1e30, max_grad_norm: 1e30 };
    await expect(train(to, { optimiser: wild, steps: 20 })).rejects.toThrow(DivergenceError);
    expect(existsSync(to)).toBe(false);
  });

  it("ends at the first step by which the token budget is sampled, with the bytes of a stage of so many steps", async () => {
    const whole = await train(join(scratch, "whole"), { optimiser, steps: 6 });
    const sampled = (rollouts: Rollout[], steps: number) => rollouts.filter((r) => r.step < steps).reduce((sum, r) => sum + r.tokens, 0);
    const budget = sampled(whole.rollouts, 2) + 1;
    const cut = await train(join(scratch, "budget"), { optimiser, steps: 6, tokens: budget });
    expect(cut.metrics.map((m) => m.step)).toEqual([0, 1, 2]);
    expect(sampled(cut.rollouts, 6)).toBeGreaterThanOrEqual(budget);
    await train(join(scratch, "three"), { optimiser, steps: 3 });
    expect((await readCheckpoint(join(scratch, "budget"))).parameters).toEqual((await readCheckpoint(join(scratch, "three"))).parameters);
  });

  it("stops between two steps when it is interrupted", async () => {
    const controller = new AbortController();
    controller.abort();
    const to = join(scratch, "interrupted");
    await expect(train(to, {}, base, 0, controller.signal)).rejects.toThrow(InterruptedError);
    expect(existsSync(to)).toBe(false);
  });
});
