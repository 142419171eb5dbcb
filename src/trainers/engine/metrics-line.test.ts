import { expect, test } from "vitest";
import { trlTrainerSchema, verlTrainerSchema } from "../../core/index.js";
import { TrlAdapter, VerlAdapter } from "../index.js";
import { parseMetricsLine } from "./metrics-line.js";

const grpo = { steps: 2, prompts: 4, group: 2, updates: 2, max_tokens: 24 };

test("Python's NaN and Infinity are read as null, text is left as it is, and what is no JSON throws", () => {
  expect(parseMetricsLine('{"a": NaN, "b": [Infinity,-Infinity, 1], "c": "is NaN, or"}')).toEqual({
    a: null,
    b: [null, null, 1],
    c: "is NaN, or",
  });
  expect(() => parseMetricsLine('{"a": ')).toThrow(SyntaxError);
});

test("a step of TRL or verl with a NaN keeps its other numbers", () => {
  const trl = new TrlAdapter(trlTrainerSchema.parse({ kind: "trl", grpo }), "compact");
  expect(trl.readMetrics('{"step": 4, "reward": 0.5, "grad_norm": NaN, "loss": 0.25}')).toEqual({
    step: 1,
    values: { reward: 0.5, loss: 0.25 },
  });
  const verl = new VerlAdapter(verlTrainerSchema.parse({ kind: "verl", grpo }), { family: "mapf-frozenlake", rendering: "compact" });
  expect(verl.readMetrics('{"step": 2, "data": {"critic/rewards/mean": 0.5, "actor/grad_norm": NaN}}')).toEqual({
    step: 1,
    values: { reward: 0.5 },
  });
});
