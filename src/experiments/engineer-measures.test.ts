import { expect, it } from "vitest";
import { recipeSchema } from "../core/index.js";
import type { RunHistory, RunReader } from "../evaluation/index.js";
import { measureEngineer, measuresTable } from "./engineer-measures.js";

it("an engineer whose every proposal was rejected has no frontier focus: n/a, not zero", async () => {
  const recipe = recipeSchema.parse({ name: "a", stages: 1, instances: 1, config: { agents: [2] }, base: "/base" });
  const history = { recipe, stages: [{ index: 0, proposal: { outcome: "rejected" } }] } as unknown as RunHistory;
  const measures = await measureEngineer({ has: async () => true } as unknown as RunReader, history);
  expect(measures).toMatchObject({
    proposals: { rejected: 1 },
    frontier_focus: null,
    template: null,
    preservation: { shares: null, ratios: null },
  });
  const shown = Object.fromEntries(measuresTable(measures!).rows.map(([name, value]) => [name, value]));
  expect(shown).toMatchObject({ "frontier focus": "n/a", template: "n/a" });
});
