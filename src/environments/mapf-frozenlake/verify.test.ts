import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Seed, verdictSchema } from "../../core/index.js";
import type { Board } from "./instance.js";
import { FAILURE_CODES, stepLimit } from "./rules.js";
import { anyBoard, boardOf, chatAnswer, compactAnswer, instanceOf } from "./testing/boards.js";
import { fuzzedAnswer } from "./testing/fuzzed-answers.js";
import { naiveVerify } from "./testing/naive-verify.js";
import { verify } from "./verify.js";

/** The plan of each agent in letters, judged in both renderings; both must say the same. */
function judge(board: Board, plans: string[], optimum = { sum_of_costs: 0, makespan: 0, sum_of_shortest: 0 }) {
  const instance = instanceOf(board, optimum);
  const chat = verify(instance, chatAnswer(board, plans), "stop", "chat");
  const onGrid = chat.code !== "illegal-move";
  if (onGrid) {
    expect(verify(instance, compactAnswer(board, plans), "stop", "compact")).toEqual(chat);
  }
  return chat;
}

//  0 . .   two agents cross by way of the free corner
//    . .
const crossing = boardOf("... .H. ...", [
  [
    [0, 0],
    [0, 2],
  ],
  [
    [0, 2],
    [2, 2],
  ],
]);

describe("one mutation per rule is refused", () => {
  const valid = ["RR", "DD"];

  it("accepts the plan that the mutations start from", () => {
    const verdict = judge(crossing, valid, { sum_of_costs: 4, makespan: 2, sum_of_shortest: 4 });
    expect(verdict).toMatchObject({ ok: true, code: "valid", counts: {}, costs: { sum_of_costs: 4, makespan: 2 } });
    expect(verdict.optimal).toEqual({ sum_of_costs: true, makespan: true });
    expect(verdict.at).toBeUndefined();
  });

  it("refuses a move off the grid, with step, agent and the cell it was made from", () => {
    expect(judge(crossing, ["URR", "DD"])).toMatchObject({
      ok: false,
      code: "illegal-move",
      at: { step: 1, agents: [0], cell: [0, 0] },
      counts: { "illegal-move": 1 },
    });
  });

  it("refuses a move into a hole, with step, agent and hole", () => {
    const verdict = judge(crossing, ["RDRU", "DD"]);
    expect(verdict).toMatchObject({ code: "hole", at: { step: 2, agents: [0], cell: [1, 1] } });
    expect(verdict.counts.hole).toBe(1);
  });

  it("refuses two agents on one cell, with step, agents and cell", () => {
    expect(judge(crossing, ["RR", "WDD"]).code).toBe("valid");
    expect(judge(crossing, ["RR", "WWDD"])).toMatchObject({
      code: "vertex-conflict",
      at: { step: 2, agents: [0, 1], cell: [0, 2] },
      counts: { "vertex-conflict": 1 },
    });
  });

  it("refuses an exchange of cells, with step, agents and the cell the first one enters", () => {
    const facing = boardOf("... HHH HHH", [
      [
        [0, 0],
        [0, 1],
      ],
      [
        [0, 1],
        [0, 0],
      ],
    ]);
    expect(judge(facing, ["R", "L"])).toMatchObject({
      code: "swap-conflict",
      at: { step: 1, agents: [0, 1], cell: [0, 1] },
      counts: { "swap-conflict": 1 },
    });
  });

  it("refuses an agent that does not end on its goal, with the last step, the agent and where it is", () => {
    expect(judge(crossing, ["R", "DD"])).toMatchObject({
      code: "goal-missed",
      at: { step: 2, agents: [0], cell: [0, 1] },
      counts: { "goal-missed": 1 },
    });
  });

  it("refuses a step to a cell that is no neighbour, with that cell (compact)", () => {
    const verdict = verify(instanceOf(crossing), "<cell:0,2><next><cell:1,2><cell:2,2>", "stop", "compact");
    expect(verdict).toMatchObject({ code: "illegal-move", at: { step: 1, agents: [0], cell: [0, 2] }, counts: { "illegal-move": 1 } });
  });

  it("refuses a cell outside the board that the vocabulary can still say (compact)", () => {
    const verdict = verify(instanceOf(crossing), "<cell:0,1><cell:0,2><cell:0,3><next><cell:1,2><cell:2,2>", "stop", "compact");
    expect(verdict).toMatchObject({ code: "illegal-move", at: { step: 3, agents: [0], cell: [0, 3] }, counts: { "illegal-move": 1 } });
  });
});

describe("cases from public reports", () => {
  it("finished agents hold their cell: crossing one later is a vertex conflict", () => {
    const board = boardOf("... ... ...", [
      [
        [0, 0],
        [0, 1],
      ],
      [
        [1, 0],
        [0, 2],
      ],
    ]);
    expect(judge(board, ["R", "WURR"])).toMatchObject({ code: "vertex-conflict", at: { step: 3, agents: [0, 1], cell: [0, 1] } });
  });

  it("entering the cell that another agent leaves in the same step is legal", () => {
    const board = boardOf("... ... ...", [
      [
        [0, 0],
        [0, 1],
      ],
      [
        [0, 1],
        [0, 2],
      ],
    ]);
    expect(judge(board, ["R", "R"]).code).toBe("valid");
  });

  it("a cycle of three or more agents is legal, an exchange of two is not", () => {
    const ring = boardOf(".. ..", [
      [
        [0, 0],
        [0, 1],
      ],
      [
        [0, 1],
        [1, 1],
      ],
      [
        [1, 1],
        [1, 0],
      ],
      [
        [1, 0],
        [0, 0],
      ],
    ]);
    expect(judge(ring, ["R", "D", "L", "U"]).code).toBe("valid");
    const pair = boardOf(".. ..", [
      [
        [0, 0],
        [0, 1],
      ],
      [
        [0, 1],
        [0, 0],
      ],
    ]);
    expect(judge(pair, ["R", "L"]).code).toBe("swap-conflict");
  });

  it("an agent's cost is the step of its final arrival; waits at the goal afterwards are free", () => {
    const board = boardOf("... ... ...", [
      [
        [0, 0],
        [0, 1],
      ],
      [
        [2, 2],
        [2, 1],
      ],
    ]);
    expect(judge(board, ["RWWW", "WL"]).costs).toEqual({ sum_of_costs: 1 + 2, makespan: 2 });
    expect(judge(board, ["RLWR", "L"]).costs).toEqual({ sum_of_costs: 4 + 1, makespan: 4 });
  });

  it("start equal to goal costs nothing while it stays and its return when it leaves", () => {
    const board = boardOf("... ... ...", [
      [
        [1, 1],
        [1, 1],
      ],
    ]);
    expect(judge(board, [""]).costs).toEqual({ sum_of_costs: 0, makespan: 0 });
    expect(judge(board, ["WWW"]).costs).toEqual({ sum_of_costs: 0, makespan: 0 });
    expect(judge(board, ["UD"]).costs).toEqual({ sum_of_costs: 2, makespan: 2 });
  });

  it("valid but longer than the optimum is not optimal, under each objective by itself", () => {
    const optimum = { sum_of_costs: 4, makespan: 2, sum_of_shortest: 4 };
    expect(judge(crossing, ["RR", "WDD"], optimum).optimal).toEqual({ sum_of_costs: false, makespan: false });
    expect(judge(crossing, ["RR", "DD"], { ...optimum, sum_of_costs: 3 }).optimal).toEqual({ sum_of_costs: false, makespan: true });
  });

  it("the code is the earliest broken rule, and every broken rule is counted", () => {
    const verdict = judge(crossing, ["RDLLL", "WWWWWL"]);
    expect(verdict.code).toBe("hole");
    expect(verdict.at?.step).toBe(2);
    expect(verdict.counts).toEqual({ hole: 1, "illegal-move": 2, "goal-missed": 2 });
  });

  it("within one step the order of the rules decides before the order of the agents", () => {
    const board = boardOf(".H. ... ...", [
      [
        [0, 0],
        [2, 2],
      ],
      [
        [0, 2],
        [2, 0],
      ],
    ]);
    expect(judge(board, ["R", "R"])).toMatchObject({ code: "illegal-move", at: { step: 1, agents: [1] } });
  });

  it("more than two agents on a cell are counted pair by pair", () => {
    const board = boardOf("... ... ...", [
      [
        [0, 1],
        [0, 0],
      ],
      [
        [1, 0],
        [2, 0],
      ],
      [
        [1, 2],
        [2, 2],
      ],
    ]);
    const verdict = judge(board, ["D", "R", "L"]);
    expect(verdict).toMatchObject({ code: "vertex-conflict", at: { step: 1, agents: [0, 1], cell: [1, 1] } });
    expect(verdict.counts).toEqual({ "vertex-conflict": 3, "goal-missed": 3 });
  });
});

describe("degenerate answers are never valid unless every rule holds, and each has its code", () => {
  const instance = instanceOf(crossing);
  const chat = (body: string) => verify(instance, `<answer>\n${body}\n</answer>`, "stop", "chat");

  it.each([
    ["an empty answer block", "", "agent 0 is missing"],
    ["a plan for too few agents", "Agent 0: RIGHT, RIGHT", "agent 1 is missing"],
    ["a plan for too many agents", "Agent 0: RIGHT, RIGHT\nAgent 1: DOWN, DOWN\nAgent 2: UP", "extra agent 2"],
    ["an agent given twice", "Agent 0: RIGHT, RIGHT\nAgent 0: RIGHT, RIGHT\nAgent 1: DOWN, DOWN", "agent 0 is given twice"],
    [
      "an agent given twice with the same moves after the full plan",
      "Agent 0: RIGHT, RIGHT\nAgent 1: DOWN, DOWN\nAgent 1: DOWN, DOWN",
      "given twice",
    ],
    ["an unknown move", "Agent 0: RIGHT, FLY\nAgent 1: DOWN, DOWN", 'unknown word "FLY"'],
    [
      "a move without a comma",
      "Agent 0: RIGHT RIGHT\nAgent 1: DOWN, DOWN",
      'no comma before "RIGHT" among the moves of agent 0: moves are separated by commas',
    ],
    ["a word behind a move", "Agent 0: RIGHT, RIGHT (there)\nAgent 1: DOWN, DOWN", 'unknown word "(there)" among the moves of agent 0'],
    ["a comma without a move", "Agent 0: RIGHT,\nAgent 1: DOWN, DOWN", "a move is missing after the last comma of agent 0"],
    ["prose among the lines", "Here it is:\nAgent 0: RIGHT, RIGHT\nAgent 1: DOWN, DOWN", 'unknown word "Here"'],
    ["an agent without a number", "Agent: RIGHT", "unknown word"],
    ["a large agent number", "Agent 99999999999999999999: UP", "extra agent 99999999999999999999: the board has agents 0 to 1"],
    ["a huge agent number", `Agent ${"9".repeat(400)}: UP`, `extra agent ${"9".repeat(24)}…: the board has agents 0 to 1`],
    ["a large agent number without a colon", "Agent 12345 RIGHT", "agent 12345 is not followed by a colon"],
  ])("%s is a parse error that says so", (_, body, reason) => {
    const verdict = chat(body);
    expect(verdict).toMatchObject({ ok: false, code: "parse-error", counts: { "parse-error": 1 } });
    expect(verdict.reason).toContain(reason);
  });

  it("empty plans for all agents miss the goals", () => {
    expect(chat("Agent 0:\nAgent 1:")).toMatchObject({ code: "goal-missed", at: { step: 0, agents: [0] }, counts: { "goal-missed": 2 } });
    expect(verify(instance, "<next>", "stop", "compact")).toMatchObject({ code: "goal-missed", counts: { "goal-missed": 2 } });
  });

  it("trailing moves after the goal leave it", () => {
    expect(judge(crossing, ["RRL", "DD"])).toMatchObject({ code: "goal-missed", at: { step: 3, agents: [0], cell: [0, 1] } });
  });

  it.each([
    ["", "agent 1 is missing"],
    ["<cell:0,1><cell:0,2>", "agent 1 is missing"],
    ["<cell:0,1><cell:0,2><next><cell:1,2><cell:2,2><next>", "extra agent 2"],
    ["<cell:0,1><cell:0,2><next><cell:1,2><cell:2,2><plan>", 'unknown word "<plan>"'],
    ["<cell:0,1><cell:0,a><next>", "unknown word"],
    ["<cell:0,1", "unknown word"],
  ])("compact answer %j is a parse error that says so", (text, reason) => {
    const verdict = verify(instance, text, "stop", "compact");
    expect(verdict.code).toBe("parse-error");
    expect(verdict.reason).toContain(reason);
  });

  it("a plan at the step limit is judged, one step more is a parse error", () => {
    const limit = stepLimit(3);
    expect(judge(crossing, [`RR${"W".repeat(limit - 2)}`, "DD"]).code).toBe("valid");
    expect(
      chat(
        `Agent 0: ${Array(limit + 1)
          .fill("WAIT")
          .join(", ")}\nAgent 1:`,
      ),
    ).toMatchObject({
      code: "parse-error",
      reason: `the plan of agent 0 is longer than ${limit} steps`,
    });
    expect(verify(instance, "<cell:0,0>".repeat(limit + 1), "stop", "compact").reason).toContain(`longer than ${limit} steps`);
  });
});

describe("the answer within a chat completion", () => {
  const instance = instanceOf(crossing);
  const good = chatAnswer(crossing, ["RR", "DD"]);
  const bad = chatAnswer(crossing, ["R", "DD"]);
  const code = (text: string, finish: "stop" | "length" = "stop") => verify(instance, text, finish, "chat").code;

  it("the last complete answer counts when one is retracted and corrected", () => {
    expect(code(`${bad}\nNo, better:\n${good}`)).toBe("valid");
    expect(code(`${good}\nNo, better:\n${bad}`)).toBe("goal-missed");
    expect(code(`${good}\nNo, better: <answer>\nAgent 0: `)).toBe("valid");
  });

  it("an answer inside the thinking does not count", () => {
    expect(code(`<think>${good}</think>`)).toBe("parse-error");
    expect(code(`<think>${bad}</think>${good}`)).toBe("valid");
  });

  it("thinking that closes without opening ends all the same", () => {
    expect(code(`let me see ${bad}</think>\n${good}`)).toBe("valid");
    expect(code(`let me see ${good}</think>`)).toBe("parse-error");
  });

  it("thinking that never closes is truncated", () => {
    expect(code(`<think>${good}`)).toBe("truncated");
    expect(code(`<think>a</think><think>${good}`)).toBe("truncated");
  });

  it("finish reason length is truncated, whatever the text holds", () => {
    expect(code(good, "length")).toBe("truncated");
    expect(verify(instance, compactAnswer(crossing, ["RR", "DD"]), "length", "compact").code).toBe("truncated");
  });

  it.each(["</Answer>", "</answ>", "<answer>", "</answer", ""])("a mismatched closing tag %j earns nothing", (tag) => {
    const verdict = verify(instance, good.replace("</answer>", tag), "stop", "chat");
    expect(verdict).toMatchObject({ ok: false, code: "parse-error" });
    expect(verdict.reason).toContain("not closed");
  });

  it("letter case, blanks, carriage returns and the order of the lines are free", () => {
    expect(code("<answer>agent 1:\tdown ,Down\r\n\r\n  AGENT  0 : Right,RIGHT\r\n</answer>")).toBe("valid");
  });
});

describe("the verifier is total", () => {
  it("gives a verdict with a known code for any text in any rendering", () => {
    const codes = new Set(["valid", ...FAILURE_CODES.map(({ code }) => code)]);
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.string({ unit: fc.constantFrom(..."<answer>/:, \n0Agent1UPcelnxtik") }),
    );
    fc.assert(
      fc.property(
        anyBoard(),
        text,
        fc.constantFrom("stop" as const, "length" as const),
        fc.constantFrom("chat" as const, "compact" as const),
        (board, completion, finish, rendering) => {
          const verdict = verdictSchema.parse(verify(instanceOf(board), completion, finish, rendering));
          expect(codes.has(verdict.code)).toBe(true);
          expect(verdict.ok).toBe(verdict.code === "valid");
          expect(JSON.parse(JSON.stringify(verdict))).toEqual(verdict);
        },
      ),
      { numRuns: 400 },
    );
  });

  /** A pass over a megabyte takes some milliseconds of the processor; a quadratic one takes minutes. */
  function judgedInTime(text: string) {
    const instance = instanceOf(crossing);
    for (const [completion, rendering] of [
      [text, "chat"],
      [text, "compact"],
      [`<answer>${text}</answer>`, "chat"],
    ] as const) {
      // biome-ignore format: a table
      const before = process.cpuUsage();
      const verdict = verify(instance, completion, "stop", rendering);
      const { user, system } = process.cpuUsage(before);
      expect(verdict.ok, text.slice(0, 60)).toBe(false);
      expect(verdict.reason.length).toBeLessThan(300);
      expect((user + system) / 1e6, text.slice(0, 60)).toBeLessThan(0.5);
    }
  }
  const MEGABYTE = 1_000_000;
  const pieces = [
    "<answer>",
    "<answer",
    "</answer>",
    "<answer></answer>",
    "<answer>\nAgent 0: UP\n</answer>",
    "<think>",
    "</think>",
    "<think></think>",
    "<cell:0,0>",
    "<cell:",
    "<next>",
    "Agent 0: UP,",
    "Agent 0:\n",
    "agent",
    "UP, ",
    " ",
    "\n",
    "\r\n",
    "\t",
    ",",
    "<",
    "x",
    "9",
    "\ud800",
    "\u{1F600}",
    "<answer>Agent 0: UP\n",
  ];

  it.each(pieces)("judges a megabyte of %j in linear time", (piece) => {
    judgedInTime(piece.repeat(Math.ceil(MEGABYTE / piece.length)));
  });

  it("judges a megabyte of anything in linear time: runs of each piece of the language, and of no language, in any order", () => {
    const random = Seed.root("verify/megabyte").at(0);
    for (let round = 0; round < 20; round++) {
      let text = "";
      while (text.length < MEGABYTE) text += random.pick(pieces).repeat(1 + random.below(random.pick([2, 100, 20_000])));
      judgedInTime(text);
    }
  });
});

describe("differential", () => {
  it("agrees with a second verifier written from the rules' text on 20,000 fuzzed answers", () => {
    const seen = new Map<string, number>();
    for (let i = 0; i < 20_000; i++) {
      const { instance, completion, finish, rendering } = fuzzedAnswer("verify/quick", i);
      const ours = verify(instance, completion, finish, rendering);
      const theirs = naiveVerify(instance, completion, finish, rendering);
      const same = { code: ours.code, ...(ours.at && { step: ours.at.step, agents: ours.at.agents }), counts: ours.counts, ...ours.costs };
      if (JSON.stringify(same) !== JSON.stringify({ ...theirs, counts: sortLike(theirs.counts, ours.counts) })) {
        expect({ completion, ...same }).toEqual({ completion, ...theirs });
      }
      seen.set(ours.code, (seen.get(ours.code) ?? 0) + 1);
    }
    // A fuzz that never reaches a code proves nothing about it.
    for (const code of ["valid", ...FAILURE_CODES.map((failure) => failure.code)]) expect(seen.get(code) ?? 0, code).toBeGreaterThan(100);
  });
});

function sortLike(counts: Record<string, number>, order: Record<string, number>): Record<string, number> {
  return Object.fromEntries([...Object.keys(order), ...Object.keys(counts)].flatMap((key) => (key in counts ? [[key, counts[key]!]] : [])));
}
