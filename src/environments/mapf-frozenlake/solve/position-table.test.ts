import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { partsOfSearches } from "./testing/compile-searches.js";

/** The agent whose codes share a block in the table under test. */
const OWN = 4;

it.each([
  ["least and greatest increases", true],
  ["least increases alone", false],
])("%s: what was entered last is found, while the table grows and after it was reset", async (_, holdsMost) => {
  const table = await partsOfSearches();
  const seed = Seed.root("position-table");
  for (let board = 0; board < 3; board++) {
    table.resetTable(Number(holdsMost));
    const random = seed.at(board);
    const entered = new Map<string, { least: number; most: number }>();
    for (let i = 0; i < 20_000; i++) {
      // Few cells, so that positions come again; three to eight agents, and every set of theirs.
      const agents = random.between(3, 8);
      let position = (BigInt(random.below(3)) << 28n) | (BigInt(random.below(2)) << 60n);
      for (let a = 0; a < agents; a++) if (a !== OWN) position |= BigInt(random.below(3) * 40) << BigInt(a < 4 ? 7 * a : 4 + 7 * a);
      const code = random.below(127);
      const key = `${position} ${code}`;
      const { least, most } = entered.get(key) ?? { least: 0, most: 255 };
      const found = [table.lookUpLeast(position, code), ...(holdsMost ? [table.lookUpMost(position, code)] : [])];
      const expected = [least, ...(holdsMost ? [most] : [])];
      if (JSON.stringify(found) !== JSON.stringify(expected)) expect([i, ...found]).toEqual([i, ...expected]);
      const value = random.below(252);
      if (holdsMost && i % 2 === 0) {
        table.setMost(position, code, value);
        entered.set(key, { least, most: value });
      } else {
        table.setLeast(position, code, value);
        entered.set(key, { least: value, most });
      }
    }
    expect(entered.size).toBeGreaterThan(5_000);
  }
});
