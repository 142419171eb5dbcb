import { parseHTML } from "linkedom";
import { describe, expect, it } from "vitest";
import { Seed } from "../core/index.js";
import { type Board, completeInstance, type Instance, loadBenchmark, optimalPlan, verify } from "../environments/mapf-frozenlake/index.js";
import { ACTIONS } from "../environments/mapf-frozenlake/rules.js";
import { animatedBesideSvg, animatedSvg, besideSvg, boardSvg, type DrawnPlan, planSvg, readAnswer, replay, THEMES, timelineOf } from "./index.js"; // biome-ignore format: one line
import { animatedBesideGif, animatedGif, pngOf } from "./raster.js";
import { escapeText } from "./svg-text.js";
import { BROKEN_REST, END_HOLD, MOVE, REST, START_HOLD } from "./timeline.js";

/** Parsed as XML: anything that is not well-formed shows as a lost or misplaced element. */
const parsed = (svg: string) => parseHTML(svg).document;

/** Agent 2 leaves the grid, 0 and 1 meet and stay together, 2 enters a hole and ends there. */
const BOARD: Board = {
  size: 4,
  holes: [
    [1, 1],
    [2, 3],
  ],
  agents: [
    { start: [0, 0], goal: [0, 3] },
    { start: [0, 3], goal: [0, 0] },
    { start: [3, 0], goal: [3, 2] },
  ],
};
const BAD: DrawnPlan = {
  layout: "actions",
  agents: [
    ["RIGHT", "RIGHT", "WAIT", "RIGHT"],
    ["WAIT", "LEFT", "WAIT", "LEFT", "LEFT"],
    ["DOWN", "RIGHT", "UP", "RIGHT", "RIGHT"],
  ],
};

const INSTANCES: Instance[] = loadBenchmark("bench-3").filter((_, i) => i % 23 === 0);

describe("the replay of an answer", () => {
  it("finds the rules that the verifier finds, the first of them at its step, agents and cell, in both renderings", () => {
    const random = Seed.root("pictures").child("fuzz").at(0);
    let brokenSeen = 0;
    for (let round = 0; round < 400; round++) {
      const instance = INSTANCES[round % INSTANCES.length]!;
      const rendering = round % 2 === 0 ? "chat" : "compact";
      const lists = instance.agents.map(({ start }) => {
        let [row, column] = start;
        return Array.from({ length: 1 + random.below(6) }, () => {
          const action = random.below(ACTIONS.length);
          if (rendering === "chat") return ACTIONS[action]!;
          row = Math.min(9, Math.max(0, row + [-1, 1, 0, 0, 0][action]! * (random.below(9) === 0 ? 2 : 1)));
          column = Math.min(9, Math.max(0, column + [0, 0, -1, 1, 0][action]!));
          return `<cell:${row},${column}>`;
        });
      });
      const answer =
        rendering === "chat"
          ? `<answer>\n${lists.map((l, i) => `Agent ${i}: ${l.join(", ")}`).join("\n")}\n</answer>`
          : lists.map((l) => l.join("")).join("<next>");
      const plan = readAnswer(instance, answer, "stop", rendering);
      const verdict = verify(instance, answer, "stop", rendering);
      if ("code" in plan) throw new Error(`${plan.reason} in ${answer}`);
      const { broken } = replay(instance, plan);
      const counts: Record<string, number> = {};
      for (const { rule } of broken) counts[rule] = (counts[rule] ?? 0) + 1;
      expect(counts).toEqual(verdict.counts);
      if (verdict.ok) continue;
      brokenSeen++;
      const { rule, step, agents, cell } = broken[0]!;
      expect({ rule, step, agents, cell }).toEqual({ rule: verdict.code, ...verdict.at });
    }
    expect(brokenSeen).toBeGreaterThan(300);
  });

  it("breaks no rule on the solver's plans and ends on the goals", () => {
    for (const instance of INSTANCES.slice(0, 12)) {
      const { positions, broken } = replay(instance, { layout: "actions", agents: optimalPlan(instance, "makespan") });
      expect(broken).toEqual([]);
      expect(positions.at(-1)).toEqual(instance.agents.map(({ goal }) => goal));
      expect(positions.length - 1).toBe(instance.optimum.makespan);
    }
  });

  it("says why an answer without a plan has none, as the verifier does", () => {
    const verdict = verify(completeInstance(BOARDED), "no plan", "stop", "chat");
    expect(readAnswer(BOARDED, "no plan", "stop", "chat")).toEqual({ code: verdict.code, reason: verdict.reason });
  });
});

const BOARDED: Board = { ...BOARD, holes: [] };

describe("a board's picture", () => {
  it("has a mark for every cell, hole, goal and agent, with their numbers", () => {
    const document = parsed(boardSvg(BOARD));
    expect(document.querySelectorAll(".ew-ground > rect.ew-ice")).toHaveLength(16);
    expect(document.querySelectorAll(".ew-ground .ew-hole")).toHaveLength(2);
    const numbers = (selector: string) => [...document.querySelectorAll(selector)].map((t) => t.textContent);
    expect(numbers(".ew-goals .ew-goal text")).toEqual(["0", "1", "2"]);
    expect(numbers("svg > .ew-agent text")).toEqual(["0", "1", "2"]);
  });

  it("says in words what it shows", () => {
    const document = parsed(boardSvg(BOARD, { title: "seven" }));
    expect(document.querySelector("svg > title")!.textContent).toBe("seven");
    expect(document.querySelector("svg > desc")!.textContent).toContain(
      "Agent 2 starts at row 3, column 0 and has its goal at row 3, column 2.",
    );
    expect(document.querySelector("svg")!.getAttribute("role")).toBe("img");
  });

  it.each(THEMES)("keeps its style to itself under the theme %s", (theme) => {
    const style: string = parsed(boardSvg(BOARD, { theme })).querySelector("style")!.textContent!;
    const selectors = style.split("\n").filter((line) => line.includes("{") && !line.startsWith("@"));
    expect(selectors.length).toBeGreaterThan(10);
    expect(selectors.every((line) => line.startsWith(`.ew-${theme} `))).toBe(true);
    expect(style.includes("prefers-color-scheme")).toBe(theme === "auto");
  });

  it("escapes what comes from data, so that a name can neither close an element nor begin one", () => {
    const evil = `</title><script>alert("1")</script>&\u0000\ud800`;
    for (const svg of [
      boardSvg(BOARD, { title: evil }),
      planSvg(BOARD, BAD, { title: evil, caption: evil }),
      animatedSvg(BOARD, BAD, { title: evil, caption: evil }),
    ]) {
      expect(svg.includes("<script") || svg.includes("\u0000")).toBe(false);
      expect(parsed(svg).querySelector("title")!.textContent).toBe(`</title><script>alert("1")</script>&\ufffd\ufffd`);
      expect(pngOf(svg, 0.2).length).toBeGreaterThan(100);
    }
    expect(escapeText("a\u{1F600}\tb")).toBe("a\u{1F600}\tb");
  });
});

/** rule, step, cell, agents of every highlight. */
const highlights = (root: { querySelectorAll(selector: string): Iterable<{ getAttribute(name: string): string | null }> }) =>
  [...root.querySelectorAll(".ew-broken")].map((e) => ["rule", "step", "cell", "agents"].map((name) => e.getAttribute(`data-${name}`)));
const EXPECTED = [
  ["illegal-move", "1", "3,0", "2"],
  ["vertex-conflict", "2", "0,2", "0,1"],
  ["vertex-conflict", "3", "0,2", "0,1"],
  ["hole", "5", "2,3", "2"],
  ["goal-missed", "5", "2,3", "2"],
];

describe("a plan's picture", () => {
  it("marks every broken rule with its step, cells and agents, and tells them", () => {
    const document = parsed(planSvg(BOARD, BAD));
    expect(highlights(document)).toEqual(EXPECTED);
    const words = [...document.querySelectorAll("svg > text.ew-ink")].map((t) => t.textContent);
    expect(words).toContain("step 2: agents 0 and 1 are both on (0, 2)");
    expect(words).toContain("step 5: agent 2 enters the hole (2, 3)");
  });

  it("has an arrow a move, and a pause mark for each stay on the way that says how long it was", () => {
    const document = parsed(planSvg(BOARD, { layout: "actions", agents: [["RIGHT", "WAIT", "WAIT", "RIGHT", "RIGHT", "WAIT"], [], []] }));
    expect(document.querySelectorAll('.ew-way[data-agent="0"] .ew-arrow')).toHaveLength(3);
    const waits = [...document.querySelectorAll(".ew-wait")].map((e) => e.getAttribute("data-steps"));
    expect(waits).toEqual(["2"]);
  });

  it("shows a swap between its two cells", () => {
    const swap: DrawnPlan = { layout: "actions", agents: [["RIGHT", "RIGHT"], ["LEFT", "LEFT"], []] };
    const board: Board = { ...BOARD, agents: BOARD.agents.map((a, i) => (i === 1 ? { start: [0, 3], goal: [0, 0] } : a)) };
    const { broken } = replay(board, { ...swap, agents: [["RIGHT", "RIGHT"], ["LEFT", "LEFT"], []] });
    expect(broken[0]).toMatchObject({ rule: "swap-conflict", step: 2, agents: [0, 1], cell: [0, 2], other: [0, 1] });
    expect(parsed(planSvg(board, swap)).querySelectorAll('.ew-broken[data-rule="swap-conflict"] rect.ew-alert')).toHaveLength(2);
  });
});

describe("an animation", () => {
  const { moments, duration } = timelineOf(replay(BOARD, BAD));

  it("is SVG without script, loops, and stands still for readers who ask for it", () => {
    const svg = animatedSvg(BOARD, BAD);
    expect(svg).not.toMatch(/<script|on\w+=/);
    expect(svg).toContain(`${duration}ms infinite`);
    expect(svg).toContain("prefers-reduced-motion: reduce");
  });

  it("shows each broken rule from the end of its step's move until the next step", () => {
    const svg = animatedSvg(BOARD, BAD);
    const document = parsed(svg);
    expect(highlights(document)).toEqual(highlights(parsed(planSvg(BOARD, BAD))));
    for (const alarm of document.querySelectorAll(".ew-alarm")) {
      const [name] = alarm.getAttribute("class")!.split(" ");
      const { moved, end } = moments[Number(name!.slice(name!.lastIndexOf("b") + 1))]!;
      const [, frames] = new RegExp(`@keyframes ${name}\\{(.*)\\}$`, "m").exec(svg)!;
      const visible = frames!.split("}").map((frame) => frame.split("{"));
      const percent = (ms: number) => `${Math.round((ms / duration) * 1e5) / 1e3}%`;
      expect(visible.find(([, rule]) => rule === "opacity:1")![0]).toBe(percent(moved));
      if (end < duration) expect(visible.at(-2)).toEqual([`${percent(end)},100%`, "opacity:0"]);
    }
  });

  it("has names of its own: two animations in one page do not move each other", () => {
    const names = (svg: string) => new Set([...svg.matchAll(/@keyframes (\S+?)\{/g)].map(([, name]) => name));
    const [one, other] = [names(animatedSvg(BOARD, BAD)), names(animatedSvg(BOARDED, BAD))];
    expect([...one].filter((name) => other.has(name))).toEqual([]);
  });

  it("as a GIF has five pictures a move and one a rest, and lasts as long as the SVG", () => {
    const gif = readGif(animatedGif(BOARD, BAD));
    const steps = moments.length - 1;
    expect(gif.delays).toHaveLength(1 + 6 * steps);
    expect(gif.delays.reduce((sum, delay) => sum + delay, 0)).toBe(duration);
    const clean = steps - new Set(replay(BOARD, BAD).broken.map(({ step }) => step)).size;
    expect(duration).toBe(START_HOLD + steps * MOVE + clean * REST + (steps - clean) * BROKEN_REST + END_HOLD);
    expect(gif.loops).toBe(true);
    expect([gif.width, gif.height].every((side) => Number.isInteger(side) && side > 300)).toBe(true);
  });
});

describe("plans beside each other", () => {
  const GOOD: DrawnPlan = { layout: "actions", agents: [["RIGHT"], [], []] };
  const panels = [
    { board: BOARD, plan: GOOD, caption: "short" },
    { board: BOARD, plan: BAD, caption: "long" },
  ];
  const clock = timelineOf(replay(BOARD, GOOD), replay(BOARD, BAD));

  it("are of one height, each with its own words and highlights", () => {
    for (const svg of [besideSvg(panels, { title: "both" }), animatedBesideSvg(panels)]) {
      const inner = [...parsed(svg).querySelectorAll("svg > svg")];
      expect(inner.map((e) => e.querySelector("title")!.textContent)).toEqual(["short", "long"]);
      expect(new Set(inner.map((e) => e.getAttribute("height"))).size).toBe(1);
      expect(highlights(inner[1]!)).toEqual(EXPECTED);
    }
    expect(parsed(besideSvg(panels, { title: "both" })).querySelector("svg > title")!.textContent).toBe("both");
  });

  it("move by one clock: the shorter plan stays at its last step, with what it broke, until the longer one is over", () => {
    expect(clock.moments).toHaveLength(6);
    const svg = animatedBesideSvg(panels);
    expect(svg.split(`${clock.duration}ms infinite`).length - 1).toBeGreaterThan(10);
    const short = parsed(svg).querySelector("svg > svg")!;
    expect([...short.querySelectorAll("text")].map((t) => t.textContent).filter((line) => line?.includes("short"))).toEqual([
      "start · short",
      ...Array(5).fill("step 1 of 1 · short"),
    ]);
    // Three agents off their goals, at the one step of the plan and at each of the four steps of the clock after it.
    expect(highlights(short).map(([rule, step]) => `${rule} ${step}`)).toEqual(Array(15).fill("goal-missed 1"));
  });

  it("as a GIF last as long as the SVG, in one picture of both widths", () => {
    const swift: DrawnPlan = { layout: "actions", agents: [["RIGHT", "RIGHT"], [], []] };
    const two = [panels[0]!, { board: BOARD, plan: swift, caption: "two steps" }];
    const gif = readGif(animatedBesideGif(two));
    const { duration } = timelineOf(replay(BOARD, GOOD), replay(BOARD, swift));
    expect(gif.delays.reduce((sum, delay) => sum + delay, 0)).toBe(duration);
    expect(gif.delays).toHaveLength(1 + 6 * 2);
    const [, width] = /width="(\d+)"/.exec(animatedBesideSvg(two))!;
    expect(gif.width).toBe(1.5 * Number(width));
  });

  it("show a board alone where there is no plan, and why", () => {
    const svg = besideSvg([panels[0]!, { board: BOARD, caption: "parse-error: no answer block" }]);
    const [, alone] = [...parsed(svg).querySelectorAll("svg > svg")];
    expect(alone!.textContent).toContain("parse-error: no answer block");
    expect(alone!.querySelectorAll(".ew-ways")).toHaveLength(0);
  });
});

/** Walks the blocks of a GIF (89a): sizes, delays in milliseconds, whether it loops for ever; throws where a block is not what it should be. */
function readGif(bytes: Uint8Array): { width: number; height: number; delays: number[]; loops: boolean } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const ascii = (at: number, length: number) => String.fromCharCode(...bytes.subarray(at, at + length));
  if (ascii(0, 6) !== "GIF89a") throw new Error("no GIF");
  const table = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 << ((flags & 7) + 1));
  const delays: number[] = [];
  let [at, images, loops] = [13 + table(bytes[10]!), 0, false];
  const skipBlocks = (from: number) => {
    let i = from;
    while (bytes[i] !== 0) i += bytes[i]! + 1;
    return i + 1;
  };
  for (;;) {
    const kind = bytes[at];
    if (kind === 0x3b) break;
    if (kind === 0x2c) {
      images++;
      at = skipBlocks(at + 11 + table(bytes[at + 9]!));
    } else if (kind === 0x21) {
      if (bytes[at + 1] === 0xf9) delays.push(view.getUint16(at + 4, true) * 10);
      if (bytes[at + 1] === 0xff && ascii(at + 3, 11) === "NETSCAPE2.0") loops = view.getUint16(at + 16, true) === 0;
      at = skipBlocks(at + 2);
    } else throw new Error(`unknown block ${kind} at ${at}`);
  }
  if (images !== delays.length) throw new Error(`${images} images, ${delays.length} delays`);
  return { width: view.getUint16(6, true), height: view.getUint16(8, true), delays, loops };
}
