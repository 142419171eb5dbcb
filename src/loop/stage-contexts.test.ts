/**
 * What an engineer is shown of one stored stage of a real run (the tiny recipe's third, with two failed answers and an explanation put in), under
 * every variant in both renderings, as it was once read and found good. A change of wording anywhere (the family's guideline, knobs and codes
 * included) is a change of these files, and is seen in review.
 */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type EnvironmentFamily, parseJsonWith } from "../core/index.js";
import { engineerContextSchema, engineerWords, renderChat, renderCompact, splitWords, VARIANTS } from "../engineers/index.js";
import { familyByName } from "../environments/index.js";

const fixtures = new URL("fixtures/", import.meta.url);
const family: EnvironmentFamily = familyByName("mapf-frozenlake");
const context = parseJsonWith(engineerContextSchema, readFileSync(new URL("context.json", fixtures), "utf8"), "context.json");

it.each(VARIANTS.map((v) => [v.name, v] as const))("the context of a stored stage under %s reads as it is kept, in Markdown and in words", async (name, variant) => {
  const compact = renderCompact(context, variant, family);
  const known = new Set(engineerWords(family.allStrata, family));
  expect(splitWords(compact)!.filter((word) => !known.has(word))).toEqual([]);
  await expect(renderChat(context, variant, family)).toMatchFileSnapshot(`fixtures/${name}.chat.md`);
  await expect(`${compact}\n`).toMatchFileSnapshot(`fixtures/${name}.compact.txt`);
}); // biome-ignore format: one test

it("there is a file for each variant and rendering, and no other", () => {
  const expected = VARIANTS.flatMap((v) => [`${v.name}.chat.md`, `${v.name}.compact.txt`]);
  expect(readdirSync(fixtures).sort()).toEqual([...expected, "context.json"].sort());
});
