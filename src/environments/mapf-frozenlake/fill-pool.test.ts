import { expect, it } from "vitest";
import { Seed } from "../../core/index.js";
import { openPool } from "./fill-pool.js";
import type { Slot } from "./quota.js";

const COUNT = 200;
const slot = (index: number): Slot => ({ index, size: 4, agents: 2, holes: [3, 3], want: "conflict" });

it.each([1, 2])("results are handed over in the order of the slots, with %i workers", async (workers) => {
  const { taken } = await fill(workers);
  expect(taken).toEqual([...Array(COUNT).keys()]);
});

it("one thread hands every result over before it takes up the next slot, so that none is held", async () => {
  const { happened } = await fill(1);
  expect(happened).toEqual([...Array(COUNT).keys()].flatMap((i) => [`slot ${i}`, `result ${i}`]));
});

it.each([1, 2])("what takes results may stop it, with %i workers", async (workers) => {
  await expect(fill(workers, 70)).rejects.toThrow("enough");
});

async function fill(workers: number, stopAt = COUNT): Promise<{ taken: number[]; happened: string[] }> {
  const taken: number[] = [];
  const happened: string[] = [];
  const pool = openPool(workers, COUNT);
  try {
    await pool.fill({
      slots: {
        length: COUNT,
        at: (i) => {
          happened.push(`slot ${i}`);
          return slot(i);
        },
      },
      seed: Seed.root("fill-pool.test"),
      tally: {},
      stopAtUnfillable: true,
      take: ({ index }, { filling }) => {
        if (index === stopAt) throw new Error("enough");
        expect(filling).toBeDefined();
        taken.push(index);
        happened.push(`result ${index}`);
      },
      onTurn: () => {},
    });
  } finally {
    await pool.close();
  }
  return { taken, happened };
}
