/**
 * The table of feasible cells: for every size, agent count and hole ratio, which share of the generator's candidates has a solution, and
 * which makes an agent wait. `npx tsx benchmarks/feasible-cells.ts [samples]` writes docs/results/feasible-cells.json and .md.
 *
 * A cell is sampled with `samples` candidates of its own seed (default 500), each with a budget of 20,000 search nodes. A class that did
 * not turn up is looked for by the generator's own slot filler, drawn meetings included, in up to 5,000 more. "Not found" is therefore
 * rarer than about one in 5,000 candidates; "none" is proven (too few free cells, or every board of the size was gone through).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { Seed } from "../src/core/index.js";
import { DrawnBoard } from "../src/environments/mapf-frozenlake/draw-board.js";
import { SlotFiller } from "../src/environments/mapf-frozenlake/fill-slot.js";
import { holeCount, reachable, Solver } from "../src/environments/mapf-frozenlake/index.js";

const SIZES = [3, 4, 5, 6, 7, 8, 9, 10];
const AGENTS = [2, 3, 4, 5];
const HOLE_RATIOS = [0, 0.1, 0.2, 0.3, 0.4, 0.5];
const BUDGET = 20_000;
const SEARCHED = 5_000;

/** `none`: proven empty. `not found`: rarer than the search. A number: share of candidates, from 0 to 1. */
type Share = number | "none" | "not found" | "found";

interface CellRow {
  size: number;
  agents: number;
  hole_ratio: number;
  holes: number;
  candidates: number;
  unsolvable: number;
  budget_exhausted: number;
  wait: Share;
  no_wait: Share;
  wait_ratios: string;
}

const samples = Number(process.argv[2] ?? 500);
const drawn = new DrawnBoard();
const solver = new Solver();
const filler = new SlotFiller();

function measure(size: number, agents: number, hole_ratio: number): CellRow {
  const holes = holeCount(size, hole_ratio);
  const { wait: mayWait, noWait: mayNot } = reachable(size, agents, holes);
  const seed = Seed.root("feasible-cells").child(size, agents, holes);
  const counts = { unsolvable: 0, exhausted: 0, wait: 0, noWait: 0 };
  const candidates = mayWait || mayNot ? samples : 0;
  for (let i = 0; i < candidates; i++) {
    if (!drawn.draw(size, holes, agents, seed.at(i))) {
      counts.unsolvable++;
      continue;
    }
    const { isHole, starts, goals } = drawn;
    const { status, wait_required } = solver.certifyPacked(size, isHole, starts, goals, agents, {
      budget: BUDGET,
      needMakespan: false,
      needWait: true,
    });
    if (status === "unsolvable") counts.unsolvable++;
    else if (status !== "solved") counts.exhausted++;
    else if (wait_required) counts.wait++;
    else counts.noWait++;
  }
  const share = (count: number, may: boolean, want: "wait" | "no-wait"): Share => {
    if (!may) return "none";
    if (count > 0) return count / candidates;
    const slot = { index: 0, size, agents, holes: [holes, holes] as [number, number], want, budget: BUDGET };
    return filler.fill(slot, seed.child("search", want).at(0), {}, SEARCHED).filling === undefined ? "not found" : "found";
  };
  const wait = share(counts.wait, mayWait, "wait");
  const no_wait = share(counts.noWait, mayNot, "no-wait");
  const is = (s: Share) => typeof s === "number" || s === "found";
  const wait_ratios = is(wait) ? (is(no_wait) ? "0 to 1" : "1 only") : is(no_wait) ? "0 only" : "none";
  const { unsolvable, exhausted } = counts;
  return { size, agents, hole_ratio, holes, candidates, unsolvable, budget_exhausted: exhausted, wait, no_wait, wait_ratios };
}

const rows = SIZES.flatMap((size) =>
  AGENTS.flatMap((agents) =>
    HOLE_RATIOS.map((ratio) => {
      const row = measure(size, agents, ratio);
      process.stderr.write(`${size}x${size}, ${agents} agents, ${row.holes} holes: wait ${row.wait}, no wait ${row.no_wait}\n`);
      return row;
    }),
  ),
);

const percent = (value: Share) =>
  typeof value === "number" ? (value < 0.1 || value > 0.99 ? (100 * value).toFixed(1) : (100 * value).toFixed(0)) : value;
const table = (agents: number): string[] => [
  `## ${agents} agents`,
  "",
  `| size | ${HOLE_RATIOS.map((ratio) => `${ratio}`).join(" | ")} |`,
  `| --- | ${HOLE_RATIOS.map(() => "---").join(" | ")} |`,
  ...SIZES.map((size) => {
    const cells = HOLE_RATIOS.map((ratio) => {
      const row = rows.find((r) => r.size === size && r.agents === agents && r.hole_ratio === ratio)!;
      return row.wait_ratios === "none" ? "–" : `${percent(row.wait)} / ${percent(row.no_wait)}`;
    });
    return `| ${size}×${size} | ${cells.join(" | ")} |`;
  }),
  "",
];
const page = [
  "# Feasible cells",
  "",
  `Per size, agent count and hole ratio: which per cent of the generator's candidates makes an agent wait / is solved without a wait; the rest has`,
  `no solution (or, seldom, exhausts ${BUDGET.toLocaleString("en")} search nodes). ${samples} candidates a cell, so a share of 10 % is known to about ±${(196 * Math.sqrt(0.09 / samples)).toFixed(1)} points. _found_: not among these, but`,
  `among up to ${SEARCHED.toLocaleString("en")} more, drawn as the generator draws that class; _not found_: not there either; _none_: proven empty; –: neither class. A cell with two`,
  "numbers (or _found_) takes every wait ratio from 0 to 1; beside _none_ or _not found_ only the other end.",
  "",
  "    npx tsx benchmarks/feasible-cells.ts",
  "",
  "The rows with all counts are in [feasible-cells.json](feasible-cells.json). What the table shows as rare is tried all the same by `envwright generate`, in 50,000 candidates",
  "a board, and refused with the measured rate and the nearest hole ratio at which a board was found.",
  "",
  ...AGENTS.flatMap(table),
];
mkdirSync(new URL("../docs/results/", import.meta.url), { recursive: true });
writeFileSync(new URL("../docs/results/feasible-cells.md", import.meta.url), `${page.join("\n").trimEnd()}\n`);
writeFileSync(
  new URL("../docs/results/feasible-cells.json", import.meta.url),
  `${JSON.stringify({ samples, budget: BUDGET, searched: SEARCHED, rows }, undefined, 1)}\n`,
);
