import { describe, expect, it } from "vitest";
import { InfeasibleError, InputError, Seed } from "../../core/index.js";
import type { MapfConfig } from "./config.js";
import { generateBalanced, generateTraining } from "./generate.js";
import { hashBoard } from "./hash.js";
import { certify } from "./solve/index.js";

const config = (sizes: MapfConfig["sizes"], agents = [2]): MapfConfig => ({ agents, objective: "makespan", sizes });
const seed = Seed.root("generate.test");

it.each([1e11, -1, 1.5])("A set of %d instances is refused before anything is drawn.", async (count) => {
  const small = config({ "4": { data_ratio: 1, hole_ratio: 0.2, wait_ratio: 0 } });
  await expect(generateTraining(small, { count, seed })).rejects.toThrow(InputError);
  await expect(generateBalanced(small, { count, seed })).rejects.toThrow(/at most 100000000|cannot be made at once/);
});

describe("training sets", () => {
  it("say of every board what the solver says of it, and never have a start on its own goal", async () => {
    const { instances } = await generateTraining(
      config(
        { "3": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.3 }, "5": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.3 } },
        [2, 3],
      ),
      { count: 80, seed: seed.child("solver") },
    );
    for (const { size, holes, agents, optimum, conflict, wait_required, hash } of instances) {
      const board = { size, holes, agents };
      expect(certify(board)).toMatchObject({ status: "solved", optimum, conflict, wait_required });
      expect(hashBoard(board)).toBe(hash);
      expect(holes).toEqual([...holes].sort((a, b) => a[0] - b[0] || a[1] - b[1]));
      for (const { start, goal } of agents) expect(start).not.toEqual(goal);
    }
  });

  it("report requested and realised knobs and why candidates were dropped", async () => {
    const { manifest } = await generateTraining(config({ "3": { data_ratio: 3, hole_ratio: 0.2, wait_ratio: 0.5 } }), {
      count: 40,
      seed: seed.child("manifest"),
    });
    expect(manifest.strata["3"]!.requested).toEqual({ data_ratio: 1, hole_ratio: 0.2, wait_ratio: 0.5 });
    expect(manifest.strata["3"]!.realised).toMatchObject({ data_ratio: 1, hole_ratio: 2 / 9, wait_ratio: 0.5, agents: 2 });
    expect(manifest.sampling.drawn).toBeGreaterThan(40);
    const dropped = Object.entries(manifest.sampling).reduce((sum, [reason, number]) => (reason === "drawn" ? sum : sum + number), 0);
    expect(manifest.sampling.drawn! - dropped).toBe(40);
  });

  it("a longer set of the same seed is drawn from the same streams: progress ends at the total", async () => {
    const seen: number[] = [];
    await generateTraining(config({ "4": { data_ratio: 1, hole_ratio: 0.1, wait_ratio: 0 } }), {
      count: 100,
      seed: seed.child("progress"),
      onProgress: (done, total) => {
        expect(total).toBe(100);
        seen.push(done);
      },
    });
    expect(seen.at(-1)).toBe(100);
  });

  it("an infeasible config is refused before anything is drawn, with the nearest feasible value", async () => {
    const crowded = config({ "3": { data_ratio: 1, hole_ratio: 0.5, wait_ratio: 0 } }, [5]);
    const error = await generateTraining(crowded, { count: 10, seed }).then(
      () => undefined,
      (thrown: InfeasibleError) => thrown,
    );
    expect(error).toBeInstanceOf(InfeasibleError);
    expect(error!.message).toContain("4 free cells");
    expect(error!.expected).toContain("hole_ratio 0.");
  });
});

describe("evaluation sets", () => {
  it("are balanced over size, agents and conflict, with hole ratios over the whole range", async () => {
    const { instances, manifest } = await generateBalanced(
      config({ "4": { data_ratio: 1, hole_ratio: 0.5, wait_ratio: 1 }, "6": { data_ratio: 0, hole_ratio: 0, wait_ratio: 0 } }, [2, 3]),
      { count: 80, seed: seed.child("balanced") },
    );
    for (const size of [4, 6]) {
      for (const agents of [2, 3]) {
        const cell = instances.filter((instance) => instance.size === size && instance.agents.length === agents);
        expect(cell).toHaveLength(20);
        expect(cell.filter(({ conflict }) => conflict)).toHaveLength(10);
      }
      const ratios = instances.filter((instance) => instance.size === size).map(({ holes }) => holes.length / size ** 2);
      expect(Math.min(...ratios)).toBeLessThan(0.1);
      expect(Math.max(...ratios)).toBeGreaterThan(0.3);
    }
    expect(manifest.strata["6"]).toMatchObject({ count: 40, realised: { conflict_ratio: 0.5 } });
    expect(manifest.sampling.balance_other_kind ?? 0).toBe(0);
  });

  it("say where half conflicts cannot be reached, and still have the full count", async () => {
    const { instances, manifest } = await generateBalanced(config({ "2": { data_ratio: 1, hole_ratio: 0.25, wait_ratio: 0 } }, [2]), {
      count: 6,
      seed: seed.child("unreachable"),
    });
    expect(instances).toHaveLength(6);
    expect(manifest.sampling.balance_other_kind).toBeGreaterThan(0);
  });
});
