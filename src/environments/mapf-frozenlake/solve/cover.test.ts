import fc from "fast-check";
import { expect, it } from "vitest";
import { partsOfSearches } from "./testing/compile-searches.js";

const parts = await partsOfSearches();

/** Writes the weights to where the searches read them. */
function place(table: Int32Array): number {
  const at = parts.weightsAt();
  new Uint8Array(parts.memory.buffer, at, 64).set(table);
  return at;
}

const smallestCover = (table: Int32Array, agents: number) => parts.smallestCover(place(table), agents);
const coverFits = (table: Int32Array, agents: number, limit: number) => parts.coverFits(place(table), agents, limit) !== 0;

function delta(pairs: [number, number, number][]): Int32Array {
  const table = new Int32Array(64);
  for (const [i, j, d] of pairs) table[i * 8 + j] = d;
  return table;
}

it("one interfering pair costs its own increase", () => {
  expect(smallestCover(delta([[0, 2, 3]]), 3)).toBe(3);
});

it("a triangle of ones costs two, a star of ones costs one", () => {
  expect(smallestCover(delta([[0, 1, 1], [0, 2, 1], [1, 2, 1]]), 3)).toBe(2); // biome-ignore format: one cover a line
  expect(smallestCover(delta([[0, 1, 1], [0, 2, 1], [0, 3, 1]]), 4)).toBe(1); // biome-ignore format: one cover a line
});

it("disjoint pairs add up", () => {
  expect(smallestCover(delta([[0, 3, 2], [1, 2, 5]]), 4)).toBe(7); // biome-ignore format: one cover a line
});

/** The least sum, by giving the agents every value in turn. */
function byTrying(table: Int32Array, agents: number): number {
  let least = Number.POSITIVE_INFINITY;
  const x: number[] = [];
  const give = (a: number, sum: number): void => {
    if (a === agents) least = Math.min(least, sum);
    if (a === agents) return;
    const owed = Math.max(0, ...x.map((value, i) => table[i * 8 + a]! - value));
    for (let value = owed; value <= 31 && sum + value < least; value++) {
      x[a] = value;
      give(a + 1, sum + value);
    }
    x.length = a;
  };
  give(0, 0);
  return least;
}

const agents = fc.integer({ min: 2, max: 6 });
/** Small weights bring out roundings, large ones the rest; many pairs do not interfere. */
const weighted = (count: number) =>
  fc.integer({ min: 1, max: count > 5 ? 4 : 12 }).chain((most) => {
    const pairs = Array.from({ length: count }, (_, a) => a).flatMap((b) => Array.from({ length: b }, (_, a) => [a, b] as const));
    const weight = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: most }));
    return fc.tuple(...pairs.map(() => weight)).map((weights) => delta(pairs.map(([a, b], i) => [a, b, weights[i]!])));
  });

it("equals trying every value on random weights of two to six agents", () => {
  const cases = agents.chain((count) => weighted(count).map((table) => [count, table] as const));
  fc.assert(
    fc.property(cases, ([count, table]) => {
      const least = byTrying(table, count);
      expect(smallestCover(table, count)).toBe(least);
      expect(coverFits(table, count, least)).toBe(true);
      expect(coverFits(table, count, least - 1)).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

it("equals trying every value on all weights of four agents up to two", () => {
  for (let code = 0; code < 3 ** 6; code++) {
    const d = (place: number) => Math.floor(code / 3 ** place) % 3;
    const table = delta([[0, 1, d(0)], [0, 2, d(1)], [1, 2, d(2)], [0, 3, d(3)], [1, 3, d(4)], [2, 3, d(5)]]); // biome-ignore format: one cover a line
    expect(smallestCover(table, 4)).toBe(byTrying(table, 4));
  }
});

it("equals trying every value on all weights of five agents up to one", () => {
  for (let code = 0; code < 2 ** 10; code++) {
    let place = 0;
    const pairs: [number, number, number][] = [];
    for (let b = 1; b < 5; b++) for (let a = 0; a < b; a++) pairs.push([a, b, (code >> place++) & 1]);
    expect(smallestCover(delta(pairs), 5)).toBe(byTrying(delta(pairs), 5));
  }
});

it("tells at once with which of eight options of the last of three to five agents the cover fits", () => {
  const lane = fc.tuple(fc.integer({ min: 0, max: 2 }), fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 4, maxLength: 4 }));
  const lanes = fc.array(lane, { minLength: 8, maxLength: 8 });
  const cases = fc
    .integer({ min: 3, max: 5 })
    .chain((count) => fc.tuple(fc.constant(count), weighted(count - 1), lanes, fc.integer({ min: 0, max: 24 })));
  let fitting = 0;
  let failing = 0;
  fc.assert(
    fc.property(cases, ([count, table, options, limit]) => {
      place(table);
      const room = new Uint8Array(parts.memory.buffer, parts.optionsAt(), 64);
      let expected = 0;
      for (const [v, [added, increases]] of options.entries()) {
        room[v] = added;
        const whole = table.slice();
        for (let a = 0; a < count - 1; a++) {
          room[8 * (a + 1) + v] = added + increases[a]!;
          whole[a * 8 + count - 1] = increases[a]!;
        }
        if (byTrying(whole, count) + added <= limit) expected |= 1 << v;
      }
      const alive = 0b1101_1111;
      expect(parts.optionsThatFit(count, limit, alive)).toBe(expected & alive);
      for (let v = 0; v < 8; v++) expected & (1 << v) ? fitting++ : failing++;
    }),
    { numRuns: 2_000 },
  );
  expect(Math.min(fitting, failing)).toBeGreaterThan(2_000);
});
