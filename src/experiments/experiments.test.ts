import { describe, expect, it } from "vitest";
import { ConfigError, SCHEMA_VERSION, type ValidationReport } from "../core/index.js";
import { cells, parseMatrix } from "./matrix.js";
import { plotExperiment } from "./plot.js";
import { runMatrix } from "./run-matrix.js";
import { armsMarkdown, estimate, summariseArms, validAt } from "./summary.js";

const matrix = parseMatrix(
  {
    name: "m",
    recipe: "tiny",
    seeds: [1, 2],
    reference: "fixed",
    set: { workers: 1 },
    arms: { fixed: { "engineer.name": "fixed" }, self: {} },
  },
  "test",
);

function report(outcomes: number[]): ValidationReport {
  const n = outcomes.length;
  const rate = (count: number) => ({ rate: count / n, stderr: 0 });
  const total = {
    n,
    valid: rate(outcomes.filter((o) => o & 1).length),
    optimal: rate(outcomes.filter((o) => o & 2).length),
    codes: {},
    tokens: 1,
    gap: 0,
  };
  return {
    schema_version: SCHEMA_VERSION,
    stage: 0,
    objective: "makespan",
    set_sha256: "x",
    total,
    by_stratum: {},
    by_tag: {},
    outcomes,
    failed: 0,
  };
}

describe("a matrix of runs", () => {
  it("lists its cells seed by seed, overrides merged", () => {
    expect(cells(matrix).map((c) => c.folder)).toEqual(["fixed-seed1", "self-seed1", "fixed-seed2", "self-seed2"]);
    expect(cells(matrix)[0]!.overrides).toEqual({ workers: 1, "engineer.name": "fixed" });
  });

  it("takes a list as `--set` does, and reads its own record again", () => {
    const given = { name: "m", recipe: "tiny", seeds: [1], reference: "a", set: { "config.agents": [2, 3, 4] }, arms: { a: {}, b: { "trainer.launch": ["a", "b c"] } } }; // biome-ignore format: one matrix
    const parsed = parseMatrix(given, "test");
    expect(cells(parsed)[1]!.overrides).toEqual({ "config.agents": "[2,3,4]", "trainer.launch": '["a","b c"]' });
    expect(parseMatrix(JSON.parse(JSON.stringify(parsed)), "test")).toEqual(parsed);
  });

  it("refuses a reference that is no arm", () => {
    expect(() => parseMatrix({ name: "m", recipe: "tiny", seeds: [1], arms: { a: {} }, reference: "b" }, "test")).toThrow(ConfigError);
  });

  it("refuses the name of an object's own function as the reference, one seed twice, and a seed among the overrides", () => {
    const given = { name: "m", recipe: "tiny", seeds: [1], arms: { a: {} }, reference: "a" };
    expect(() => parseMatrix({ ...given, reference: "toString" }, "test")).toThrow(/must be one of the arms/);
    expect(() => parseMatrix({ ...given, seeds: [1, 2, 1] }, "test")).toThrow(/one seed twice is one run/);
    expect(() => parseMatrix({ ...given, set: { seed: 7 } }, "test")).toThrow(/set gives a seed, which no cell would take/);
    expect(() => parseMatrix({ ...given, arms: { a: { seed: 7 } } }, "test")).toThrow(/arms.a gives a seed/);
  });

  it("goes on when a cell fails and says which", async () => {
    const ran: string[] = [];
    const outcomes = await runMatrix(matrix, {
      parallel: 2,
      runCell: async (cell) => {
        ran.push(cell.folder);
        if (cell.folder === "self-seed1") throw new Error("disk full");
      },
    });
    expect(ran).toHaveLength(4);
    expect(outcomes.map((o) => o.state)).toEqual(["done", "failed", "done", "done"]);
    expect(outcomes[1]!.message).toBe("disk full");
  });

  describe("with a cell that replays another", () => {
    const replay = (from: unknown, seeds = [1, 2]) =>
      parseMatrix(
        {
          name: "m",
          recipe: "tiny",
          seeds,
          reference: "self",
          arms: { replay: { "engineer.name": "replay", "engineer.from": from }, self: {} },
        },
        "test",
      );
    const ran = async (outcomeOf: (folder: string) => Promise<void> = async () => {}, parallel = 2) => {
      const order: string[] = [];
      const outcomes = await runMatrix(replay({ arm: "self", seed: 1 }), {
        parallel,
        runCell: async ({ folder }) => {
          order.push(`+${folder}`);
          await outcomeOf(folder);
          order.push(`-${folder}`);
        },
      });
      return { order, outcomes };
    };

    it("names its folder, whatever the seed, or that of the cell's own seed", () => {
      expect(cells(replay({ arm: "self", seed: 1 })).map((c) => [c.folder, c.replays])).toEqual([
        ["replay-seed1", "self-seed1"],
        ["self-seed1", undefined],
        ["replay-seed2", "self-seed1"],
        ["self-seed2", undefined],
      ]);
      expect(cells(replay({ arm: "self" }))[2]).toMatchObject({ replays: "self-seed2", overrides: { "engineer.name": "replay" } });
      expect(cells(replay("runs/x"))[0]).toMatchObject({ overrides: { "engineer.from": "runs/x" } });
    });

    it("starts it once that one is done, and holds no place while it waits", async () => {
      const slow = async () => void (await new Promise((r) => setTimeout(r, 5)));
      const { order, outcomes } = await ran(slow);
      for (const seed of [1, 2]) expect(order.indexOf(`+replay-seed${seed}`)).toBeGreaterThan(order.indexOf("-self-seed1"));
      expect(order.indexOf("+self-seed2")).toBeLessThan(order.indexOf("-self-seed1"));
      expect(outcomes.map((o) => [o.cell.folder, o.state])).toEqual(
        ["replay-seed1", "self-seed1", "replay-seed2", "self-seed2"].map((folder) => [folder, "done"]),
      );
      expect((await ran(slow, 1)).order).toHaveLength(8);
    });

    it("does not start it when that one failed, says why, and loses no other", async () => {
      const { order, outcomes } = await ran(async (folder) => {
        if (folder === "self-seed1") throw new Error("disk full");
      });
      expect(order).not.toContain("+replay-seed1");
      expect(outcomes.map((o) => o.state)).toEqual(["failed", "failed", "failed", "done"]);
      expect(outcomes[2]!.message).toBe("it replays self-seed1, which failed");
    });

    it("refuses a cell that the matrix lacks, one that waits for itself, and any other value that is no scalar", () => {
      expect(() => replay({ arm: "slef", seed: 1 })).toThrow(/no cell slef-seed1/);
      expect(() => replay({ arm: "self", seed: 7 })).toThrow(/no cell self-seed7/);
      expect(() => replay({ arm: "replay", seed: 1 })).toThrow(/replay-seed1 waits for replay-seed1/);
      const two = { a: { "engineer.from": { arm: "b" } }, b: { "engineer.from": { arm: "a" } } };
      expect(() => parseMatrix({ name: "m", recipe: "tiny", seeds: [1], reference: "a", arms: two }, "test")).toThrow(
        /a-seed1 waits for b-seed1 waits for a-seed1/,
      );
      const base = { a: { base: { arm: "b" } }, b: {} };
      expect(() => parseMatrix({ name: "m", recipe: "tiny", seeds: [1], reference: "b", arms: base }, "test")).toThrow(ConfigError);
    });
  });

  it("stops starting cells once it is interrupted", async () => {
    const controller = new AbortController();
    const outcomes = await runMatrix(matrix, { parallel: 1, signal: controller.signal, runCell: async () => controller.abort() });
    expect(outcomes.map((o) => o.state)).toEqual(["done", "interrupted", "interrupted", "interrupted"]);
  });
});

describe("the comparison of arms", () => {
  it("uses Student's t over seeds: 1, 2, 3 has mean 2 and half-width 4.303 / sqrt 3", () => {
    const e = estimate([1, 2, 3]);
    expect(e.mean).toBe(2);
    expect(e.interval![1]).toBeCloseTo(2 + 4.303 / Math.sqrt(3), 9);
    expect(estimate([1]).interval).toBeUndefined();
  });

  it("compares at equal tokens on the line between two checkpoints", () => {
    const reports = [report([0, 0, 0, 0]), report([1, 1, 0, 0]), report([1, 1, 1, 1])];
    expect(validAt({ reports, tokens: [10, 10] }, 5)).toBe(0.25);
    expect(validAt({ reports, tokens: [10, 10] }, 15)).toBe(0.75);
    expect(validAt({ reports, tokens: [10, 10] }, 20)).toBe(1);
  });

  it("pairs arms by seed at equal tokens: where the run with the fewest tokens ends", () => {
    const base = report([0, 0, 0, 0]);
    const run = (arm: string, seed: number, valid: number[], tokens: number) => ({ arm, seed, reports: [base, report(valid)], tokens: [tokens], proposals: [] }); // biome-ignore format: one cell
    const cells = [
      run("fixed", 1, [1, 0, 0, 0], 10),
      run("self", 1, [1, 1, 1, 1], 20),
      run("fixed", 2, [1, 1, 0, 0], 10),
      run("self", 2, [1, 1, 1, 1], 10),
    ];
    const [fixed, self] = summariseArms(cells, "fixed");
    // Half of the way of 0 → 1 against 0.25, and 1 against 0.5; the last checkpoints differ by 0.75 and 0.5.
    expect(self!.againstAtEqualTokens!.values).toEqual([0.25, 0.5]);
    expect(self!.against!.seeds.values).toEqual([0.75, 0.5]);
    expect(fixed!.againstAtEqualTokens).toBeUndefined();
    expect(armsMarkdown([fixed!, self!], "fixed")).toMatch(/against fixed at equal tokens[\s\S]*\| \+37\.5 \[/);
  });

  it("does not compare arms that were evaluated on other boards", () => {
    const base = report([0, 0, 0, 0]);
    const other = { ...report([1, 1, 1, 1]), set_sha256: "y" };
    const run = (arm: string, last: typeof base) => ({ arm, seed: 1, reports: [base, last], tokens: [10], proposals: [] });
    const arms = summariseArms([run("fixed", report([1, 0, 0, 0])), run("self", other)], "fixed");
    expect(arms.map((a) => [a.against, a.againstAtEqualTokens])).toEqual([[undefined, undefined], [undefined, undefined]]); // biome-ignore format: one line
  });

  it("pairs arms by seed and board", () => {
    const base = report([0, 0, 0, 0]);
    const arms = summariseArms(
      [
        { arm: "fixed", seed: 1, reports: [base, report([1, 0, 0, 0])], tokens: [10], proposals: ["accepted"] },
        { arm: "self", seed: 1, reports: [base, report([3, 1, 0, 0])], tokens: [10], proposals: ["repaired"] },
      ],
      "fixed",
    );
    const self = arms.find((a) => a.arm === "self")!;
    expect(self.gain.mean).toBe(0.5);
    // Half of the boards for ten tokens.
    expect(self.gainPerMillionTokens!.mean).toBe(50_000);
    expect(self.optimal.mean).toBe(0.25);
    expect(self.against!.boards[0]!.difference.difference).toBe(0.25);
    expect(armsMarkdown(arms, "fixed")).toContain("| self | 1 | 50.0 | 25.0 | +50.0 |");
    expect(armsMarkdown(arms, "fixed")).not.toContain("Measures");
  });

  it("gives each arm the means of its engineer's measures, and n/a where there is none", () => {
    const base = report([0, 0]);
    const measured = (accepted: number, repaired: number, rho: number | null) => ({
      proposals: { accepted, repaired, rejected: 0 },
      evidence_alignment: { holes: { rho, n: 5 } },
      preservation: { shares: null, ratios: 0.5 },
      template: { monotone: 1, still: 0.4, score: 0.4 },
      frontier_focus: 0.25,
      area_under_curve: 0.5,
      gains: { stages: [], total: null },
    });
    const cell = (seed: number, measures: ReturnType<typeof measured>) => ({ arm: "self", seed, reports: [base, base], tokens: [1], proposals: [], measures }); // biome-ignore format: one cell
    const [self] = summariseArms([cell(1, measured(3, 1, 0.2)), cell(2, measured(4, 0, null))], "self");
    expect(self!.measures).toMatchObject({
      proposals: { accepted: 7, repaired: 1, rejected: 0 },
      accepted_share: 0.875,
      evidence_alignment: { holes: 0.2 },
      preservation: { shares: null, ratios: 0.5 },
    });
    const text = armsMarkdown([self!], "self");
    expect(text).toMatch(/\| self +\| +87\.5 \| +0\.20 \| +n\/a \| +0\.50 \|/);
  });

  it("draws differences with intervals and seeds, and curves over tokens, in one figure", () => {
    const base = report([0, 0, 0, 0]);
    const cells = [1, 2].flatMap((seed) => [
      { arm: "fixed", seed, reports: [base, report([1, 0, 0, 0])], tokens: [2e6], proposals: [] },
      { arm: "self", seed, reports: [base, report([1, 1, seed - 1, 0])], tokens: [2e6], proposals: [] },
    ]);
    const svg = plotExperiment("m", "fixed", summariseArms(cells, "fixed"), cells);
    expect(svg).toContain("m: 2 arms, 2 seeds");
    expect(svg).toContain("points against fixed");
    // Two seeds and their mean in the forest, five marks on each of two curves.
    expect(svg.match(/<circle/g)!.length).toBeGreaterThanOrEqual(3);
    expect(svg).not.toContain("NaN");
  });
});
