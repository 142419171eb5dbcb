import { describe, expect, it } from "vitest";
import { drawBenchmark, FROZEN, loadBenchmark } from "./benchmark.js";
import { certify } from "./solve/index.js";

describe.each(FROZEN)("%s", (name) => {
  it("comes out of its seed again, instance by instance, with as few candidates dropped for their cost as the datasheet says", async () => {
    const { instances, manifest } = await drawBenchmark(name, { workers: 2 });
    expect(instances.map(({ id: _id, ...rest }) => rest)).toEqual(loadBenchmark(name).map(({ id: _id, ...rest }) => rest));
    expect(manifest.sampling.budget_exhausted ?? 0).toBe(name === "bench-5" ? 4 : 0);
  });

  it("records what the solver certifies, on every board", () => {
    for (const { size, holes, agents, optimum, conflict, wait_required } of loadBenchmark(name)) {
      expect(certify({ size, holes, agents })).toMatchObject({ status: "solved", optimum, conflict, wait_required });
    }
  });
});
