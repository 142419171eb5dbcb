import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { TupleMemory } from "./tuple-memory.js";

it("what was entered last is found, while the memory grows and after it was reset", () => {
  const memory = new TupleMemory();
  const seed = Seed.root("tuple-memory");
  for (let board = 0; board < 3; board++) {
    memory.reset();
    const random = seed.at(board);
    const entered = new Map<string, { least: number; most: number }>();
    for (let i = 0; i < 20_000; i++) {
      // Few cells, so that positions come again; three to eight agents, and every set of theirs.
      const agents = random.between(3, 8);
      const code = (shift: number) => (random.below(3) * 40) << shift;
      let low = random.below(3) << 28;
      let high = random.below(2) << 28;
      for (let a = 0; a < agents; a++) {
        if (a < 4) low |= code(7 * a);
        else high |= code(7 * (a - 4));
      }
      const key = `${low},${high}`;
      const entry = memory.find(low, high);
      const found = entry < 0 ? undefined : { least: memory.least(entry), most: memory.most(entry) };
      if (JSON.stringify(found) !== JSON.stringify(entered.get(key))) expect(found).toEqual(entered.get(key));
      const known = entered.get(key) ?? { least: 0, most: 255 };
      const value = random.below(252);
      if (i % 2 === 0) {
        memory.setLeast(low, high, value);
        entered.set(key, { ...known, least: value });
      } else {
        memory.setMost(low, high, value);
        entered.set(key, { ...known, most: value });
      }
    }
    expect(entered.size).toBeGreaterThan(5_000);
  }
});
