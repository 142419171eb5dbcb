import { expect, it } from "vitest";
import { engineerOptionsSchema, Seed } from "../core/index.js";
import { compareProposals, knobDistance } from "./compare-proposals.js";
import { proposeNext } from "./propose.js";
import { createEngineer } from "./registry.js";
import { deliveryContext } from "./test-context.js";
import { deliveryFamily as family } from "./test-family.js";
import { variantNamed } from "./variants.js";

const table = (loads: number[], fog: number) =>
  Object.fromEntries(["2", "4", "8"].map((s, i) => [s, { load: loads[i]!, fog, traffic: 0.1 }]));

it("the distance of two configs is the total variation of the shares and the mean change of the ratios in parts of their ranges", () => {
  const { shares, ratios } = knobDistance(table([0.5, 0.3, 0.2], 0.2), table([0.2, 0.3, 0.5], 0.6), family);
  expect(shares).toBeCloseTo(0.3, 12);
  // Fog moves by 0.4 of its range in three of six cells, traffic by nothing.
  expect(ratios).toBeCloseTo(0.2, 12);
  expect(knobDistance(table([1, 0, 0], 0), table([1, 0, 0], 0), family)).toEqual({ shares: 0, ratios: 0 });
});

it("proposals are compared with the stage's config, with the one that was taken, and with the evidence", async () => {
  const context = deliveryContext();
  const ask = (name: string) =>
    proposeNext({
      engineer: createEngineer(name),
      context,
      variant: variantNamed("V6"),
      family,
      options: engineerOptionsSchema.parse({}),
      seed: Seed.root("compare"),
    });
  const [rule, hardest] = [await ask("rule"), await ask("hardest")];
  const stage = { config: context.config, failures: context.failures, taken: rule };
  const [first, second] = compareProposals([rule, hardest], stage, family);
  expect(first).toMatchObject({ engineer: "rule", asked: 1, tokens: 0, from_taken: { shares: 0, ratios: 0 } });
  expect(first!.change.ratios).toBeGreaterThan(0);
  expect(first!.evidence_alignment.fog!.n).toBe(3);
  expect(second!.change.ratios).toBe(0);
  expect(second!.evidence_alignment.fog!.rho).toBeNull();
  expect(second!.from_taken!.shares).toBeGreaterThan(0.3);
  expect(compareProposals([rule], { ...stage, taken: undefined }, family)[0]).not.toHaveProperty("from_taken");
});
