import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { KnobTable } from "../core/index.js";
import { scanObjects } from "./answer-objects.js";
import { answerWords, knobValues } from "./compact-language.js";
import { decodeChatAnswer, decodeCompactAnswer } from "./decode.js";
import { deliveryConfig, deliveryFamily as family } from "./test-family.js";

const strata = ["2", "4", "8"];
const previous = family.knobTable(deliveryConfig());
const target = { family, strata, previous };
const good: KnobTable = {
  "2": { load: 0.2, fog: 0.1, traffic: 0.1 },
  "4": { load: 0.5, fog: 0.2, traffic: 0.2 },
  "8": { load: 0.3, fog: 0.9, traffic: 0.5 },
};
const answer = JSON.stringify({ rationale: "because", config: good });
const decode = (text: string) => decodeChatAnswer(text, "stop", target);
const with2 = (row: unknown) => JSON.stringify({ config: { ...good, "2": row } });

function accepted(text: string, table: KnobTable = good) {
  const decoded = decode(text);
  expect(decoded).toMatchObject({ ok: true, table });
  return decoded as Extract<typeof decoded, { ok: true }>;
}

function refused(text: string, reason: RegExp) {
  const decoded = decode(text);
  expect(decoded.ok).toBe(false);
  expect((decoded as { reason: string }).reason).toMatch(reason);
}

describe("a chat answer", () => {
  it("is taken as it is", () => {
    expect(accepted(answer)).toEqual({ ok: true, table: good, rationale: "because", repairs: [] });
  });

  it("may stand in a fence, after an empty fence, in prose, and have a brace too many", () => {
    accepted(`\`\`\`json\n${answer}\n\`\`\``);
    accepted(`\`\`\`\n\`\`\`\nHere it is:\n\`\`\`\n${answer}\n\`\`\`\nI set {load} by [size] {1}. "quoted" {}`);
    accepted(`${answer}}`);
    accepted(`{${answer}}`);
    accepted(`Let me think {about it}: ${answer} } } ]`);
  });

  it("may be followed by prose with quoted words in brackets, which begins no other answer", () => {
    accepted(`${answer} So the set {"2", "4", "8"} stays covered.`);
    accepted(`${answer} Note that {"load": 0.2, ...} is kept, and so is {"2": {"fog": .5}}.`);
    accepted(`${answer} (see {"draft": {"config": ...}})`);
    refused(`${answer} Rather: {"rationale": "less fog", "config": {"2": {"load": 0.2, ...}}} as in {"2", "4"}`, /second object follows/);
    refused(`${answer} Rather: {"rationale": "less fog", ...}`, /second object follows/);
  });

  it("is the one behind the thinking, whether or not the block was opened", () => {
    const draft = with2({ load: 1, fog: 0, traffic: 0 });
    accepted(`<think>${draft}</think>${answer}`);
    accepted(`${draft}</think>\n${answer}`);
    refused(`<think>${answer}`, /never closed/);
    refused(`${answer}</think> I am done`, /no JSON object/);
    refused(`a</think>b<think>${answer}`, /never closed/);
  });

  it("may be written twice, but not in contradiction", () => {
    accepted(`${answer}\n\nOnce more: ${answer}`);
    accepted(`${answer} ${JSON.stringify({ config: { "8": good["8"], "2": good["2"], "4": good["4"] } })}`);
    refused(`${answer} No: ${with2({ load: 0.3, fog: 0.1, traffic: 0.1 })}`, /2 configs that contradict/);
    refused(`${answer} No: ${with2({ load: -1 })}`, /contradict/);
  });

  it("is found beside objects that are no answers", () => {
    accepted(`Schema: {"type": "object"} Example: {"config": {"<streets>": {"load": "<number>"}}} Answer: ${answer}`);
  });

  it("is not lifted out of an object that breaks", () => {
    refused(`{"draft": ${answer}, "final": {"config": `, /ends inside an object/);
    refused(`{"draft": ${answer}, 'x'}`, /where a key/);
    refused(`${answer} {"config": {"2": {"load": 0.9`, /second object follows/);
    refused(`{"rationale": "two\nlines", "draft": ${answer}}`, /raw line break/);
  });

  it("may stand in fences within fences, in any of them", () => {
    accepted(`\`\`\`\`markdown\n\`\`\`json\n${answer}\n\`\`\`\n\`\`\`\``);
    accepted(`\`\`\`json\n\`\`\`json\n${answer}`);
    accepted(`~~~\n${answer}\n~~~\n> ${answer}`);
    refused(`\`\`\`json\n${answer}\n\`\`\`\n\`\`\`json\n${with2({ load: 0.9, fog: 0, traffic: 0 })}\n\`\`\``, /contradict/);
  });

  it("that was cut off at the token limit is refused even when an object is complete", () => {
    expect(decodeChatAnswer(answer, "length", target)).toMatchObject({ ok: false, reason: expect.stringMatching(/token limit/) });
  });

  it("with a key given twice is refused: which one counts is not said", () => {
    refused('{"config": {"2": {"load": 0.5, "load": 0.1}}}', /"load" is given twice/);
    refused('{"config": {"2": {"load": 0.5}, "\\u0032": {"load": 0.1}}}', /"2" is given twice/);
  });

  it("that is not JSON is refused with what broke", () => {
    refused("", /no JSON object/);
    refused("I would raise fog.", /no JSON object/);
    refused('{"config": {"2": {"load": NaN}}}', /NaN/);
    refused('{"config": {"2": {"load": Infinity}}}', /Infinity/);
    refused('{"config": {"2": {"load": 0.5,}}}', /a key in double quotes/);
    refused('{"config": {"2": {"load": 01}}}', /comma or a closing bracket/);
    refused('{"rationale": "two\nlines", "config": {}}', /raw line break/);
    refused(`${'{"a":'.repeat(100)}1${"}".repeat(100)}`, /nested deeper/);
    refused(`{"config": ${"[".repeat(10_000)}${"]".repeat(10_000)}}`, /nested deeper/);
    refused('{"config": {"2": {"load": ٠.٥}}}', /a value was expected/);
    refused('{"config": {"2": {"load": ０.５}}}', /a value was expected/);
    refused('{"config": {"2": {"load": 0x1}}}', /comma or a closing bracket/);
    refused('{"config": {"2": {"load": 1_000}}}', /comma or a closing bracket/);
    refused('{"config": {"2": {"load": .5}}}', /a value was expected/);
    refused('{"config": {"2": {"load": +1}}}', /a value was expected/);
    refused("{'config': {'2': {'load': 1}}}", /no JSON object/);
    refused('{“config”: {"2": {"load": 1}}}', /no object with the key "config"/);
  });

  it("with what the schema does not have is refused by name", () => {
    refused('{"answer": 1}', /no object with the key "config"/);
    refused(JSON.stringify({ config: good, confidence: 1 }), /unknown key "confidence"/);
    refused(JSON.stringify({ config: { ...good, "16": good["8"] } }), /unknown distance "16"/);
    refused('{"config": {"__proto__": {"load": 1}}}', /unknown distance/);
    refused('{"__proto__": {"config": {}}, "config": {"2": {"load": 1}}}', /unknown key/);
    refused('{"config": {"2": {"__proto__": 1}}}', /unknown knob/);
    refused('{"config": {"2": {"load": {"valueOf": 1}}}}', /an object, not a number/);
    refused('{"config": {"２": {"load": 1}}}', /unknown distance/);
    refused('{"config": {"02": {"load": 1}}}', /unknown distance/);
    refused('{"config": {"2": {"load": true}}}', /a boolean, not a number/);
    expect(({} as Record<string, unknown>).load).toBeUndefined();
    refused(with2({ load: 0.2, foggy: 0.1 }), /unknown knob "foggy".*did you mean fog/);
    refused('{"config": {"2": {"constructor": 1}}}', /unknown knob "constructor"/);
    refused(JSON.stringify({ config: [1] }), /a list/);
    refused(with2(0.5), /a number, not an object/);
    refused(with2({ load: "0.5" }), /a string, not a number/);
    refused(with2({ load: null }), /null, not a number/);
    refused(JSON.stringify({ rationale: 7, config: good }), /rationale is not a string/);
    refused('{"config": {}}', /sets no knob/);
    refused('{"config": {"2": {}}}', /sets no knob/);
  });

  it("with negative, infinite or all-zero values is refused", () => {
    refused(with2({ load: -0.2 }), /negative/);
    refused(with2({ fog: -0.01 }), /negative/);
    refused('{"config": {"2": {"load": 1e999}}}', /finite/);
    refused(JSON.stringify({ config: { "2": { load: 0 }, "4": { load: 0 }, "8": { load: 0 } } }), /every load is 0/);
    refused(JSON.stringify({ config: { "2": { load: 1e308 }, "4": { load: 1e308 }, "8": { load: 1e308 } } }), /not finite/);
  });
});

describe("repairs of a table", () => {
  it("normalise shares that do not sum to 1 and say so", () => {
    const table = { "2": { ...good["2"], load: 2 }, "4": { ...good["4"], load: 5 }, "8": { ...good["8"], load: 3 } };
    const { repairs } = accepted(JSON.stringify({ config: table }));
    expect(repairs).toEqual([
      { path: "load", from: { "2": 2, "4": 5, "8": 3 }, to: { "2": 0.2, "4": 0.5, "8": 0.3 }, reason: "normalised from a sum of 10 to 1" },
    ]);
  });

  it("clamp a ratio to its bounds and say so", () => {
    const { repairs, table } = decode(with2({ load: 0.2, fog: 1e300, traffic: 0.1 })) as Extract<ReturnType<typeof decode>, { ok: true }>;
    expect(table["2"]!.fog).toBe(1);
    expect(repairs).toEqual([{ path: "2.fog", from: 1e300, to: 1, reason: "clamped to the bounds 0 to 1" }]);
  });

  it("keep the previous values of what was left out, and say so for each", () => {
    const { "8": left, ...rest } = good;
    const decoded = decode(JSON.stringify({ config: rest })) as Extract<ReturnType<typeof decode>, { ok: true }>;
    expect(left).toBeDefined();
    expect(decoded.table["8"]!.fog).toBe(previous["8"]!.fog);
    expect(decoded.repairs.map((r) => r.path)).toEqual(["8.load", "8.fog", "8.traffic", "load"]);
    expect(strata.reduce((sum, s) => sum + decoded.table[s]!.load!, 0)).toBeCloseTo(1, 12);
  });
});

describe("a compact answer", () => {
  const levels = { "2": [10, 0, 10], "4": [5, 5, 5], "8": [5, 10, 0] } as Record<string, number[]>;
  const written = strata.map((s) => `<stratum:${s}>${levels[s]!.map((l) => `<level:${l}>`).join("")}`).join("");
  const reason = (text: string) => (decodeCompactAnswer(text, target) as { reason: string }).reason;

  it("is one level for each knob of each stratum; shares are relative, ratios between their bounds", () => {
    expect(decodeCompactAnswer(written, target)).toEqual({
      ok: true,
      rationale: "",
      repairs: [],
      table: {
        "2": { load: 0.5, fog: 0, traffic: 0.5 },
        "4": { load: 0.25, fog: 0.5, traffic: 0.25 },
        "8": { load: 0.25, fog: 1, traffic: 0 },
      },
    });
    expect(decodeCompactAnswer(written.replaceAll("><", "> <"), target).ok).toBe(true);
  });

  it("that leaves the grammar is refused with the place", () => {
    expect(reason("")).toMatch(/0 words where the grammar has 12/);
    expect(reason(written.replace("<stratum:4>", "<stratum:8>"))).toMatch(/word 5 is/);
    expect(reason(written.replace("<level:0>", "<level:none>"))).toMatch(/word 3 is/);
    expect(reason(written.replace("<level:0>", "<level:11>"))).toMatch(/word 3 is/);
    expect(reason(`${written}<level:1>`)).toMatch(/13 words/);
    expect(reason(`${written} then`)).toMatch(/not words alone/);
    expect(reason("<level:0>".repeat(200_000))).toMatch(/1800000 characters/);
    expect(reason(written.replace(/(<stratum:\d>)<level:\d+>/g, "$1<level:0>"))).toMatch(/every load is 0/);
  });

  it("is accepted for every sentence of the grammar but the one without data", () => {
    const sentence = fc.tuple(...answerWords(strata, family).map((words) => fc.constantFrom(...words)));
    fc.assert(
      fc.property(sentence, (words) => {
        const decoded = decodeCompactAnswer(words.join(""), target);
        const empty = [1, 5, 9].every((i) => words[i] === "<level:0>");
        expect(decoded.ok).toBe(!empty);
      }),
    );
  });

  it("round-trips the values of levels", () => {
    const table = knobValues({ "2": { load: 10, fog: 3, traffic: 7 } }, ["2"], family.knobs);
    expect(table["2"]!.load).toBe(1);
    expect(table["2"]!.fog).toBeCloseTo(0.3, 12);
    expect(table["2"]!.traffic).toBeCloseTo(0.35, 12);
  });
});

/** The config of every piece of the text between two braces that is a JSON object. */
function configsIn(text: string): unknown[] {
  const at = (brace: string) => [...text.matchAll(new RegExp(`\\${brace}`, "g"))].map((m) => m.index);
  return at("{").flatMap((start) =>
    at("}").flatMap((end) => {
      try {
        return [(JSON.parse(text.slice(start, end + 1)) as { config?: unknown }).config];
      } catch {
        return [];
      }
    }),
  );
}

describe("decoding any text", () => {
  const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(-0.1, 0, 1, 30, 1e308, Number.MAX_SAFE_INTEGER));
  const stratum = fc.constantFrom("2", "4", "8", "16", "__proto__", "toString", "");
  const knob = fc.constantFrom("load", "fog", "traffic", "wait", "__proto__");
  const config = fc.dictionary(stratum, fc.dictionary(knob, fc.oneof({ weight: 9, arbitrary: number }, fc.anything({ maxDepth: 1 }))));
  const object = config.map((c) => JSON.stringify({ rationale: "r", config: c }));
  const debris = fc.constantFrom(
    "```json\n",
    "```",
    "{",
    "}",
    "[",
    "]",
    '"',
    "\\",
    "<think>",
    "</think>",
    '{"config":',
    "```\n```",
    answer,
    "NaN",
  );
  const text = fc.array(fc.oneof(object, debris, fc.string()), { maxLength: 8 }).map((parts) => parts.join(""));
  const broken = fc
    .tuple(text, fc.nat(), fc.nat(3))
    .map(([t, at, n]) => t.slice(0, at % (t.length + 1)) + t.slice((at % (t.length + 1)) + n));

  it("never throws and never lets a table out of bounds or off the sum through", () => {
    fc.assert(
      fc.property(fc.oneof(text, broken), (t) => {
        const decoded = decode(t);
        if (!decoded.ok) {
          expect(decoded.reason.length).toBeGreaterThan(0);
          expect(decoded.reason.length).toBeLessThan(400);
          return;
        }
        expect(Object.keys(decoded.table)).toEqual(strata);
        for (const row of Object.values(decoded.table)) {
          expect(Object.keys(row)).toEqual(["load", "fog", "traffic"]);
          expect(row.load).toBeGreaterThanOrEqual(0);
          expect(row.fog! >= 0 && row.fog! <= 1 && row.traffic! >= 0 && row.traffic! <= 0.5).toBe(true);
        }
        expect(Math.abs(strata.reduce((sum, s) => sum + decoded.table[s]!.load!, 0) - 1)).toBeLessThan(1e-5);
      }),
      { numRuns: 1500 },
    );
  });

  it("accepts a value other than the written one only with a repair on record", () => {
    fc.assert(
      fc.property(config, (c) => {
        const decoded = decode(JSON.stringify({ config: c }));
        if (!decoded.ok || decoded.repairs.length > 0) return;
        expect(JSON.parse(JSON.stringify(decoded.table))).toEqual(JSON.parse(JSON.stringify(c)));
      }),
      { numRuns: 500 },
    );
  });

  it("takes from an answer with letters changed, lost, doubled or put in only what JSON reads there, or nothing", () => {
    const edit = fc.record({ at: fc.nat(answer.length - 1), remove: fc.nat(3), insert: fc.constantFrom("", "0", "9", "-", "e", ".", '"', "{", "}", ",", ":", "\\", " ", "\n", "}}", "2", "é") }); // biome-ignore format: one record
    const mutated = fc.array(edit, { minLength: 1, maxLength: 3 }).map((edits) => {
      let text = answer;
      for (const { at, remove, insert } of edits) text = text.slice(0, at) + insert + text.slice(at + remove);
      return text;
    });
    fc.assert(
      fc.property(mutated, (text) => {
        const decoded = decode(text);
        if (!decoded.ok || decoded.repairs.length > 0) return;
        expect(configsIn(text)).toContainEqual(decoded.table);
      }),
      { numRuns: 2000 },
    );
  });

  it("finds the answer behind any debris that holds no object of its own", () => {
    const harmless = fc
      .array(fc.constantFrom("```json\n", "prose ", "}", "]", "[", "{ ", "{1} ", "\n"), { maxLength: 12 })
      .map((p) => p.join(""));
    fc.assert(
      fc.property(harmless, harmless, (before, after) => {
        accepted(`${before}${answer}${after}`);
      }),
    );
  });

  it("takes linear time on a megabyte of what is hardest to scan", () => {
    const size = 1_000_000;
    const fill = (unit: string) => unit.repeat(Math.ceil(size / unit.length));
    const hard = [
      "{",
      '{"',
      '{"a":',
      '{"a":[',
      '{"{"',
      '{"\\"',
      '{ "a" ',
      '{"a":1,',
      "[{",
      "<think></think>",
      '{"a":{}} ',
      "</think",
      `${answer} `,
      '{"a',
      "\\",
      '"',
      '{"config":{"2":{"load":1}}}',
    ];
    for (const unit of hard) {
      const started = process.cpuUsage();
      decode(fill(unit));
      const { user, system } = process.cpuUsage(started);
      expect((user + system) / 1e6, `"${unit}" repeated`).toBeLessThan(2);
    }
  }, 60_000);

  it("takes linear time on ten megabytes as well: ten times that of one, whatever the machine", () => {
    const seconds = (text: string) => {
      const started = process.cpuUsage();
      decode(text);
      const { user, system } = process.cpuUsage(started);
      return (user + system) / 1e6;
    };
    for (const unit of ['{"a":[', `${answer} `]) {
      const short = unit.repeat(Math.ceil(1_000_000 / unit.length));
      const one = Math.min(seconds(short), seconds(short));
      // A quadratic reading would take a hundred times as long.
      expect(seconds(short.repeat(10)), `"${unit}" repeated`).toBeLessThan(30 * one + 1);
    }
  }, 120_000);

  it("scans exactly the objects that JSON.parse accepts", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        const json = JSON.stringify(value);
        const { objects } = scanObjects(`x ${json} y`);
        expect(objects).toHaveLength(1);
        expect(JSON.stringify(objects[0]!.value)).toBe(JSON.stringify(JSON.parse(json)));
      }),
    );
  });
});
