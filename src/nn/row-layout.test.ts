import fc from "fast-check";
import { expect, it } from "vitest";
import { layOut } from "./row-layout.js";

const batches = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 80 }).chain((promptOf) =>
  fc.record({
    promptOf: fc.constant(promptOf),
    length: fc.integer({ min: 1, max: 400 }),
    alive: fc.subarray([...promptOf.keys()], { minLength: 1 }),
  }),
);

it("Every row has one place, in a slot of its own prompt.", () => {
  fc.assert(
    fc.property(batches, ({ promptOf, length, alive }) => {
      const { width, prompts, places } = layOut(alive, promptOf, length);
      expect(places.length).toBe(width * prompts.length);
      expect(places.filter((row) => row !== undefined).sort((a, b) => a - b)).toEqual(alive);
      places.forEach((row, place) => {
        if (row !== undefined) expect(promptOf[row]).toBe(prompts[Math.floor(place / width)]);
      });
    }),
  );
});

it("A batch never has more than half again as many places as rows.", () => {
  fc.assert(
    fc.property(batches, ({ promptOf, length, alive }) => {
      expect(layOut(alive, promptOf, length).places.length).toBeLessThanOrEqual(1.5 * alive.length);
    }),
  );
});

it("Even groups share one slot a prompt; prompts of their own, and uneven groups of short prompts, are packed closely.", () => {
  const groups = Array.from({ length: 64 }, (_, row) => Math.floor(row / 8));
  const all = [...groups.keys()];
  expect(layOut(all, groups, 30)).toMatchObject({ width: 8, prompts: [0, 1, 2, 3, 4, 5, 6, 7] });
  expect(layOut(all, all, 30)).toMatchObject({ width: 1, prompts: all, places: all });
  const thinned = all.filter((row) => row % 8 < 1 + Math.floor(row / 8));
  expect(layOut(thinned, groups, 30).places.length).toBeLessThan(1.2 * thinned.length);
});

it("No layout of another width is cheaper.", () => {
  fc.assert(
    fc.property(batches, ({ promptOf, length, alive }) => {
      const { cost } = layOut(alive, promptOf, length);
      const counts = new Map<number, number>();
      for (const row of alive) counts.set(promptOf[row]!, (counts.get(promptOf[row]!) ?? 0) + 1);
      for (let width = 1; width <= 80; width++) {
        const slots = [...counts.values()].reduce((total, n) => total + Math.ceil(n / width), 0);
        if (slots * width <= 1.5 * alive.length) expect(cost).toBeLessThanOrEqual(slots * width + (slots * length) / 120 + 1e-9);
      }
    }),
  );
});
