import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigError, parseWith, Seed } from "../../core/index.js";
import {
  configSchema,
  holeCount,
  knobTable,
  largestRemainder,
  type MapfConfig,
  normalise,
  randomConfig,
  sizesOf,
  withKnobs,
} from "./config.js";
import { infeasible, nearestFeasible, ratioFor } from "./feasibility.js";
import { balancedSlots, trainingSlots } from "./quota.js";

const knobs = (data_ratio: number, hole_ratio = 0.2, wait_ratio = 0.3) => ({ data_ratio, hole_ratio, wait_ratio });
const config = (sizes: MapfConfig["sizes"], agents = [2]): MapfConfig => ({ agents, objective: "makespan", sizes });
const parse = (value: unknown) => parseWith(configSchema, value, "config");

describe("config C", () => {
  it("reads the documented form, with makespan as the default objective", () => {
    const sizes = { "3": knobs(0.1), "10": knobs(0.9) };
    expect(parse({ agents: [2], sizes })).toEqual({ agents: [2], objective: "makespan", sizes });
  });

  it.each([
    ["an unknown key", { agents: [2], sizes: { "3": knobs(1) }, objectiv: "makespan" }, 'did you mean "objective"'],
    ["an unknown knob", { agents: [2], sizes: { "3": { ...knobs(1), wait_ration: 0 } } }, 'did you mean "wait_ratio"'],
    ["a size beyond 10", { agents: [2], sizes: { "11": knobs(1) } }, "(known: 2, 3, 4, 5, 6, 7, 8, 9, 10)"],
    ["a missing knob", { agents: [2], sizes: { "3": { data_ratio: 1, hole_ratio: 0.1 } } }, "sizes.3.wait_ratio"],
    ["all data ratios zero", { agents: [2], sizes: { "3": knobs(0), "4": knobs(0) } }, "nothing to generate"],
    ["no sizes", { agents: [2], sizes: {} }, "nothing to generate"],
    ["a negative data ratio", { agents: [2], sizes: { "3": knobs(-1), "4": knobs(2) } }, "sizes.3.data_ratio"],
    ["NaN", { agents: [2], sizes: { "3": knobs(Number.NaN) } }, "sizes.3.data_ratio"],
    ["an infinite ratio", { agents: [2], sizes: { "3": knobs(Number.POSITIVE_INFINITY) } }, "sizes.3.data_ratio"],
    ["no agents", { agents: [], sizes: { "3": knobs(1) } }, "agents"],
    ["nine agents", { agents: [9], sizes: { "3": knobs(1) } }, "agents.0"],
    ["an agent count twice", { agents: [2, 2], sizes: { "3": knobs(1) } }, "given twice"],
    ["an unknown objective", { agents: [2], objective: "speed", sizes: { "3": knobs(1) } }, "objective"],
  ])("refuses %s and says where", (_, value, message) => {
    expect(() => parse(value)).toThrow(ConfigError);
    expect(() => parse(value)).toThrow(message);
  });

  it("normalise scales shares, clamps ratios, says so, and is idempotent", () => {
    const given = config({ "3": knobs(2, 0.7, 0.3), "4": knobs(6, 0.2, 1.5) });
    const { config: normal, repairs } = normalise(given);
    expect(normal.sizes).toEqual({ "3": knobs(0.25, 0.5, 0.3), "4": knobs(0.75, 0.2, 1) });
    expect(repairs.map(({ path, from, to }) => [path, from, to])).toEqual([
      ["sizes.3.hole_ratio", 0.7, 0.5],
      ["sizes.4.wait_ratio", 1.5, 1],
      ["sizes.3.data_ratio", 2, 0.25],
      ["sizes.4.data_ratio", 6, 0.75],
    ]);
    expect(normalise(normal)).toEqual({ config: normal, repairs: [] });
    expect(given.sizes["3"]!.hole_ratio).toBe(0.7);
  });

  it("knobs go out as a table and back; what the table leaves out stays; unknown names are refused", () => {
    const given = config({ "10": knobs(0.5), "3": knobs(0.5) });
    expect(sizesOf(given)).toEqual(["3", "10"]);
    expect(withKnobs(given, knobTable(given))).toEqual(given);
    const moved = withKnobs(given, { "3": { wait_ratio: 0.9 } });
    expect(moved.sizes["3"]).toEqual(knobs(0.5, 0.2, 0.9));
    expect(moved.sizes["10"]).toEqual(knobs(0.5));
    expect(() => withKnobs(given, { "3": { wait_rate: 0.1 } })).toThrow('did you mean "wait_ratio"');
    expect(() => withKnobs(given, { "7": { wait_ratio: 0.1 } })).toThrow('unknown map size "7"');
  });

  it("random configs come from the seed, are feasible, normal and within the documented ranges", () => {
    const like = config({ "3": knobs(1), "6": knobs(1), "10": knobs(1) }, [2, 3]);
    const draw = (i: number) =>
      randomConfig(like, Seed.root("random-config").at(i), (size, agents, k) => nearestFeasible(size, agents, k)!);
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
    const shares: number[] = [];
    for (let i = 0; i < 300; i++) {
      const drawn = parse(draw(i));
      expect(infeasible(drawn)).toEqual([]);
      expect(normalise(drawn).repairs).toEqual([]);
      for (const size of sizesOf(drawn)) {
        expect(drawn.sizes[size]!.hole_ratio).toBeGreaterThanOrEqual(0.05);
        expect(drawn.sizes[size]!.hole_ratio).toBeLessThanOrEqual(0.35);
        expect(drawn.sizes[size]!.wait_ratio).toBeLessThanOrEqual(0.8);
      }
      shares.push(drawn.sizes["6"]!.data_ratio);
    }
    // A share of a flat Dirichlet over 3 has mean 1/3 and variance 1/18.
    const mean = shares.reduce((a, b) => a + b, 0) / shares.length;
    const variance = shares.reduce((a, b) => a + (b - mean) ** 2, 0) / shares.length;
    expect(mean).toBeCloseTo(1 / 3, 1);
    expect(Math.abs(variance - 1 / 18)).toBeLessThan(0.012);
  });
});

describe("feasibility", () => {
  it("names the size, the problem and the nearest feasible value", () => {
    const [cell] = infeasible(config({ "3": knobs(1, 0.5, 0), "4": knobs(1, 0.5, 0) }, [5]));
    expect(cell).toMatchObject({ stratum: "3", problem: expect.stringContaining("4 free cells") });
    expect(cell!.nearest).toMatch(/^hole_ratio 0\.\d+, wait_ratio/);
  });

  it("one agent never waits", () => {
    expect(infeasible(config({ "5": knobs(1, 0.2, 0.1) }, [1, 2]))).toEqual([
      { stratum: "5", problem: "one agent never has to wait", nearest: "hole_ratio 0.2, wait_ratio 0" },
    ]);
    expect(infeasible(config({ "5": knobs(1, 0.2, 0) }, [1, 2]))).toEqual([]);
  });

  it("asks nothing of a size that gets no data", () => {
    expect(infeasible(config({ "3": knobs(0, 0.5, 1), "6": knobs(1) }, [5]))).toEqual([]);
  });

  it("the hole ratio it suggests gives exactly the holes it means, at every size", () => {
    for (let size = 2; size <= 10; size++)
      for (let holes = 0; holes <= (size * size) / 2; holes++) expect(holeCount(size, ratioFor(size, holes))).toBe(holes);
  });
});

describe("quotas", () => {
  it("largest remainder sums to the total, differs from the exact share by less than one, and keeps whole shares", () => {
    fc.assert(
      fc.property(fc.nat(5000), fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 9 }), (total, weights) => {
        const sum = weights.reduce((a, b) => a + b, 0);
        fc.pre(sum > 1e-6);
        const parts = largestRemainder(total, weights);
        expect(parts.reduce((a, b) => a + b, 0)).toBe(total);
        parts.forEach((part, i) => {
          expect(Math.abs(part - (total * weights[i]!) / sum)).toBeLessThan(1);
        });
      }),
    );
    expect(largestRemainder(4000, [0.1, 0.2, 0.7])).toEqual([400, 800, 2800]);
    expect(largestRemainder(10, [1, 1, 1])).toEqual([4, 3, 3]);
    expect(largestRemainder(1, [0, 0.5, 0.5])).toEqual([0, 1, 0]);
  });

  it("training slots meet size, wait and agent quotas exactly", () => {
    const given = normalise(config({ "3": knobs(0.25, 0.2, 0.5), "6": knobs(0.75, 0.3, 1 / 3) }, [3, 2])).config;
    const plan = trainingSlots(given, 120);
    const slots = Array.from({ length: plan.length }, (_, i) => plan.at(i)!);
    expect(plan.at(120)).toBeUndefined();
    const number = (test: (slot: (typeof slots)[number]) => boolean) => slots.filter(test).length;
    expect(slots.map(({ index }) => index)).toEqual(slots.map((_, i) => i));
    expect(number(({ size }) => size === 3)).toBe(30);
    expect(number(({ size, want }) => size === 3 && want === "wait")).toBe(15);
    expect(number(({ size, want }) => size === 6 && want === "wait")).toBe(30);
    expect(number(({ agents }) => agents === 2)).toBe(60);
    for (const want of ["wait", "no-wait"]) {
      const difference =
        number((slot) => slot.want === want && slot.agents === 2) - number((slot) => slot.want === want && slot.agents === 3);
      expect(Math.abs(difference)).toBeLessThanOrEqual(1);
    }
    expect(new Set(slots.filter(({ size }) => size === 6).map(({ holes }) => holes.join()))).toEqual(new Set(["11,11"]));
  });

  it("balanced slots differ by at most one between cells and spread the holes", () => {
    const slots = balancedSlots(config({ "4": knobs(1), "8": knobs(0) }, [2, 3]), 203);
    const cells = new Map<string, number>();
    for (const { size, agents, want } of slots) cells.set(`${size}/${agents}/${want}`, (cells.get(`${size}/${agents}/${want}`) ?? 0) + 1);
    expect(slots).toHaveLength(203);
    expect(cells.size).toBe(8);
    expect(Math.max(...cells.values()) - Math.min(...cells.values())).toBeLessThanOrEqual(1);
    const holes = slots.filter(({ size }) => size === 8).map((slot) => slot.holes[0]);
    expect(Math.min(...holes)).toBeLessThanOrEqual(4);
    expect(Math.max(...holes)).toBeGreaterThanOrEqual(21);
  });
});
