import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InputError } from "../../core/index.js";
import { MAX_AGENTS, MAX_SIZE } from "./instance.js";
import { parsePrompt } from "./parse-prompt.js";
import { compactWords, PROMPT_END, renderPlan, renderPrompt } from "./prompt.js";
import { actions, anyBoard, boardOf, chatAnswer, compactAnswer } from "./testing/boards.js";

const board = boardOf("..H. .... .... .H..", [
  [
    [0, 0],
    [3, 3],
  ],
  [
    [2, 2],
    [0, 0],
  ],
]);

describe("prompts", () => {
  it("give the board back, in both renderings, for any board", () => {
    fc.assert(
      fc.property(anyBoard(), (any) => {
        for (const rendering of ["chat", "compact"] as const) expect(parsePrompt(renderPrompt(any, rendering), rendering)).toEqual(any);
      }),
      { numRuns: 300 },
    );
  });

  it("compact: size, agents, holes, start and goal of each agent, end of prompt", () => {
    expect(renderPrompt(board, "compact")).toBe("<size:4><agents:2><hole:0,2><hole:3,1><start:0,0><goal:3,3><start:2,2><goal:0,0><plan>");
  });

  it("compact prompts and plans are made of words of the closed vocabulary only", () => {
    const known = new Set(compactWords.map(({ word }) => word));
    expect(known.size).toBe(compactWords.length);
    fc.assert(
      fc.property(anyBoard(), (any) => {
        const words = renderPrompt(any, "compact").match(/<[^>]*>/g)!;
        expect(words.join("")).toBe(renderPrompt(any, "compact"));
        for (const word of words) expect(known.has(word), word).toBe(true);
        expect(words.at(-1)).toBe(PROMPT_END);
      }),
    );
    for (const word of compactAnswer(board, ["DDRRR", "UULL"]).match(/<[^>]*>/g)!) expect(known.has(word), word).toBe(true);
  });

  it("the vocabulary says every cell in every role, with its position", () => {
    const positioned = compactWords.filter(({ position }) => position !== undefined);
    expect(positioned).toHaveLength(4 * MAX_SIZE * MAX_SIZE);
    expect(compactWords).toContainEqual({ word: "<goal:9,8>", position: { row: 9, column: 8, kind: 2 } });
    expect(compactWords).toContainEqual({ word: `<agents:${MAX_AGENTS}>` });
  });

  it("chat: draws the board, marks a cell that is a start and a goal, and shows one line per agent", () => {
    const text = renderPrompt(board, "chat");
    expect(text).toContain(["  0 1 2 3", "0 B F H F", "1 F F F F", "2 F F S F", "3 F H F G"].join("\n"));
    expect(text).toContain("Holes: (0, 2), (3, 1)\nAgent 0: start (0, 0), goal (3, 3)\nAgent 1: start (2, 2), goal (0, 0)");
    expect(text).toContain("<answer>\nAgent 0: LEFT, DOWN, WAIT\nAgent 1: UP, LEFT, LEFT\n</answer>");
  });

  it("refuses text that is no prompt of this family", () => {
    for (const text of ["", "hello", "<size:4><agents:2><start:0,0><goal:1,1><plan>", "<size:3><agents:1><start:0,0><goal:5,5><plan>"]) {
      for (const rendering of ["chat", "compact"] as const) expect(() => parsePrompt(text, rendering)).toThrow(InputError);
    }
  });
});

describe("plans as answers", () => {
  it("chat: moves by name; compact: the cell after each step, without the start", () => {
    expect(chatAnswer(board, ["DW", ""])).toBe("<answer>\nAgent 0: DOWN, WAIT\nAgent 1:\n</answer>");
    expect(renderPlan(board, [actions("DWR"), actions("U")], "compact")).toBe("<cell:1,0><cell:1,0><cell:1,1><next><cell:1,2>");
  });
});
