import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ConfigError } from "../../core/index.js";
import { FROZEN, INSTANCES_PER_SIZE, loadBenchmark, reservedHashes, writeLine } from "./benchmark.js";
import { BENCHMARK_SHA256 } from "./benchmark-data.js";
import { mapfFrozenLake } from "./family.js";
import { instanceSchema } from "./instance.js";
import { certify } from "./solve/index.js";

const SHAPES = {
  "bench-3": { agents: 3, sizes: [3, 10] },
  "bench-4": { agents: 4, sizes: [4, 10] },
  "bench-5": { agents: 5, sizes: [5, 10] },
};

describe.each(FROZEN)("%s", (name) => {
  const instances = loadBenchmark(name);

  it("has the published sizes and agents, 150 instances a size, all different", () => {
    const { agents, sizes } = SHAPES[name];
    for (let size = sizes[0]!; size <= sizes[1]!; size++) {
      expect(instances.filter((instance) => instance.size === size)).toHaveLength(INSTANCES_PER_SIZE);
    }
    expect(instances).toHaveLength((sizes[1]! - sizes[0]! + 1) * INSTANCES_PER_SIZE);
    expect(instances.every((instance) => instance.agents.length === agents)).toBe(true);
    expect(new Set(instances.map(({ hash }) => hash)).size).toBe(instances.length);
    for (const instance of instances) instanceSchema.parse(instance);
  });

  it("has several wait ratios and hole ratios up to a half at every size", () => {
    for (const size of new Set(instances.map((instance) => instance.size))) {
      const own = instances.filter((instance) => instance.size === size);
      expect(own.filter(({ wait_required }) => wait_required)).toHaveLength(INSTANCES_PER_SIZE * 0.3);
      const ratios = own.map(({ holes }) => holes.length / size ** 2);
      expect(Math.min(...ratios)).toBeLessThan(0.13);
      expect(Math.max(...ratios)).toBeGreaterThan(0.44);
    }
  });

  it("is what was published: the hash of its lines", () => {
    expect(createHash("sha256").update(instances.map(writeLine).join("\n")).digest("hex")).toBe(BENCHMARK_SHA256[name]);
  });

  it("records what the solver certifies (every 25th board up to 7x7)", () => {
    for (const { size, holes, agents, optimum, conflict, wait_required } of instances.filter(
      (board, i) => i % 25 === 0 && board.size <= 7,
    )) {
      expect(certify({ size, holes, agents })).toMatchObject({ status: "solved", optimum, conflict, wait_required });
    }
  });
});

describe("benchmark sets", () => {
  it("are reserved: the family names all their hashes", async () => {
    const reserved = await mapfFrozenLake.reservedHashes();
    expect(reserved).toBe(reservedHashes());
    expect(reserved.size).toBe(1200 + 1050 + 900);
  });

  it("an unknown name is refused with the nearest known one", () => {
    expect(() => loadBenchmark("bench3")).toThrow(ConfigError);
    expect(() => loadBenchmark("bench3")).toThrow('did you mean "bench-3"');
  });
});
