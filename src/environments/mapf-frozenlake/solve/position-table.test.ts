import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { partsOfSearches } from "./testing/compile-searches.js";

it("what was entered last is found, while the table grows and after it was reset", async () => {
  const table = await partsOfSearches();
  const seed = Seed.root("position-table");
  for (let board = 0; board < 3; board++) {
    table.resetTable();
    const random = seed.at(board);
    const entered = new Map<bigint, { least: number; most: number }>();
    for (let i = 0; i < 20_000; i++) {
      // Few cells, so that positions come again; three to eight agents, and every set of theirs.
      const agents = random.between(3, 8);
      let position = (BigInt(random.below(3)) << 28n) | (BigInt(random.below(2)) << 60n);
      for (let a = 0; a < agents; a++) position |= BigInt(random.below(3) * 40) << BigInt(a < 4 ? 7 * a : 4 + 7 * a);
      const found = table.lookUp(position);
      const known = entered.get(position);
      if (found !== (known === undefined ? -1 : known.most * 256 + known.least)) expect([i, found]).toEqual([i, known]);
      const { least, most } = known ?? { least: 0, most: 255 };
      const value = random.below(252);
      if (i % 2 === 0) {
        table.setLeast(position, value);
        entered.set(position, { least: value, most });
      } else {
        table.setMost(position, value);
        entered.set(position, { least, most: value });
      }
    }
    expect(entered.size).toBeGreaterThan(5_000);
  }
});
