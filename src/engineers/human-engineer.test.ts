import { describe, expect, it } from "vitest";
import { engineerOptionsSchema, InterruptedError, type Proposal, Seed } from "../core/index.js";
import { type HumanQuestion, humanEngineer, humanStatus, readHumanAnswer, sameKnobs, withHumanStatus } from "./human-engineer.js";
import { proposeNext } from "./propose.js";
import { createEngineer } from "./registry.js";
import { deliveryContext } from "./test-context.js";
import { deliveryConfig, deliveryFamily as family } from "./test-family.js";
import { variantNamed } from "./variants.js";

const options = engineerOptionsSchema.parse({ attempts: 5 });
/** Answers the questions in turn, as a person at an editor would. */
async function answered(edits: ((text: string) => string)[], draft?: Proposal, context = deliveryContext()) {
  const asked: HumanQuestion[] = [];
  const ask = async (question: HumanQuestion) => {
    asked.push(question);
    return withHumanStatus(edits[asked.length - 1]!(question.text), "approved");
  };
  const engineer = humanEngineer({ ask }, draft);
  const proposal = await proposeNext({ engineer, context, variant: variantNamed("V6"), family, options, seed: Seed.root("human") });
  return { proposal, asked, table: family.knobTable(family.configSchema.parse(proposal.config)) };
}
const asIs = (text: string) => text;

describe("the engineer human", () => {
  it("shows the evidence and the current config, which is used when it is approved as it stands", async () => {
    const { proposal, asked, table } = await answered([asIs]);
    await expect(asked[0]!.text).toMatchFileSnapshot("fixtures/human.yaml");
    expect(proposal).toMatchObject({ engineer: "human", outcome: "accepted", repairs: [] });
    expect(sameKnobs(table, family.knobTable(family.configSchema.parse(deliveryContext().config)))).toBe(true);
    expect(proposal.attempts[0]!.raw).toContain("status: approved");
  });

  it("takes thirds, which have no end, as unchanged: nothing is repaired", async () => {
    const context = deliveryContext();
    const third = { load: 1 / 3 };
    context.config = family.withKnobs(deliveryConfig(), { "2": third, "4": third, "8": third });
    const { proposal } = await answered([asIs], undefined, context);
    expect(proposal).toMatchObject({ outcome: "accepted", repairs: [] });
  });

  it("takes what was edited, and the reason given", async () => {
    const { proposal, table } = await answered([
      (text) => text.replace('rationale: ""', "rationale: more fog").replace("fog: 0.4567", "fog: 0.9"),
    ]);
    expect(proposal.rationale).toBe("more fog");
    expect(table["4"]!.fog).toBe(0.9);
  });

  it("asks again with the reason when the answer cannot be used", async () => {
    const { proposal, asked } = await answered([
      (text) => text.replace("fog: 0.4567", "fgo: 0.9"),
      (text) => text.replace("config:", "confg:"),
      (text) => text.replace("traffic: 0.25", "traffic: lots"),
      asIs,
    ]);
    expect(asked.map((q) => q.refusal)).toEqual([
      undefined,
      expect.stringMatching(/unknown knob "fgo"/),
      expect.stringMatching(/unknown key "confg"/),
      expect.stringMatching(/traffic of distance 8 is a string/),
    ]);
    expect(proposal.outcome).toBe("accepted");
  });

  it("shows another engineer's proposal to be approved or edited, with what is now beside it", async () => {
    const draft = await proposeNext({
      engineer: createEngineer("hardest"),
      context: deliveryContext(),
      variant: variantNamed("V6"),
      family,
      options,
      seed: Seed.root("draft"),
    });
    const { asked, table } = await answered([asIs], draft);
    expect(asked[0]!.text).toMatch(/"8": \{ load: 1, .* # now \{ load: 0\.1/);
    expect(asked[0]!.text).toContain("Why, says hardest: All data at distance 8");
    expect(sameKnobs(table, family.knobTable(family.configSchema.parse(draft.config)))).toBe(true);
    const edited = await answered([(text) => text.replace("load: 1,", "load: 0.5,").replace("load: 0,", "load: 0.5,")], draft);
    expect(sameKnobs(edited.table, family.knobTable(family.configSchema.parse(draft.config)))).toBe(false);
  });

  it("lets an interruption through", async () => {
    const engineer = humanEngineer({ ask: () => Promise.reject(new InterruptedError({ message: "stopped" })) });
    const context = deliveryContext();
    const asked = proposeNext({ engineer, context, variant: variantNamed("V6"), family, options, seed: Seed.root("human") });
    await expect(asked).rejects.toThrow(InterruptedError);
  });
});

describe("the status of a file", () => {
  it("is on its last line, so a file that is cut off anywhere is never approved", () => {
    const text = "rationale: why\nconfig:\n  a: { load: 1, fog: 0.5 }\nstatus: approved\n";
    expect(humanStatus(text)).toBe("approved");
    for (let end = 0; end < text.length - 1; end++) expect(humanStatus(text.slice(0, end)), text.slice(0, end)).not.toBe("approved");
    expect(humanStatus('status: "approved"  # yes')).toBe("approved");
    expect(humanStatus("status: approved\nconfig: {}\n")).toBeUndefined();
    expect(humanStatus("config: {\nstatus: approved\n")).toBeUndefined();
    expect(humanStatus("status: maybe\n")).toBeUndefined();
  });

  it("is changed without touching the rest", () => {
    expect(withHumanStatus("# a\nconfig: {}\nstatus: waiting\n", "approved")).toBe("# a\nconfig: {}\nstatus: approved\n");
    expect(withHumanStatus("config: {}", "waiting")).toBe("config: {}\nstatus: waiting\n");
  });

  it("does not make an answer of what is none", () => {
    expect(readHumanAnswer("just text\n")).toMatch(/not an object/);
    expect(readHumanAnswer("config: {a: 1\n")).toMatch(/not YAML/);
    expect(readHumanAnswer("rationale: 7\nconfig: {}\n")).toMatch(/not text/);
  });
});
