/**
 * A second verifier, written from the text of the rules alone, slow and plain, for differential testing. It shares no code with the
 * shipping parser, plan buffer or walk.
 */
import type { Board } from "../instance.js";

export interface NaiveVerdict {
  code: string;
  step?: number;
  agents?: number[];
  counts: Record<string, number>;
  sum_of_costs?: number;
  makespan?: number;
}

type Place = { row: number; column: number };
type Violation = { step: number; rule: string; agents: number[] };

const RULE_ORDER = ["illegal-move", "hole", "vertex-conflict", "swap-conflict", "goal-missed"];

export function naiveVerify(board: Board, completion: string, finish: "stop" | "length", rendering: "chat" | "compact"): NaiveVerdict {
  if (finish === "length") return { code: "truncated", counts: { truncated: 1 } };
  const asked = rendering === "chat" ? readChat(board, completion) : readCompact(board, completion);
  if (typeof asked === "string") return { code: asked, counts: { [asked]: 1 } };
  return judge(board, asked);
}

/** For each agent and step a function of the place before: where the agent says it goes. */
type Asked = ((from: Place) => Place)[][];

function readChat(board: Board, completion: string): Asked | "parse-error" | "truncated" {
  const parts = completion.split("</think>");
  const after = parts[parts.length - 1]!;
  if (after.includes("<think>")) return "truncated";
  const blocks = [...after.matchAll(/<answer>((?:(?!<answer>|<\/answer>)[\s\S])*)<\/answer>/g)];
  if (blocks.length === 0) return "parse-error";
  const moves: Record<string, [number, number]> = { UP: [-1, 0], DOWN: [1, 0], LEFT: [0, -1], RIGHT: [0, 1], WAIT: [0, 0] };
  const plans = new Map<number, [number, number][]>();
  for (const raw of blocks[blocks.length - 1]![1]!.split("\n")) {
    const line = raw.trim();
    if (line === "") continue;
    const match = /^agent[ \t\r]+(\d+)[ \t\r]*:(.*)$/i.exec(line);
    if (match === null) return "parse-error";
    const agent = Number(match[1]);
    if (agent >= board.agents.length || plans.has(agent)) return "parse-error";
    const list = match[2]!.trim();
    const words = list === "" ? [] : list.split(",").map((word) => word.trim().toUpperCase());
    if (words.some((word) => moves[word] === undefined) || words.length > 10 * board.size ** 2) return "parse-error";
    plans.set(
      agent,
      words.map((word) => moves[word]!),
    );
  }
  if (plans.size !== board.agents.length) return "parse-error";
  return board.agents.map((_, agent) =>
    plans.get(agent)!.map(([down, right]) => (from: Place) => ({ row: from.row + down, column: from.column + right })),
  );
}

function readCompact(board: Board, completion: string): Asked | "parse-error" {
  const paths = completion.split("<next>").map((path) => path.replace(/[ \t\r\n\v\f]*(<cell:\d,\d>)[ \t\r\n\v\f]*/g, "$1"));
  if (paths.length !== board.agents.length) return "parse-error";
  const asked: Asked = [];
  for (const path of paths) {
    if (!/^\s*(<cell:\d,\d>)*$/.test(path)) return "parse-error";
    const cells = [...path.matchAll(/(\d),(\d)/g)].map((match) => ({ row: Number(match[1]), column: Number(match[2]) }));
    if (cells.length > 10 * board.size ** 2) return "parse-error";
    asked.push(cells.map((cell) => () => cell));
  }
  return asked;
}

function judge(board: Board, asked: Asked): NaiveVerdict {
  const inside = (p: Place) => p.row >= 0 && p.column >= 0 && p.row < board.size && p.column < board.size;
  const same = (p: Place, q: Place) => p.row === q.row && p.column === q.column;
  const holes = new Set(board.holes.map(([row, column]) => `${row},${column}`));
  const place = ([row, column]: readonly [number, number]): Place => ({ row, column });
  const steps = Math.max(0, ...asked.map((moves) => moves.length));
  const violations: Violation[] = [];

  // paths[agent][t]: where the agent is after step t.
  const paths = board.agents.map((agent, a) => {
    const path = [place(agent.start)];
    for (let step = 1; step <= steps; step++) {
      const from = path[step - 1]!;
      const to = asked[a]![step - 1]?.(from) ?? from;
      const distance = Math.abs(to.row - from.row) + Math.abs(to.column - from.column);
      if (!inside(to) || distance > 1) violations.push({ step, rule: "illegal-move", agents: [a] });
      const reached = inside(to) ? to : from;
      if (!same(reached, from) && holes.has(`${reached.row},${reached.column}`)) violations.push({ step, rule: "hole", agents: [a] });
      path.push(reached);
    }
    return path;
  });
  for (let step = 1; step <= steps; step++) {
    for (let a = 0; a < paths.length; a++) {
      for (let b = a + 1; b < paths.length; b++) {
        const [aNow, aBefore, bNow, bBefore] = [paths[a]![step]!, paths[a]![step - 1]!, paths[b]![step]!, paths[b]![step - 1]!];
        if (same(aNow, bNow)) violations.push({ step, rule: "vertex-conflict", agents: [a, b] });
        else if (same(aNow, bBefore) && same(bNow, aBefore)) violations.push({ step, rule: "swap-conflict", agents: [a, b] });
      }
    }
  }
  paths.forEach((path, a) => {
    if (!same(path[steps]!, place(board.agents[a]!.goal))) violations.push({ step: steps, rule: "goal-missed", agents: [a] });
  });

  if (violations.length === 0) {
    const costs = paths.map((path, a) => {
      const goal = place(board.agents[a]!.goal);
      let cost = steps;
      while (cost > 0 && same(path[cost - 1]!, goal)) cost--;
      return cost;
    });
    return { code: "valid", counts: {}, sum_of_costs: costs.reduce((x, y) => x + y, 0), makespan: Math.max(...costs) };
  }
  const counts: Record<string, number> = {};
  for (const { rule } of violations) counts[rule] = (counts[rule] ?? 0) + 1;
  const key = (v: Violation) => [v.step, RULE_ORDER.indexOf(v.rule), ...v.agents, -1];
  violations.sort((v, w) => {
    const [x, y] = [key(v), key(w)];
    const i = x.findIndex((value, j) => value !== y[j]);
    return i < 0 ? 0 : x[i]! - y[i]!;
  });
  const { step, rule, agents } = violations[0]!;
  return { code: rule, step, agents, counts };
}
