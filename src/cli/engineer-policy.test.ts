import { expect, it } from "vitest";
import { type Policy, parseWith, recipeSchema } from "../core/index.js";
import { openEngineerPolicy } from "./engineer-policy.js";
import type { PolicyRequest } from "./policy-spec.js";
import { loadRecipe } from "./recipes.js";

const policy: Policy = { name: "model", rendering: "chat", complete: async () => [], close: async () => {} };

it.each([
  [3, 1, 1],
  [3, undefined, 3],
])("the language model of a run uses the workers of the command line (recipe %j, --workers %j: %j)", async (inRecipe, asked, used) => {
  const engineer = { name: "llm", policy: "gguf:model.gguf" };
  const recipe = parseWith(recipeSchema, { ...loadRecipe("smoke", []).recipe, workers: inRecipe, engineer }, "test");
  const requests: PolicyRequest[] = [];
  const { opener, close } = await openEngineerPolicy(recipe, "calls", asked, async (request) => {
    requests.push(request);
    return policy;
  });
  expect(opener).toBeDefined();
  expect(requests.map(({ spec, workers }) => [spec, workers])).toEqual([["gguf:model.gguf", used]]);
  await close();
});
