/** The conformance suite: what every engineer has to hold, whoever answers. */
import { describe, expect, it } from "vitest";
import {
  type Completion,
  type CompletionRequest,
  engineerOptionsSchema,
  type Policy,
  type Proposal,
  proposalSchema,
  Seed,
} from "../core/index.js";
import type { EngineerContext } from "./context.js";
import type { Engineer } from "./engineer.js";
import { type HumanDesk, withHumanStatus } from "./human-engineer.js";
import { proposeNext } from "./propose.js";
import { createEngineer, ENGINEERS, isModelEngineer } from "./registry.js";
import { ruleEngineer } from "./rule-engineer.js";
import { cell, deliveryContext, failuresOf } from "./test-context.js";
import { deliveryConfig, deliveryFamily as family } from "./test-family.js";
import { variantNamed } from "./variants.js";

const variant = variantNamed("V6");
const options = engineerOptionsSchema.parse({});
const seed = Seed.root("conformance");
const propose = (engineer: Engineer, context = deliveryContext(), more: Partial<Parameters<typeof proposeNext>[0]> = {}) =>
  proposeNext({ engineer, context, variant, family, options, seed, ...more });

/** A policy that says what it is told to, request by request, and remembers what it was asked. */
function scripted(rendering: Policy["rendering"], answer: (request: CompletionRequest, n: number) => string | Completion) {
  const asked: CompletionRequest[] = [];
  const policy: Policy = {
    name: "scripted",
    rendering,
    async complete(requests) {
      return requests.map((request) => {
        asked.push(request);
        const text = answer(request, asked.length);
        return typeof text === "string" ? { text, tokens: 7, finishReason: "stop" as const } : text;
      });
    },
    async close() {},
  };
  return { policy, asked };
}

const table = {
  "2": { load: 0.2, fog: 0.1, traffic: 0.1 },
  "4": { load: 0.5, fog: 0.2, traffic: 0.2 },
  "8": { load: 0.3, fog: 0.9, traffic: 0.5 },
};
const chatAnswer = JSON.stringify({ rationale: "because", config: table });
/** The first word allowed at each position but the shares, which are all as large as can be. */
const compactAnswer = (request: CompletionRequest) => request.words!.map((words, i) => (i % 4 === 1 ? words.at(-1) : words[0])).join("");

const earlier: Proposal = proposalSchema.parse({
  schema_version: 1,
  stage: 2,
  engineer: "self",
  variant: "V6",
  rendering: "chat",
  attempts: [],
  rationale: "as before",
  outcome: "accepted",
  reasons: [],
  repairs: [],
  guardrails: [],
  config: family.withKnobs(deliveryConfig(), table),
  provenance: { source: "proposal" },
});

function create(name: string, rendering: Policy["rendering"] = "chat"): Engineer {
  const { policy } = scripted(rendering, (request) => (rendering === "chat" ? chatAnswer : compactAnswer(request)));
  const desk: HumanDesk = { ask: async ({ text }) => withHumanStatus(text, "approved") };
  return createEngineer(name, { proposals: [earlier], desk, ...(isModelEngineer(name) ? { policy } : {}) });
}

const cases = ENGINEERS.flatMap((name) =>
  (isModelEngineer(name) ? (["chat", "compact"] as const) : (["none"] as const)).map((r) => [name, r] as const),
);

describe.each(cases)("the engineer %s (%s)", (name, rendering) => {
  const engineer = () => create(name, rendering === "compact" ? "compact" : "chat");

  it("proposes a config of the family that can be generated, over the same strata, with shares that sum to 1", async () => {
    const proposal = proposalSchema.parse(await propose(engineer()));
    expect(proposal).toMatchObject({ engineer: name, variant: "V6", stage: 2, rendering, outcome: "accepted" });
    const config = family.configSchema.parse(proposal.config);
    expect(family.strata(config)).toEqual(["2", "4", "8"]);
    expect(family.infeasible(config)).toEqual([]);
    const loads = Object.values(family.knobTable(config)).map((row) => row.load!);
    expect(loads.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 9);
    expect(proposal.provenance).toEqual({ source: "proposal", engineer: name, variant: "V6", from_stage: 2 });
  });

  it("proposes the same for the same context and seed, from a fresh start: it keeps no state", async () => {
    const reused = engineer();
    const context = deliveryContext();
    await propose(reused, { ...context, stage: 1, failures: context.history[1]!.failures, history: context.history.slice(0, 1) });
    expect((await propose(reused)).config).toEqual((await propose(engineer())).config);
  });

  it("leaves its request as it was", async () => {
    const context = deliveryContext();
    await propose(engineer(), context);
    expect(context).toEqual(deliveryContext());
  });

  it("holds when nothing was measured, nothing has success and everything has", async () => {
    for (const validation of [
      {},
      { "2": cell({ lost: 9 }), "4": cell({ lost: 9 }), "8": cell({ crash: 9 }) },
      { "2": cell({ valid: 9 }), "4": cell({ valid: 9 }), "8": cell({ valid: 9 }) },
    ]) {
      const config = deliveryConfig();
      const context: EngineerContext = { ...deliveryContext(), config, failures: failuresOf(2, config, validation, {}) };
      const proposal = await propose(engineer(), context);
      expect(proposal.outcome).toBe("accepted");
    }
  });
});

describe("engineers by what they do", () => {
  const loads = (proposal: Proposal) => Object.values(family.knobTable(family.configSchema.parse(proposal.config))).map((row) => row.load!);
  const fogs = (proposal: Proposal) => Object.values(family.knobTable(family.configSchema.parse(proposal.config))).map((row) => row.fog!);

  it("learnability gives shares proportional to p(1 - p) and moves nothing else", async () => {
    const proposal = await propose(create("learnability"));
    const weights = [57, 31, 3].map((k) => (k / 60) * (1 - k / 60));
    const sum = weights.reduce((a, b) => a + b, 0);
    loads(proposal).forEach((load, i) => {
      expect(load).toBeCloseTo(weights[i]! / sum, 9);
    });
    expect(fogs(proposal)).toEqual([0.3, 0.4567, 0.3]);
  });

  it("graded follows the rule where a quarter succeeds, and makes easier what hardly succeeds, whatever fails there", async () => {
    const context = deliveryContext();
    const [two, four, eight] = fogs(await propose(create("graded"), context));
    const rule = fogs(await propose(ruleEngineer(), context));
    // 57 and 31 of 60 succeed at distances 2 and 4, 3 of 60 at 8, where fog stood at 0.3.
    expect([two, four]).toEqual(rule.slice(0, 2));
    expect(eight).toBe(0);
    expect(loads(await propose(create("graded"), context))).toEqual(loads(await propose(ruleEngineer(), context)));
  });

  it("hardest puts all data where least succeeds", async () => {
    expect(loads(await propose(create("hardest")))).toEqual([0, 0, 1]);
  });

  it("bandit follows the gains of training, the newest most, and forgets none", async () => {
    const context = deliveryContext();
    const [, four, eight] = loads(await propose(create("bandit"), context));
    expect(four!).toBeGreaterThan(eight!);
    for (const stage of [...context.history, context]) {
      stage.failures.training.strata["8"] = { ...stage.failures.training.strata["8"]!, valid: 0.5, zero_variance: 0 };
    }
    const after = loads(await propose(create("bandit"), context));
    expect(after[2]).toBeGreaterThan(after[1]!);
    // Replayed by hand: gains 1, 1, 1 at α = 0.5 from 0 give 0.875.
    expect((await propose(create("bandit"), context)).rationale).toContain("8: 0.875");
  });

  it("bandit takes the mean absolute advantage where the trainer tells it", async () => {
    const context = deliveryContext();
    for (const stage of [...context.history, context]) {
      for (const [stratum, cell] of Object.entries(stage.failures.training.strata)) cell.mean_abs_advantage = stratum === "2" ? 0.8 : 0.2;
    }
    const proposal = await propose(create("bandit"), context);
    // Three stages at α = 0.5 from 0: 0.8 and 0.2 times 0.875; then exp(Q/0.3).
    expect(proposal.rationale).toContain("2: 0.700, 4: 0.175, 8: 0.175");
    expect(loads(proposal)[0]! / loads(proposal)[1]!).toBeCloseTo(Math.exp((0.7 - 0.175) / 0.3), 9);
  });

  it("bandit keeps the value of an arm that was not trained on", async () => {
    const context = deliveryContext();
    delete context.failures.training.strata["4"];
    const before = { ...context, stage: 1, failures: context.history[1]!.failures, history: context.history.slice(0, 1) };
    const value = (rationale: string) => /4: ([\d.]+)/.exec(rationale)![1];
    expect(value((await propose(create("bandit"), context)).rationale)).toBe(value((await propose(create("bandit"), before)).rationale));
  });

  it("sliding begins at the easiest stratum, moves up when it is mastered, and does not move back", async () => {
    const at = async (...rates: number[][]) => {
      const config = deliveryConfig();
      const stages = rates.map((r, stage) => {
        const cells = Object.fromEntries(
          ["2", "4", "8"].map((s, i) => [s, cell({ valid: Math.round(100 * r[i]!), lost: 100 - Math.round(100 * r[i]!) })]),
        );
        return { stage, config, initial: stage === 0, failures: failuresOf(stage, config, cells) };
      });
      const now = stages.at(-1)!;
      return loads(await propose(create("sliding"), { ...deliveryContext(), ...now, history: stages.slice(0, -1) }));
    };
    expect(await at([0.5, 0.1, 0])).toEqual([1, 0, 0]);
    expect(await at([0.95, 0.1, 0])).toEqual([0.5, 0.5, 0]);
    expect(await at([0.95, 0.1, 0], [0.6, 0.1, 0])).toEqual([0.5, 0.5, 0]);
    expect(await at([0.95, 0.1, 0], [0.6, 0.92, 0.3])).toEqual([1, 1, 1].map((x) => x / 3));
  });

  it("fixed returns to the first config at every stage, or to the given one", async () => {
    const context = deliveryContext();
    expect((await propose(create("fixed"))).config).toEqual(context.history[0]!.config);
    const control = createEngineer("fixed", { fixed: table });
    expect(family.knobTable(family.configSchema.parse((await propose(control)).config))).toEqual(table);
  });

  it("random differs from stage to stage and from attempt to attempt", async () => {
    const one = await propose(create("random"));
    const other = await propose(create("random"), deliveryContext(), { seed: Seed.root("conformance").child(1) });
    expect(one.config).not.toEqual(other.config);
  });

  it("replay gives the stored proposal of the stage, and keeps the config where the earlier run has none", async () => {
    expect((await propose(create("replay"))).config).toEqual(earlier.config);
    const missing = await propose(create("replay"), { ...deliveryContext(), stage: 4 });
    expect(missing.outcome).toBe("rejected");
    expect(missing.reasons[0]).toMatch(/no proposal after stage 4/);
    expect(missing.config).toEqual(deliveryContext().config);
  });

  it("are named in the error when one does not exist or lacks what it needs", () => {
    expect(() => createEngineer("lernability")).toThrow(/no engineer "lernability"/);
    expect(() => createEngineer("self")).toThrow(/needs a policy/);
    expect(() => createEngineer("replay")).toThrow(/needs the proposals/);
    expect(() => createEngineer("human")).toThrow(/needs a run that waits/);
    expect(() => createEngineer("constructor")).toThrow(/no engineer/);
  });
});

describe("proposing", () => {
  it("asks again with the reason, at most `attempts` times, then keeps the previous config", async () => {
    const { policy, asked } = scripted("chat", (_, n) => (n === 1 ? "no idea" : n === 2 ? '{"config": {"2": {"load": -1}}}' : "{}"));
    const proposal = await propose(createEngineer("self", { policy }));
    expect(proposal.outcome).toBe("rejected");
    expect(proposal.attempts.map((a) => a.error)).toEqual(proposal.reasons);
    expect(proposal.reasons).toEqual([
      expect.stringMatching(/no JSON/),
      expect.stringMatching(/negative/),
      expect.stringMatching(/"config"/),
    ]);
    expect(proposal.config).toEqual(deliveryContext().config);
    expect(proposal.provenance.source).toBe("previous");
    expect(asked).toHaveLength(3);
    expect(asked[0]!.prompt).not.toContain("Refused answers");
    expect(asked[2]!.prompt).toContain(`attempt 2: ${proposal.reasons[1]}`);
    expect(new Set(asked.map((a) => `${a.seed}#${a.index}`)).size).toBe(3);
  });

  it("accepts a later attempt and keeps the reasons of the earlier ones on record", async () => {
    const { policy } = scripted("chat", (_, n) => (n === 1 ? "{}" : chatAnswer));
    const proposal = await propose(createEngineer("self", { policy }));
    expect(proposal).toMatchObject({ outcome: "accepted", rationale: "because" });
    expect(proposal.attempts).toHaveLength(2);
    expect(proposal.reasons).toHaveLength(1);
  });

  it("refuses a config that cannot be generated and says which cell and what is nearest", async () => {
    const crowded = JSON.stringify({ config: { ...table, "2": { load: 0.2, fog: 0.1, traffic: 0.45 } } });
    const { policy, asked } = scripted("chat", () => crowded);
    const proposal = await propose(createEngineer("self", { policy }));
    expect(proposal.outcome).toBe("rejected");
    expect(proposal.reasons[0]).toMatch(/cannot be generated: distance 2: two streets hold no more cars \(nearest: traffic 0.36\)/);
    expect(asked[1]!.prompt).toContain("nearest: traffic 0.36");
  });

  it("lets a computing engineer give up the ratios of a stratum that cannot be generated", async () => {
    const context = deliveryContext();
    context.failures.validation["2"] = cell({ valid: 20, jam: 40 });
    context.config = family.withKnobs(family.configSchema.parse(context.config), { "2": { traffic: 0.3 } });
    const proposal = await propose(ruleEngineer(), context);
    expect(proposal.reasons[0]).toMatch(/two streets/);
    expect(proposal.outcome).toBe("accepted");
    expect(family.knobTable(family.configSchema.parse(proposal.config))["2"]!.traffic).toBe(0.3);
  });

  it("records repairs and calls the outcome repaired", async () => {
    const { policy } = scripted("chat", () => JSON.stringify({ config: { ...table, "8": { load: 1.3, fog: 5 } } }));
    const proposal = await propose(createEngineer("self", { policy }));
    expect(proposal.outcome).toBe("repaired");
    expect(proposal.repairs.map((r) => r.path)).toEqual(["8.fog", "8.traffic", "load"]);
  });

  it("records an outside failure and goes on", async () => {
    const policy: Policy = {
      ...scripted("chat", () => "").policy,
      complete: async () => [{ failure: { boundary: "endpoint", message: "timed out", attempts: 5 } }],
    };
    const proposal = await propose(createEngineer("llm", { policy }));
    expect(proposal).toMatchObject({ outcome: "rejected", reasons: Array(3).fill("endpoint: timed out (after 5 attempts)") });
  });

  it("asks a compact policy within its grammar, greedily first and sampling afterwards", async () => {
    const { policy, asked } = scripted("compact", (request, n) => (n < 3 ? "<level:1>" : compactAnswer(request)));
    const proposal = await propose(createEngineer("self", { policy }));
    expect(proposal).toMatchObject({ outcome: "accepted", rendering: "compact" });
    expect(asked.map((a) => a.temperature)).toEqual([0, 0.7, 0.7]);
    expect(asked[0]!.maxTokens).toBe(13);
    expect(asked[0]!.prompt.endsWith("<propose>")).toBe(true);
  });

  it("hands an endpoint the JSON Schema of the answer, which its worked example satisfies", async () => {
    const { policy, asked } = scripted("chat", (request) => / {4}(\{"rationale":"Why.*\})$/m.exec(request.prompt)![1]!);
    expect((await propose(createEngineer("llm", { policy }))).outcome).toBe("accepted");
    expect(asked[0]!.jsonSchema).toMatchObject({ required: ["rationale", "config"], additionalProperties: false });
  });

  it("lets a mistake in the program through", async () => {
    const broken: Engineer = { name: "broken", propose: async () => Promise.reject(new TypeError("undefined is not a function")) };
    await expect(propose(broken)).rejects.toThrow(TypeError);
  });
});
