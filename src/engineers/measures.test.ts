import { describe, expect, it } from "vitest";
import type { Proposal } from "../core/index.js";
import {
  areaUnderCurve,
  evidenceAlignment,
  frontierFocus,
  gains,
  preservation,
  spearman,
  templateScore,
  validityCounts,
} from "./measures.js";
import { cell, failuresOf } from "./test-context.js";
import { deliveryConfig, deliveryFamily as family } from "./test-family.js";

const before = family.knobTable(deliveryConfig(0.3, 0.1));
const failures = failuresOf(0, deliveryConfig(), {
  "2": cell({ valid: 95, lost: 5 }),
  "4": cell({ valid: 50, lost: 30, crash: 20 }),
  "8": cell({ valid: 10, lost: 10, crash: 80 }),
});
const knobs = (fog: number[], traffic: number[], load = [0.5, 0.3, 0.2]) =>
  Object.fromEntries(["2", "4", "8"].map((s, i) => [s, { load: load[i]!, fog: fog[i]!, traffic: traffic[i]! }]));

describe("measures of an engineer", () => {
  it("rank correlation is that of Spearman, with ties sharing their rank", () => {
    expect(spearman([1, 2, 3, 4], [10, 20, 30, 400])).toBeCloseTo(1, 12);
    expect(spearman([1, 2, 3, 4], [4, 3, 2, 1])).toBeCloseTo(-1, 12);
    // By hand: ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / √(4.5 · 5).
    expect(spearman([1, 2, 2, 4], [1, 2, 3, 4])).toBeCloseTo(4.5 / Math.sqrt(22.5), 12);
    expect(spearman([1, 1, 1], [1, 2, 3])).toBeNull();
  });

  it("evidence alignment is 1 for an engineer that moves each knob as its failures ask, -1 for the opposite", () => {
    // Shares among failures: lost 1, 0.6, 0.11; crash and jam 0, 0.4, 0.89.
    const aligned = evidenceAlignment([{ failures, before, after: knobs([0.6, 0.5, 0.3], [0.1, 0.2, 0.4]) }], family);
    expect(aligned).toEqual({ fog: { rho: expect.closeTo(1), n: 3 }, traffic: { rho: expect.closeTo(1), n: 3 } });
    const opposed = evidenceAlignment([{ failures, before, after: knobs([0.1, 0.2, 0.3], [0.4, 0.2, 0.1]) }], family);
    expect([opposed.fog!.rho, opposed.traffic!.rho]).toEqual([expect.closeTo(-1), expect.closeTo(-1)]);
    expect(evidenceAlignment([{ failures, before, after: before }], family).fog!.rho).toBeNull();
  });

  it("preservation counts what is left of mastered shares, and how still knobs without failures stand", () => {
    const step = { failures, before, after: knobs([0.3, 0.3, 0.3], [0.2, 0.5, 0.5], [0.2, 0.4, 0.4]) };
    // Only stratum 2 is mastered: 0.2 of 0.5 kept. Only its traffic answers nothing: moved by 0.1 of 0.5.
    expect(preservation(step, family)).toEqual({ shares: expect.closeTo(0.4), ratios: expect.closeTo(0.8) });
    expect(preservation({ ...step, after: before }, family)).toEqual({ shares: 1, ratios: 1 });
  });

  it("the template score is 1 for one monotone config at every stage and falls when it moves or turns", () => {
    const template = knobs([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.2, 0.3, 0.5]);
    expect(templateScore([template, template], family).score).toBeCloseTo(1, 12);
    const turned = knobs([0.1, 0.3, 0.1], [0.3, 0.1, 0.3], [0.3, 0.5, 0.3]);
    expect(templateScore([turned, turned], family).monotone).toBeCloseTo(0, 12);
    const moved = knobs([1, 0.9, 0.8], [0.5, 0.4, 0.3], [0.5, 0.3, 0.2]);
    expect(templateScore([template, moved], family).still).toBeLessThan(0.7);
  });

  it("frontier focus is the share of data where success is between a fifth and four fifths", () => {
    expect(frontierFocus(before, failures, family)).toBeCloseTo(0.3, 12);
  });

  it("validity counts outcomes", () => {
    const outcomes = ["accepted", "repaired", "accepted", "rejected"].map((outcome) => ({ outcome }) as Proposal);
    expect(validityCounts(outcomes)).toEqual({ accepted: 2, repaired: 1, rejected: 1 });
  });

  it("the area under a curve is its mean height, whatever the spacing", () => {
    expect(
      areaUnderCurve([
        { x: 0, y: 0 },
        { x: 10, y: 1 },
      ]),
    ).toBeCloseTo(0.5, 12);
    expect(
      areaUnderCurve([
        { x: 30, y: 1 },
        { x: 0, y: 0 },
        { x: 10, y: 1 },
      ]),
    ).toBeCloseTo(25 / 30, 12);
    expect(areaUnderCurve([{ x: 1, y: 1 }])).toBeNull();
  });

  it("gains are paired over the set and per training token", () => {
    const report = (outcomes: number[]) => ({ outcomes }) as Parameters<typeof gains>[0][number];
    const { stages, total } = gains([report([0, 0, 0, 1]), report([3, 0, 0, 1]), report([3, 1, 1, 0])], [1000, 3000]);
    expect(stages.map((g) => g.difference)).toEqual([0.25, 0.25]);
    expect(stages[0]!.perMillionTokens).toBeCloseTo(250, 9);
    expect(total).toMatchObject({ difference: 0.5, tokens: 4000, n: 4 });
    // Differences 1, 1, 1, −1: deviation 1, over √4.
    expect(total!.stderr).toBeCloseTo(0.5, 12);
    expect(gains([report([1])], []).total).toBeNull();
    // −1: the outside failed there, which is no answer, right or wrong.
    expect(gains([report([0, 0, 0, 1]), report([-1, -1, 1, 1])], [1000]).total).toMatchObject({ difference: 0.5, n: 2 });
  });
});
