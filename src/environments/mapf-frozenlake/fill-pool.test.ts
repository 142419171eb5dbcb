import { describe, expect, it } from "vitest";
import { Seed } from "../../core/index.js";
import { openPool } from "./fill-pool.js";
import type { Slot } from "./quota.js";

const COUNT = 200;
const indices = (count: number) => [...Array(count).keys()];
const slot = (index: number): Slot => ({ index, size: 4, agents: 2, holes: [3, 3], want: "conflict" });
/** No board of this cell has a solution (empty-classes.ts), which the search is not told. */
const empty = (index: number): Slot => ({ index, size: 3, agents: 5, holes: [4, 4], want: "wait" });

it("one thread hands every result over before it takes up the next slot, so that none is held", async () => {
  const { happened } = await fill(1);
  expect(happened).toEqual(indices(COUNT).flatMap((i) => [`slot ${i}`, `result ${i}`]));
});

describe.each([1, 2])("with %i workers", (workers) => {
  it("results are handed over in the order of the slots", async () => {
    const { taken } = await fill(workers);
    expect(taken).toEqual(indices(COUNT));
  });

  it("nothing comes after the first slot that cannot be filled, where that is to be the end", async () => {
    const { taken } = await fill(workers, { slotAt: (i) => (i === 70 || i === 130 ? empty(i) : slot(i)) });
    expect(taken).toEqual(indices(71));
  });

  it("what takes results may stop it, and gets none afterwards", async () => {
    const taken: number[] = [];
    const take = (index: number) => {
      taken.push(index);
      // Meanwhile other workers have their chunks ready.
      for (const end = performance.now() + 2; performance.now() < end; );
      if (index === 40) throw new Error("enough");
    };
    await expect(fill(workers, { take })).rejects.toThrow("enough");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(taken).toEqual(indices(41));
  });
});

interface Options {
  slotAt?: (index: number) => Slot;
  take?: (index: number) => void;
}

async function fill(workers: number, { slotAt = slot, take }: Options = {}): Promise<{ taken: number[]; happened: string[] }> {
  const taken: number[] = [];
  const happened: string[] = [];
  const pool = openPool(workers, COUNT);
  try {
    await pool.fill({
      slots: {
        length: COUNT,
        at: (i) => {
          happened.push(`slot ${i}`);
          return slotAt(i);
        },
      },
      seed: Seed.root("fill-pool.test"),
      tally: {},
      stopAtUnfillable: true,
      take: ({ index }) => {
        taken.push(index);
        happened.push(`result ${index}`);
        take?.(index);
      },
      onTurn: () => {},
    });
  } finally {
    await pool.close();
  }
  return { taken, happened };
}
