import { describe, expect, it } from "vitest";
import { Seed, TextIndex } from "../../core/index.js";
import { FilledSlots } from "./filled-slots.js";
import { generateTraining, streamTraining } from "./generate.js";

const config = {
  agents: [1, 2],
  objective: "makespan" as const,
  sizes: { "4": { data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0 }, "5": { data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0 } },
};
const seed = Seed.root("generated-set.test");

describe("a streamed set", () => {
  it("is the whole set, batch by batch, with its manifest at the end and not before", async () => {
    const exclude = new TextIndex();
    for (const { hash } of (await generateTraining(config, { count: 50, seed })).instances) exclude.add(hash);
    const whole = await generateTraining(config, { count: 300, seed, exclude });
    const stream = await streamTraining(config, { count: 300, seed, exclude });
    expect(() => stream.manifest()).toThrow(RangeError);
    const batches = [...stream.batches(128)];
    expect(batches.map((batch) => batch.length)).toEqual([128, 128, 44]);
    expect(batches.flat()).toEqual(whole.instances);
    expect(stream.manifest()).toEqual(whole.manifest);
    expect(whole.manifest.excluded_hashes).toBe(50);
    expect(whole.instances.filter(({ hash }) => exclude.has(hash))).toEqual([]);
    const reasons = Object.keys(whole.manifest.sampling);
    expect(reasons).toEqual([...reasons].sort());
    expect(reasons).toEqual(expect.arrayContaining(["drawn", "duplicate", "excluded"]));
  });

  it("of more slots than are looked at in one go has a board of its own for each", async () => {
    const count = 8500;
    const one = { ...config, agents: [1], sizes: { "10": { data_ratio: 1, hole_ratio: 0.2, wait_ratio: 0 } } };
    const { instances } = await generateTraining(one, { count, seed });
    expect(new Set(instances.map(({ hash }) => hash)).size).toBe(count);
    expect(new Set(instances.map(({ size, agents }) => `${size}/${agents.length}`))).toEqual(new Set(["10/1"]));
    const slots = instances.map(({ seed }) => Number(seed.split("@")[1]));
    expect(slots).toEqual(
      seed
        .child("order")
        .at(0)
        .shuffle([...Array(count).keys()]),
    );
  });

  it.each([1, 2])("tells a progress that never falls, though boards are put back, with %i workers", async (workers) => {
    const told: number[] = [];
    const small = { ...config, agents: [2], sizes: { "3": { data_ratio: 1, hole_ratio: 0.2, wait_ratio: 0 } } };
    const { manifest } = await generateTraining(small, { count: 300, seed, workers, onProgress: (done) => told.push(done) });
    expect(manifest.sampling.duplicate).toBeGreaterThanOrEqual(20);
    expect(told).toEqual([...told].sort((a, b) => a - b));
    expect(told.at(-1)).toBe(300);
  });
});

it("A packed slot gives back what was put into it, at the limits of size, agents and holes.", () => {
  const slots = new FilledSlots(3, 8);
  const holes = Array.from({ length: 50 }, (_, i) => 99 - 2 * i).reverse();
  const big = { holes, starts: [0, 2, 4, 6, 8, 10, 12, 98], goals: [98, 0, 2, 4, 6, 8, 10, 12], sum_of_costs: 65_000, makespan: 1000, sum_of_shortest: 12_345, wait_required: true }; // biome-ignore format: a board
  const small = { holes: [], starts: [3], goals: [0], sum_of_costs: 2, makespan: 2, sum_of_shortest: 2, wait_required: false };
  slots.set({ index: 2, size: 10, agents: 8, holes: [50, 50], want: "wait" }, 599, big);
  slots.set({ index: 0, size: 2, agents: 1, holes: [0, 0], want: "no-wait" }, 0, small);
  expect(slots.at(2)).toEqual({ index: 2, size: 10, round: 599, filling: big });
  expect(slots.at(0)).toEqual({ index: 0, size: 2, round: 0, filling: small });
});
