import { describe, expect, it } from "vitest";
import { Seed } from "../core/index.js";
import { answerWords, engineerWords, PROPOSE, splitWords, writeAnswer } from "./compact-language.js";
import { decodeCompactAnswer } from "./decode.js";
import { engineeringDemonstration } from "./demonstrations.js";
import { ruleTable } from "./rule-engineer.js";
import { deliveryFamily as family } from "./test-family.js";
import { readView } from "./test-reading.js";

const strata = ["2", "4", "8"];
const seed = Seed.root("demonstrations");
const many = (history: boolean) => Array.from({ length: 300 }, (_, i) => engineeringDemonstration(seed.at(i), strata, family, { history }));

describe("demonstrations of engineering", () => {
  it("are written in the closed vocabulary, from its opening to the word that asks for the proposal", () => {
    const vocabulary = new Set(engineerWords(strata, family));
    for (const { prompt, answer } of many(true)) {
      const words = splitWords(prompt)!;
      expect(words.filter((w) => !vocabulary.has(w))).toEqual([]);
      expect(words.at(-1)).toBe(PROPOSE);
      expect(words.indexOf(PROPOSE)).toBe(words.length - 1);
      const grammar = answerWords(strata, family);
      expect(splitWords(answer)!.every((w, i) => grammar[i]!.includes(w))).toBe(true);
    }
  });

  it("answer as the rule answers what the prompt shows, and nothing else", () => {
    for (const { prompt, answer } of many(true)) {
      const chosen = ruleTable(readView(prompt, family), family);
      expect(answer).toBe(writeAnswer(chosen, strata, family));
      expect(decodeCompactAnswer(answer, { family, strata, previous: {} }).ok).toBe(true);
    }
  });

  it("show an earlier stage only when asked to, and then not always", () => {
    const withHistory = (list: { prompt: string }[]) => list.filter((d) => d.prompt.includes("<history>")).length;
    expect(withHistory(many(false))).toBe(0);
    expect(withHistory(many(true))).toBeGreaterThan(150);
    expect(withHistory(many(true))).toBeLessThan(270);
  });

  it("cover easy and hopeless strata and every level of the ratios that the rule can choose", () => {
    const views = many(false).map((d) => readView(d.prompt, family));
    for (let stratum = 0; stratum < 3; stratum++) {
      const valid = new Set(views.map((v) => v.current[stratum]!.valid));
      expect(valid.size).toBeGreaterThanOrEqual(9);
    }
    const chosen = new Set(views.flatMap((v) => Object.values(ruleTable(v, family)).map((row) => row.fog)));
    for (let level = 2; level <= 9; level++) expect(chosen).toContain(level);
  });

  it("repeat with their stream", () => {
    expect(engineeringDemonstration(seed.at(3), strata, family, { history: true })).toEqual(many(true)[3]);
  });
});
