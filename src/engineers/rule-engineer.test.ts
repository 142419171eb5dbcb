import { describe, expect, it } from "vitest";
import { Seed } from "../core/index.js";
import type { LevelTable } from "./compact-language.js";
import type { StratumView } from "./compact-view.js";
import { ruleTable } from "./rule-engineer.js";
import { deliveryFamily as family } from "./test-family.js";

const view = (stratum: string, valid: number | null, codes: Record<string, number>, knobs: Record<string, number>): StratumView => ({
  stratum,
  valid,
  optimal: valid,
  codes,
  gap: 0,
  tokens: 3,
  zeroVariance: 5,
  knobs: { load: 10, fog: 3, traffic: 3, ...knobs },
});
const choose = (...current: StratumView[]) => ruleTable({ current }, family);
/** The fog that a knob at `now` gets when `lost` tenths of the failures call for it. */
const fog = (now: number, lost: number, valid: number | null = 5) =>
  choose(view("2", valid, { lost, crash: 10 - lost }, { fog: now }))["2"]!.fog;

describe("the rule", () => {
  it("gives shares by p(1 - p), the largest near half success and none less than one level", () => {
    const table = choose(view("2", 10, {}, {}), view("4", 6, {}, {}), view("8", 0, {}, {}));
    expect(["2", "4", "8"].map((s) => table[s]!.load)).toEqual([1, 10, 1]);
    const skewed = choose(view("2", 9, {}, {}), view("4", 3, {}, {}));
    expect([skewed["2"]!.load, skewed["4"]!.load]).toEqual([4, 8]);
  });

  it("raises a ratio toward a target that grows with the share of failures that call for it", () => {
    expect([0, 2, 4, 6, 8, 10].map((lost) => fog(5, lost))).toEqual([4, 4, 6, 8, 8, 8]);
    expect(fog(0, 10)).toBe(3);
    expect(fog(2, 6)).toBe(5);
  });

  it("lowers it when those failures vanish, one level a stage, and not below two", () => {
    expect(fog(9, 0)).toBe(8);
    expect(fog(3, 0)).toBe(2);
    expect(fog(2, 0)).toBe(2);
    expect(fog(10, 10)).toBe(9);
  });

  it("sums the codes that one knob answers, and each stratum answers its own failures", () => {
    const table = choose(view("2", 5, { crash: 3, jam: 3 }, { traffic: 6 }), view("4", 5, { lost: 10 }, { traffic: 6 }));
    expect([table["2"]!.traffic, table["4"]!.traffic]).toEqual([8, 5]);
  });

  it("leaves a stratum that was not measured as it is", () => {
    expect(choose(view("2", null, {}, { load: 4, fog: 7, traffic: 1 }), view("4", 5, {}, {}))["2"]).toEqual({
      load: 4,
      fog: 7,
      traffic: 1,
    });
  });

  it("does not run to its caps over a simulated run: it rises while a failure lasts and comes back when training on it has ended it", () => {
    // A policy whose getting lost halves under thick fog and creeps back in clear weather; crashes stay as they are.
    let lost = 0.5;
    const crash = 0.1;
    let knobs: LevelTable = { "2": { load: 10, fog: 3, traffic: 3 } };
    const path: number[] = [];
    for (let stage = 0; stage < 40; stage++) {
      const failed = lost + crash;
      const level = (x: number) => Math.round((10 * x) / failed);
      knobs = ruleTable(
        { current: [view("2", Math.round(10 * (1 - failed)), { lost: level(lost), crash: level(crash) }, knobs["2"]!)] },
        family,
      );
      const fogNow = knobs["2"]!.fog!;
      path.push(fogNow);
      lost = fogNow >= 5 ? lost * 0.75 : Math.min(0.5, lost * 1.1);
    }
    expect(Math.max(...path.slice(0, 4))).toBe(8);
    expect(Math.min(...path.slice(8))).toBeLessThanOrEqual(5);
    const late = path.slice(20);
    expect(late.every((level) => level >= 3 && level <= 7)).toBe(true);
  });

  it("keeps every knob between its two targets from any start and under any failures that go on", () => {
    const random = Seed.root("rule").at(0);
    for (let run = 0; run < 50; run++) {
      let knobs: LevelTable = { "2": { load: 10, fog: random.between(0, 10), traffic: random.between(0, 10) } };
      for (let stage = 0; stage < 12; stage++) {
        const lost = random.between(0, 10);
        knobs = ruleTable({ current: [view("2", random.between(0, 10), { lost, crash: 10 - lost }, knobs["2"]!)] }, family);
      }
      for (const name of ["fog", "traffic"]) {
        expect(knobs["2"]![name]).toBeGreaterThanOrEqual(2);
        expect(knobs["2"]![name]).toBeLessThanOrEqual(8);
      }
    }
  });
});
