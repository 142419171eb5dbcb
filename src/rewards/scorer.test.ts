import { describe, expect, it } from "vitest";
import { type EnvironmentFamily, rewardOptionsSchema, type Verdict } from "../core/index.js";
import { FamilyScorer } from "./scorer.js";

const family = {
  verify: (instance: { id: string }, text: string): Verdict => {
    const ok = text === "good" || text === "dear";
    return {
      instance: instance.id,
      ok,
      code: ok ? "valid" : "hole",
      reason: "",
      counts: {},
      optima: { steps: 4 },
      optimal: { steps: text === "good" },
      ...(ok ? { costs: { steps: text === "good" ? 4 : 6 } } : {}),
    };
  },
} as unknown as EnvironmentFamily<unknown, { id: string; hash: string }>;

const scorer = () =>
  new FamilyScorer(family, {
    objective: "steps",
    rendering: "compact",
    scale: "none",
    reward: rewardOptionsSchema.parse({ weight_start: 0.5, weight_end: 1, ema_decay: 0.5, length_min: 0, length_max: 10 }),
  });
const said = (text: string, tokens = 10) => ({ text, tokens, finishReason: "stop" as const });

describe("the scorer", () => {
  it("scores a group against its own mean", () => {
    const { completions, zeroVariance } = scorer().scoreGroup({ id: "a", hash: "h" }, [said("good"), said("bad")]);
    expect(zeroVariance).toBe(false);
    expect(completions.map((c) => c.reward.total)).toEqual([0.5, 0]);
    expect(completions.map((c) => c.advantage)).toEqual([0.25, -0.25]);
  });

  it("moves its accuracy weight with the valid rate and carries it over a save and load", () => {
    const first = scorer();
    first.update(1);
    first.update(0.5);
    expect(first.state()).toEqual({ ema_valid: 0.5 });
    const second = scorer();
    second.load(first.state());
    expect(second.scoreGroup({ id: "a", hash: "h" }, [said("good")]).completions[0]!.reward.weight).toBeCloseTo(0.75, 12);
  });
});
