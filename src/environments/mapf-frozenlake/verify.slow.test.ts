import { describe, expect, it } from "vitest";
import { fuzzedAnswer } from "./testing/fuzzed-answers.js";
import { naiveVerify } from "./testing/naive-verify.js";
import { verify } from "./verify.js";

describe("differential", () => {
  it("agrees with a second verifier written from the rules' text on a million fuzzed answers", () => {
    const seen = new Map<string, number>();
    for (let i = 0; i < 1_000_000; i++) {
      const { instance, completion, finish, rendering } = fuzzedAnswer("verify/slow", i);
      const ours = verify(instance, completion, finish, rendering);
      const theirs = naiveVerify(instance, completion, finish, rendering);
      const agree =
        ours.code === theirs.code &&
        ours.at?.step === theirs.step &&
        String(ours.at?.agents) === String(theirs.agents) &&
        ours.costs?.sum_of_costs === theirs.sum_of_costs &&
        ours.costs?.makespan === theirs.makespan &&
        Object.keys(ours.counts).length === Object.keys(theirs.counts).length &&
        Object.entries(ours.counts).every(([rule, times]) => theirs.counts[rule] === times);
      if (!agree) expect({ i, completion, ours }).toEqual({ i, completion, ours: theirs });
      seen.set(ours.code, (seen.get(ours.code) ?? 0) + 1);
    }
    for (const code of ["valid", "parse-error", "truncated", "illegal-move", "hole", "vertex-conflict", "swap-conflict", "goal-missed"])
      expect(seen.get(code) ?? 0, code).toBeGreaterThan(5_000);
  });
});
