import { expect, it } from "vitest";
import { recipeSchema } from "../core/index.js";
import type { RunHistory, RunReader } from "../evaluation/index.js";
import { measureEngineer, measuresTable } from "./engineer-measures.js";

it("gains are told stage by stage, and for a million tokens with their interval over boards", async () => {
  const recipe = recipeSchema.parse({ name: "a", stages: 2, instances: 1, config: { agents: [2] }, base: "/base" });
  const valid = (count: number) => ({
    outcomes: Array.from({ length: 100 }, (_, i) => (i < count ? 1 : 0)),
    total: { valid: { rate: count / 100 } },
  });
  const stage = (index: number, count: number) => ({ index, proposal: { outcome: "rejected" }, training: { completion_tokens: 250_000 }, validation: valid(count) }); // biome-ignore format: one stage
  const history = { recipe, base: valid(50), stages: [stage(0, 40), stage(1, 60)] } as unknown as RunHistory;
  const measures = (await measureEngineer({ has: async () => true } as unknown as RunReader, history))!;
  expect(measures.gains.stages.map((g) => g.difference)).toEqual([expect.closeTo(-0.1), expect.closeTo(0.2)]);
  const shown = Object.fromEntries(measuresTable(measures).rows.map(([name, value]) => [name, value]));
  // Ten boards of a hundred lost, then twenty won: errors of sqrt(0.09 / 99) and sqrt(0.16 / 99).
  expect(shown["gain of stage 0"]).toBe("−10.0 [−15.9, −4.1]");
  expect(shown["gain of stage 1"]).toBe("+20.0 [+12.1, +27.9]");
  // Ten boards of a hundred won for half a million tokens: an error of sqrt(0.09 / 99), twice.
  const half = 1.96 * 20 * 10 * Math.sqrt(0.09 / 99);
  expect(shown["gain per M tokens"]).toBe(`+20.0 [+${(20 - half).toFixed(1)}, +${(20 + half).toFixed(1)}]`);
});

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
