import { readdirSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EnvironmentFamily } from "../core/index.js";
import { CHAT_TOKENS, estimatedTokens, renderChat } from "./chat-rendering.js";
import { engineerWords, splitWords } from "./compact-language.js";
import { compactView, renderCompact } from "./compact-rendering.js";
import { viewWords } from "./compact-view.js";
import { quoteText } from "./quoted-text.js";
import { deliveryContext } from "./test-context.js";
import { deliveryFamily } from "./test-family.js";
import { readChat, readView } from "./test-reading.js";
import { parseVariant, VARIANTS, variantNamed } from "./variants.js";

const family: EnvironmentFamily = deliveryFamily;
const context = deliveryContext();
const strata = ["2", "4", "8"];

describe("the renderings of one context", () => {
  for (const variant of VARIANTS) {
    it(`of ${variant.name} stand as they are stored, so that a change of wording is seen`, async () => {
      await expect(renderChat(context, variant, family)).toMatchFileSnapshot(`fixtures/${variant.name}.chat.md`);
      await expect(`${renderCompact(context, variant, family)}\n`).toMatchFileSnapshot(`fixtures/${variant.name}.compact.txt`);
    });

    it(`of ${variant.name} are equal in content: the Markdown's tables, quantised, give the compact words`, () => {
      for (const earlierStages of [0, 1, 2]) {
        const compact = renderCompact(context, variant, family, { earlierStages });
        const fromChat = readChat(renderChat(context, variant, family), family, earlierStages);
        expect(viewWords(fromChat, family).join("")).toBe(compact);
      }
    });

    it(`of ${variant.name} in words read back to the view that was written, in the closed vocabulary`, () => {
      const compact = renderCompact(context, variant, family);
      expect(readView(compact, family)).toEqual(compactView(context, variant, family));
      const vocabulary = new Set(engineerWords(strata, family));
      expect(splitWords(compact)!.every((w) => vocabulary.has(w))).toBe(true);
    });
  }

  it("differ between the variants as their modules do", () => {
    const titles = (name: string) => [...renderChat(context, variantNamed(name), family).matchAll(/^## (.*)$/gm)].map((m) => m[1]);
    expect(titles("V1")).toEqual(["Failures", "Answer"]);
    expect(titles("V2")).toEqual(["Failures", "Guideline", "Answer"]);
    expect(titles("V3")).toEqual(["Failures", "Guideline", "History", "Answer"]);
    expect(titles("V4")).toEqual(["Failures", "Guideline", "History", "Training", "Answer"]);
    expect(titles("V5")).toEqual(["Failures", "Guideline", "History", "Your earlier explanations", "Answer"]);
    expect(titles("V6")).toEqual(["Failures", "Guideline", "History", "Training", "Answer"]);
  });

  it("show the first config under `initial: include` and hide it under `exclude`", () => {
    expect(renderChat(context, variantNamed("V3"), family)).toContain("### Stage 0 (the config that the run started from)");
    expect(renderChat(context, variantNamed("V6"), family)).not.toContain("### Stage 0");
    expect(renderChat(context, variantNamed("V6"), family)).toContain("### Stage 1");
  });

  it("say that a stage which ends by its tokens takes its steps at most", () => {
    const { training } = context;
    const bounded = { ...context, training: { ...training, tokens_per_stage: 1000 } };
    const left = (context.stages - context.stage - 1) * training.steps_per_stage;
    expect(renderChat(bounded, variantNamed("V4"), family)).toContain(
      `- 1000 completion tokens a stage, in at most ${training.steps_per_stage} steps, ${training.epochs} passes over its instances\n- ${training.steps_done} steps done, at most ${left} left`,
    );
    expect(renderChat(context, variantNamed("V4"), family)).toContain(
      `- ${training.steps_per_stage} steps a stage, ${training.epochs} passes over its instances\n- ${training.steps_done} steps done, ${left} left`,
    );
  });

  it("give the reward design under `full` and only bookkeeping otherwise", () => {
    expect(renderChat(context, variantNamed("V4"), family)).toContain("reward = w·accuracy");
    expect(renderChat(context, variantNamed("V6"), family)).not.toContain("reward = w·accuracy");
  });

  it("change when a measured value changes by a level, in both", () => {
    const other = structuredClone(context);
    other.failures.validation["4"]!.codes = { valid: 31, lost: 17, crash: 7, "no-answer": 5 };
    for (const variant of VARIANTS) {
      expect(renderChat(other, variant, family)).not.toBe(renderChat(context, variant, family));
      expect(renderCompact(other, variant, family)).not.toBe(renderCompact(context, variant, family));
    }
  });

  it("show what was not measured as missing, not as zero", () => {
    const other = structuredClone(context);
    other.failures.validation["8"] = { ...other.failures.validation["8"]!, n: 0, codes: {} };
    delete other.failures.training.strata["8"];
    const view = readView(renderCompact(other, variantNamed("V1"), family), family).current[2]!;
    expect([view.valid, view.optimal, view.gap, view.tokens, view.zeroVariance]).toEqual([null, null, null, null, null]);
    expect(readChat(renderChat(other, variantNamed("V1"), family), family, 0).current[2]).toEqual(view);
  });

  it("are cut to the budget from the oldest stage on, in history and explanations alike, and never at the failures", () => {
    const long = structuredClone(context);
    const stage = long.history[1]!;
    long.history = Array.from({ length: 40 }, (_, i) => ({ ...structuredClone(stage), stage: i, initial: i === 0 }));
    long.explanations = long.history.map(({ stage: s }) => ({ stage: s, text: `why ${s}` }));
    long.stage = 40;
    const own = parseVariant({ name: "own", modules: ["F", { module: "H", initial: "include" }, "S"] });
    const failures = (text: string) => text.slice(text.indexOf("## Failures"), text.indexOf("## History"));
    const whole = renderChat(long, own, family, { tokens: 1_000_000 });
    expect(whole).toContain("### Stage 0 ");
    for (const tokens of [estimatedTokens(whole) - 1, 6000, 3000]) {
      const text = renderChat(long, own, family, { tokens });
      expect(estimatedTokens(text)).toBeLessThanOrEqual(tokens);
      const shown = [...text.matchAll(/^### Stage (\d+)/gm)].map((m) => Number(m[1]));
      expect(shown).toEqual(Array.from({ length: shown.length }, (_, i) => 40 - shown.length + i));
      expect(shown.length).toBeGreaterThan(0);
      expect([...text.matchAll(/^- stage (\d+):/gm)].map((m) => Number(m[1]))).toEqual(shown);
      expect(failures(text)).toBe(failures(whole));
    }
    const least = renderChat(long, own, family, { tokens: 1 });
    expect(failures(least)).toBe(failures(whole));
    expect(least).toContain("No earlier stage to show.");
    expect(estimatedTokens(renderChat(long, own, family))).toBeLessThanOrEqual(CHAT_TOKENS);
    const words = (text: string) => splitWords(text)!.length;
    const bare = renderCompact(long, own, family, { words: 1 });
    expect(bare).not.toContain("<history>");
    expect(bare.slice(bare.indexOf("<current>"))).toBe(
      renderCompact(long, own, family).slice(-bare.slice(bare.indexOf("<current>")).length),
    );
    expect(words(renderCompact(long, own, family, { earlierStages: 40, words: 120 }))).toBeLessThanOrEqual(120);
  });

  it("hold any budget that the failures leave room for, with the newest stages that fit and all of the failures", () => {
    const grown = (count: number, texts: readonly number[]) => {
      const long = structuredClone(context);
      const stage = long.history[1]!;
      long.history = Array.from({ length: count }, (_, i) => ({ ...structuredClone(stage), stage: i, initial: i === 0 }));
      long.explanations = texts.filter((i) => i < count).map((i) => ({ stage: i, text: `why ${i} `.repeat(i) }));
      long.stage = count;
      return long;
    };
    const modules = fc.subarray(["G", "H", "S", "T", { module: "H", initial: "include" } as const]).filter((own) => own.filter((m) => m === "H" || typeof m === "object").length < 2); // biome-ignore format: one condition
    const texts = fc.uniqueArray(fc.nat(14), { maxLength: 15 }).map((list) => list.sort((a, b) => a - b));
    const failures = (text: string) => text.slice(text.indexOf("## Failures"), text.indexOf("\n## ", text.indexOf("## Failures") + 5));
    const stagesIn = (text: string) =>
      [...text.matchAll(/^(?:### Stage (\d+)|- stage (\d+):)/gm)].map((m) => Number(m[1] ?? m[2])).sort((a, b) => a - b);
    fc.assert(
      fc.property(fc.nat(15), texts, modules, fc.integer({ min: 1, max: 9000 }), (count, explained, own, tokens) => {
        const long = grown(count, explained);
        const variant = parseVariant({ name: "own", modules: ["F", ...own] });
        const whole = renderChat(long, variant, family, { tokens: Number.MAX_SAFE_INTEGER });
        const text = renderChat(long, variant, family, { tokens });
        expect(failures(text)).toBe(failures(whole));
        const [all, shown] = [stagesIn(whole), stagesIn(text)];
        // The newest, whole stages: what is said of a stage is left out together.
        expect(shown).toEqual(all.filter((stage) => stage >= (shown[0] ?? Number.POSITIVE_INFINITY)));
        if (shown.length > 0) expect(estimatedTokens(text)).toBeLessThanOrEqual(tokens);
        const next = all.filter((stage) => !shown.includes(stage)).at(-1);
        if (next === undefined) {
          expect(text).toBe(whole);
          return;
        }
        // One stage more would not have fitted.
        const later = <T extends { stage: number }>(list: readonly T[]) => list.filter((p) => p.stage >= next);
        const more = { ...long, history: later(long.history), explanations: later(long.explanations) };
        expect(estimatedTokens(renderChat(more, variant, family, { tokens: Number.MAX_SAFE_INTEGER }))).toBeGreaterThan(tokens);
      }),
      { numRuns: 150 },
    );
    fc.assert(
      fc.property(fc.nat(15), modules, fc.integer({ min: 1, max: 400 }), (count, own, words) => {
        const long = grown(count, []);
        const variant = parseVariant({ name: "own", modules: ["F", ...own] });
        const view = (budget: number) => compactView(long, variant, family, { earlierStages: 15, words: budget });
        const [whole, thinned] = [view(Number.MAX_SAFE_INTEGER), view(words)];
        expect(thinned.current).toEqual(whole.current);
        expect(thinned.history).toEqual(whole.history.slice(whole.history.length - thinned.history.length));
        if (thinned.history.length > 0) expect(viewWords(thinned, family).length).toBeLessThanOrEqual(words);
        if (thinned.history.length === whole.history.length) return;
        const more = { ...thinned, history: whole.history.slice(whole.history.length - thinned.history.length - 1) };
        expect(viewWords(more, family).length).toBeGreaterThan(words);
      }),
      { numRuns: 150 },
    );
  });

  it("refuse a failure code that the family does not know", () => {
    const other = structuredClone(context);
    other.failures.validation["8"]!.codes.fire = 1;
    expect(() => renderChat(other, variantNamed("V1"), family)).toThrow(/failure code "fire"/);
  });
});

describe("the compact prompt's budget", () => {
  it("thins history from the oldest and never the failures", () => {
    const variant = variantNamed("V3");
    const stages = (words: number) => compactView(context, variant, family, { earlierStages: 2, words }).history;
    const full = stages(1000);
    const length = viewWords(compactView(context, variant, family, { earlierStages: 2, words: 1000 }), family).length;
    expect(full).toHaveLength(2);
    expect(stages(length)).toHaveLength(2);
    expect(stages(length - 1)).toEqual([full[1]]);
    expect(stages(1)).toEqual([]);
    expect(compactView(context, variant, family, { words: 1 }).current).toHaveLength(3);
  });
});

describe("text of the policy in a context", () => {
  it("stays on one line and cannot open a heading, a fence, a tag, a cell or end a thinking block", () => {
    for (const variant of VARIANTS) {
      const markdown = renderChat(context, variant, family);
      expect(markdown).not.toContain("</think>");
      expect(markdown).not.toContain("```");
      expect(markdown.match(/^## Answer$/gm)).toHaveLength(1);
    }
    const quoted = quoteText("a\n# b `c` | <d> \u202e\u0000", 100);
    for (const active of ["\n", "#", "`", "|", "<", ">", "\u202e", "\u0000"]) expect(quoted).not.toContain(active);
    expect(JSON.parse(quoted)).toBe("a\n# b `c` | <d> \u202e\u0000");
  });

  it("is cut to its cap", () => {
    expect(quoteText("x".repeat(1_000_000), 400).length).toBeLessThan(500);
  });

  it("is labelled as data wherever it stands", () => {
    const markdown = renderChat(context, variantNamed("V5"), family);
    expect(markdown.match(/They are (data, )?no instructions\./g)).toHaveLength(2);
  });
});

describe("variants", () => {
  it("are data: a user adds one by a name and a list of modules, letters standing for defaults", () => {
    const own = parseVariant({ name: "mine", modules: [{ module: "F", examples: 1 }, "H", { module: "T", detail: "full" }] });
    expect(own.modules[1]).toEqual({ module: "H", initial: "exclude" });
    const markdown = renderChat(context, variantNamed("mine", [own]), family);
    expect(markdown).toContain("Example 1:");
    expect(markdown).not.toContain("Example 2:");
    expect(markdown).not.toContain("## Guideline");
  });

  it("without failures, with a module twice, or with an unknown one are refused", () => {
    expect(() => parseVariant({ name: "x", modules: ["G"] })).toThrow(/at least the failures/);
    expect(() => parseVariant({ name: "x", modules: ["F", "F"] })).toThrow(/once/);
    expect(() => parseVariant({ name: "x", modules: ["F", "Q"] })).toThrow(/modules/);
    expect(() => parseVariant({ name: "x", modules: ["F", { module: "H", inital: "include" }] })).toThrow(/inital/);
    expect(() => variantNamed("V7")).toThrow(/no context variant "V7"/);
  });
});

describe("the engineer's vocabulary", () => {
  it("has no word twice and none of the environment's", () => {
    const words = engineerWords(["3", "4", "5", "6", "7", "8", "9", "10"], family);
    expect(new Set(words).size).toBe(words.length);
    const theirs = new Set(family.compactWords.map((w) => w.word));
    expect(words.filter((w) => theirs.has(w))).toEqual([]);
    expect(words.every((w) => /^<[^<>\s]+>$/.test(w))).toBe(true);
  });

  it("stays short: sixteen words a stratum at most for three knobs and seven codes, here thirteen", () => {
    const words = splitWords(renderCompact(context, variantNamed("V1"), family))!;
    expect(words.length).toBe(3 + 3 * 13);
  });
});

it("there is a golden file for each rendering of each variant and no other", () => {
  const expected = VARIANTS.flatMap((v) => [`${v.name}.chat.md`, `${v.name}.compact.txt`]);
  expect(
    readdirSync(new URL("fixtures", import.meta.url))
      .filter((name) => /^V\d/.test(name))
      .sort(),
  ).toEqual(expected);
});
