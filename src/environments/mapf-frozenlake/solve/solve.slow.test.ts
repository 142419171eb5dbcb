import { expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { certify } from "./solve.js";
import { differences } from "./testing/compare.js";
import { randomBoard } from "./testing/random-board.js";

it("the solver equals the brute force on 20,000 tiny boards, solvable or not", () => {
  const seed = Seed.root("solver-slow");
  const found: string[] = [];
  let compared = 0;
  for (let i = 0; compared < 20_000; i++) {
    const random = seed.at(i);
    const size = random.between(2, 4);
    const agents = random.between(2, size === 3 ? 4 : 3);
    const drawn = randomBoard(random, size, random.below(Math.floor((size * size) / 2) + 1), agents);
    if (drawn === undefined) continue;
    found.push(...differences(drawn));
    compared++;
  }
  expect(found).toEqual([]);
});

// Published per-cent figures on uniformly random boards, rounded; 4,000 samples give a standard error below 0.8.
it.each([
  [2, 0.1, 4, 10, 5],
  [2, 0.3, 4, 26, 10],
  [3, 0.1, 3, 37, 19],
  [3, 0.2, 4, 44, 21],
  [3, 0.2, 6, 28, 14],
])("%i agents, %f holes, size %i: about %i per cent in conflict and %i per cent with a wait", (agents, ratio, size, conflict, wait) => {
  const seed = Seed.root("solver-table").child(agents, size);
  let solved = 0;
  let conflicts = 0;
  let waits = 0;
  for (let i = 0; solved < 4_000; i++) {
    const drawn = randomBoard(seed.at(i), size, Math.round(ratio * size * size), agents, false);
    if (drawn === undefined) continue;
    const certificate = certify(drawn);
    if (certificate.status !== "solved") continue;
    solved++;
    if (certificate.conflict) conflicts++;
    if (certificate.wait_required) waits++;
  }
  expect(Math.abs((100 * conflicts) / solved - conflict)).toBeLessThan(4);
  expect(Math.abs((100 * waits) / solved - wait)).toBeLessThan(4);
});
