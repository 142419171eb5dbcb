import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  ConfigError,
  canonicalJson,
  deviation,
  nearest,
  pairedDifference,
  pairedOutcomes,
  pairedOverBoards,
  parseJsonWith,
  parseWith,
  Random,
  recipeSchema,
  SCHEMA_VERSION,
  Seed,
  setHash,
  type ValidationReport,
  wilson,
} from "./index.js";

describe("named randomness", () => {
  it("is Philox4x32-10: the published answers for a zero counter and key", () => {
    const zero = new Random(0, 0, 0, 0);
    expect([zero.uint32(), zero.uint32(), zero.uint32(), zero.uint32()]).toEqual([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
  });

  it("depends on name and index alone, not on what was drawn before", () => {
    const seed = Seed.root("run").child("stage", 3);
    seed.at(0).uint32();
    const late = Array.from({ length: 5 }, () => seed.at(7)).map((r) => r.uint32());
    expect(new Set(late).size).toBe(1);
    expect(Seed.parse(seed.path).at(7).uint32()).toBe(late[0]);
    expect(seed.at(8).uint32()).not.toBe(late[0]);
    expect(Seed.root("run").child("stage/3").at(7).uint32()).not.toBe(late[0]);
  });

  it("draws below n without bias and within bounds", () => {
    const counts = new Array(6).fill(0);
    const random = Seed.root("dice").at(0);
    for (let i = 0; i < 60_000; i++) counts[random.below(6)] += 1;
    const chi = counts.reduce((sum, c) => sum + (c - 10_000) ** 2 / 10_000, 0);
    expect(chi).toBeLessThan(20.5); // 99.9 % quantile at 5 degrees of freedom
    fc.assert(fc.property(fc.integer({ min: 1, max: 2 ** 32 }), fc.nat(), (n, i) => Seed.root("x").at(i).below(n) < n));
  });

  it("shuffles part by part as it does at once", () => {
    const items = [...Array(100).keys()];
    const parts = [...items];
    const random = Seed.root("parts").at(0);
    const exchange = (i: number, j: number) => {
      [parts[i], parts[j]] = [parts[j]!, parts[i]!];
    };
    for (const [last, first] of [
      [99, 64],
      [64, 2],
      [2, 0],
    ] as const)
      random.shufflePart(last, first, exchange);
    expect(parts).toEqual(Seed.root("parts").at(0).shuffle(items));
    expect(parts).not.toEqual([...Array(100).keys()]);
  });

  it("gives floats in [0, 1) and normal deviates of mean 0 and variance 1", () => {
    const random = Seed.root("normal").at(0);
    const values = Array.from({ length: 20_000 }, () => random.normal());
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length;
    expect(Math.abs(mean)).toBeLessThan(0.03);
    expect(Math.abs(variance - 1)).toBeLessThan(0.05);
    for (let i = 0; i < 1000; i++) {
      const f = random.float();
      expect(f >= 0 && f < 1).toBe(true);
    }
  });
});

describe("parsing at a boundary", () => {
  it("names the unknown key with the nearest known one, at any depth", () => {
    const recipe = { name: "x", stages: 1, instances: 1, config: {}, base: "b", trainer: { kind: "embedded", grpo: { stesp: 3 } } };
    expect(() => parseWith(recipeSchema, recipe, "recipe x")).toThrow(/unknown key "trainer.grpo.stesp", did you mean "steps"/);
    expect(() => parseWith(recipeSchema, recipe, "recipe x")).toThrow(ConfigError);
  });

  it("names the value that was given and what is wrong with it", () => {
    expect(() => parseWith(z.strictObject({ n: z.int().positive() }), { n: -3 }, "thing")).toThrow(/thing: "n".*given -3/);
  });

  it("tells of a mistyped key before what is missing, and of nothing that follows from it", () => {
    const sizes = z
      .strictObject({ "3": z.number().optional(), "4": z.number().optional() })
      .refine((s) => Object.keys(s).length > 0, "no size");
    expect(() => parseWith(z.strictObject({ sizes }), { sizes: { "11": 1 } }, "config")).toThrow(
      /^config: unknown key "sizes.11" \(known: 3, 4\)$/,
    );
    const knobs = z.strictObject({ wait_ratio: z.number() });
    expect(() => parseWith(knobs, { wait: 1 }, "config")).toThrow(/unknown key "wait".*; "wait_ratio" is missing \(expected: a number\)/);
    expect(() => parseWith(knobs, { wait: 1 }, "config")).toThrow(
      expect.objectContaining({ remedy: expect.stringMatching(/^correct "wait"/) }),
    );
    expect(() => parseWith(knobs, null, "config a.yaml")).toThrow("config a.yaml: there is nothing in it (expected: an object)");
  });

  it("says of a value that is missing what it would be, whatever the schema wants there, and to add it", () => {
    const missing = (schema: z.ZodType) => {
      try {
        parseWith(z.strictObject({ a: schema }), {}, "config");
      } catch (error) {
        return error as ConfigError;
      }
      throw new Error("nothing was missing");
    };
    expect(missing(z.unknown()).message).toBe('config: "a" is missing');
    expect(missing(z.unknown()).remedy).toMatch(/^add "a" and start again/);
    expect(missing(z.enum(["x", "y"])).message).toBe('config: "a" is missing (expected: "x" or "y")');
    expect(missing(z.union([z.string(), z.int()])).message).toBe('config: "a" is missing (expected: a text or a number)');
    expect(missing(z.record(z.string(), z.int())).message).toBe('config: "a" is missing (expected: an object)');
    expect(() => parseWith(z.strictObject({ a: z.enum(["x"]) }), { a: "z" }, "config")).toThrow(/"a": .*given "z"/);
  });

  it("says in plain words what was expected, and names numbers that JSON has not", () => {
    const said = (schema: z.ZodType, a: unknown) => {
      try {
        parseWith(z.strictObject({ a: schema }), { a }, "config");
      } catch (error) {
        return (error as ConfigError).message.replace('config: "a": ', "");
      }
      throw new Error("nothing was wrong");
    };
    const pair = z.tuple([z.int(), z.int()]);
    expect(said(z.array(z.int()).min(1), [])).toBe("expected at least 1 item (given [])");
    expect(said(z.array(z.int()).max(2), [1, 2, 3])).toBe("expected at most 2 items (given [1,2,3])");
    expect(said(pair, "x")).toBe('expected a list of 2 values (given "x")');
    expect(said(pair, [1])).toBe("expected a list of 2 values (given [1])");
    expect(said(z.int(), Number.NaN)).toBe("expected a whole number (given NaN)");
    expect(said(z.int(), JSON.parse("1e400"))).toBe("expected a whole number (given Infinity)");
    expect(said(z.int(), 1.5)).toBe("expected a whole number (given 1.5)");
    expect(said(z.array(z.string()), [Number.NaN])).toBe('config: "a.0": expected a text (given NaN)');
    expect(said(z.number().positive(), 0)).toBe("expected a number above 0 (given 0)");
    expect(said(z.int().max(10), 11)).toBe("expected a number of at most 10 (given 11)");
    expect(said(z.string().min(1), "")).toBe('expected a text that is not empty (given "")');
    expect(said(z.enum(["x", "y"]), "z")).toBe('expected "x" or "y" (given "z")');
    expect(said(z.union([z.string(), z.int()]), [])).toBe("expected a text or a number (given [])");
    const forms = z.union([z.strictObject({ b: z.int() }), z.strictObject({ c: z.int() })]);
    expect(said(forms, {})).toBe("none of the forms that it may have (given {})");
    expect(said(z.discriminatedUnion("kind", [z.object({ kind: z.literal("b") }), z.object({ kind: z.literal("c") })]), { kind: 1 })).toBe(
      'config: "a.kind": expected "b" or "c" (given 1)',
    );
    // What a schema says itself is not said again.
    expect(said(z.string().regex(/^a/, "words with an a"), "b")).toBe('words with an a (given "b")');
  });

  it("skips a byte order mark in front of JSON, and nothing else", () => {
    expect(parseJsonWith(z.int(), "\uFEFF7", "a.json")).toBe(7);
    expect(() => parseJsonWith(z.int(), "\uFEFF\uFEFF7", "a.json")).toThrow(/not valid JSON/);
  });

  it("suggests only what is close", () => {
    expect(nearest("rull", ["rule", "self"])).toBe("rule");
    expect(nearest("xyzzyplugh", ["rule", "self"])).toBeUndefined();
    expect(nearest("V9", ["V1", "V2", "V3"])).toBeUndefined();
    expect(nearest("stesp", ["steps", "steps", "steps"])).toBe("steps");
  });
});

describe("canonical JSON", () => {
  it("does not depend on the order in which keys were set, and drops undefined", () => {
    expect(canonicalJson({ b: [{ z: 1, a: undefined, y: 2 }], a: "x" })).toBe('{"a":"x","b":[{"y":2,"z":1}]}');
  });

  it("refuses what JSON cannot say", () => {
    expect(() => canonicalJson({ loss: Number.NaN })).toThrow(TypeError);
  });
});

describe("statistics", () => {
  const report = (outcomes: number[], changes: Partial<ValidationReport> = {}): ValidationReport => ({
    schema_version: SCHEMA_VERSION,
    stage: 0,
    objective: "makespan",
    set_sha256: "s",
    total: { n: 0, valid: { rate: 0, stderr: 0 }, optimal: { rate: 0, stderr: 0 }, codes: {}, tokens: 0, gap: 0 },
    by_stratum: {},
    by_tag: {},
    outcomes,
    failed: 0,
    ...changes,
  });

  it("Wilson's interval has its textbook values", () => {
    const [low, high] = wilson(0.5, 100);
    expect(low).toBeCloseTo(0.4038, 4);
    expect(high).toBeCloseTo(0.5962, 4);
    expect(wilson(0, 10)[0]).toBe(0);
    expect(wilson(0, 10)[1]).toBeCloseTo(0.2775, 4);
    expect(wilson(0, 0)).toEqual([0, 1]);
  });

  it("a paired difference is the mean of the differences with their standard error", () => {
    const d = pairedDifference([0, 0, 1, 1], [1, 0, 1, 0]);
    expect(d.difference).toBe(0);
    expect(d.stderr).toBeCloseTo(Math.sqrt(2 / 3) / 2, 12);
    expect(() => pairedDifference([1], [1, 0])).toThrow(RangeError);
  });

  it("a difference that no instance shows is not certain: 0 of n has Clopper and Pearson's bound", () => {
    const same = pairedDifference(Array(10).fill(1), Array(10).fill(1));
    expect([same.difference, same.stderr]).toEqual([0, 0]);
    expect(same.interval[1]).toBeCloseTo(0.3085, 4);
    expect(same.interval[0]).toBe(-same.interval[1]);
    expect(pairedDifference([0, 0], [1, 1]).interval[1]).toBe(1);
    expect(pairedDifference([], []).interval).toEqual([-1, 1]);
    // A third is not exact in binary: the mean of thirds differs from each by rounding, which is no spread.
    for (const rate of [1 / 3, 0.1, 0.2, 0.7]) {
      for (const n of [3, 10, 20, 77]) expect([rate, n, deviation(Array(n).fill(rate))]).toEqual([rate, n, 0]);
    }
    expect(deviation([0.1, 0.1 + 1e-9])).toBeGreaterThan(0);
  });

  it("leaves out of a pair what either side could not answer, and says how many are left", () => {
    const d = pairedOutcomes(report([0, -1, 1, 3]), report([1, 1, -1, 3]), 0);
    expect(d.n).toBe(2);
    expect(d.difference).toBe(0.5);
  });

  it("takes the mean of a board over the pairs that answered it, and its error over boards, so that the same pair twice says no more", () => {
    const pair = [report([0, 0, 1, 1]), report([1, 0, 1, 0])] as const;
    expect(pairedOverBoards([pair, pair], 0)).toEqual(pairedOutcomes(...pair, 0));
    // Differences of the boards: 1 and 0 → 0.5; 0 and 0; 0 alone; nothing.
    const d = pairedOverBoards([[report([0, 0, 1, -1]), report([1, 0, 1, 1])], [report([0, 1, -1, 0]), report([0, 1, 1, -1])]], 0); // biome-ignore format: one call
    expect(d).toMatchObject({ n: 3, difference: expect.closeTo(1 / 6), stderr: expect.closeTo(1 / 6) });
    expect(() => pairedOverBoards([pair, [report([1], { set_sha256: "t" }), report([1], { set_sha256: "t" })]], 0)).toThrow(
      /different sets/,
    );
    expect(pairedOverBoards([], 0)).toMatchObject({ n: 0, difference: 0 });
  });

  it("does not pair different boards, nor optimality under different objectives", () => {
    expect(() => pairedOutcomes(report([1]), report([1], { set_sha256: "t" }), 0)).toThrow(/different sets/);
    expect(() => pairedOutcomes(report([3]), report([3], { objective: "sum_of_costs" }), 1)).toThrow(/cannot be paired/);
    expect(pairedOutcomes(report([3]), report([3], { objective: "sum_of_costs" }), 0).difference).toBe(0);
  });

  it("a set's hash depends on the boards and their order", () => {
    const set = (...hashes: string[]) => setHash(hashes.map((hash, i) => ({ id: String(i), hash })));
    expect(set("a", "b")).toBe(setHash([{ id: "x", hash: "a" }, { id: "y", hash: "b" }])); // biome-ignore format: one line
    expect(set("a", "b")).not.toBe(set("b", "a"));
  });
});
