/** What was recorded, part by part, as JSON and as the page docs/results/testbed.md. A part that is measured anew leaves the others. */
import type { GeneratorRun, SolverRate } from "./absolute.js";
import type { CellResult } from "./comparison.js";

/** Where and how a part was measured. */
export interface Measured {
  machine: string;
  command: string;
}

export interface Comparison extends Measured {
  seed: string;
  boards: number;
  /** Seconds a board may take a peer. */
  limit: number;
  peers: string[];
  cells: CellResult[];
}

export interface TestbedResults {
  comparison?: Comparison;
  solver?: Measured & { rates: SolverRate[] };
  generator?: Measured & { runs: GeneratorRun[] };
  verifier?: Measured & { chat: number; compact: number };
}

const LEAST_FOR_RATIOS = 5;

export function resultsPage(results: TestbedResults): string {
  return [
    "# The testbed's speed",
    "",
    "Data: [testbed.json](testbed.json). Written by the commands under each heading; the text explains how to read them.",
    "",
    ...(results.comparison === undefined ? [] : comparison(results.comparison)),
    ...absolute(results),
  ].join("\n");
}

function heading(title: string, { machine, command }: Measured): string[] {
  return [`## ${title}`, "", `    ${command}`, "", `${machine}.`, ""];
}

function comparison({ cells, peers, boards, limit, seed, ...measured }: Comparison): string[] {
  const counted = cells.filter(({ solvable }) => solvable >= LEAST_FOR_RATIOS);
  const summary = peers.map((name) => {
    const of = (pick: (c: CellResult) => number) => counted.map(pick);
    const ratios = of((c) => c.peers[name]!.meanRatio ?? Number.NaN);
    const tails = of((c) => c.peers[name]!.p99Ratio ?? Number.NaN);
    const sum = (pick: (c: CellResult) => number) => cells.map(pick).reduce((a, b) => a + b, 0);
    const solvable = sum((c) => c.solvable);
    const left = sum((c) => Math.round(c.peers[name]!.unsolved * c.solvable));
    const unsolvable = sum((c) => c.boards - c.solvable - c.ours.exhausted);
    const asked = sum((c) => c.peers[name]!.unsolvableAsked);
    const ended = sum((c) => c.peers[name]!.unsolvableEnded);
    const all = asked === 0 ? 0 : (left + unsolvable * (1 - ended / asked)) / (solvable + unsolvable);
    return [
      `- **${name}**: our mean is ${factor(Math.min(...ratios))} to ${factor(Math.max(...ratios))} ahead (median ${factor(median(ratios))}); at least 5x in ${ratios.filter((r) => r >= 5).length} of ${ratios.length} cells.`,
      `  Our p99 is ahead in ${tails.filter((r) => r >= 1).length} of ${tails.length} cells, the least ratio is ${factor(Math.min(...tails))}.`,
      `  It left ${percent(left / solvable)} of the solvable boards unsolved at ${limit} s, and ${percent(all)} of all: of ${asked} unsolvable boards it was asked about it ended on ${ended}.`,
      `  Its cost differed from ours on ${sum((c) => c.peers[name]!.differing)} boards; it crashed on ${sum((c) => c.peers[name]!.crashed)}.`,
    ].join("\n");
  });
  const own = cells.map((c) => c.ours.exhausted).reduce((a, b) => a + b, 0);
  return [
    ...heading("Against other solvers", measured),
    `The same ${boards} boards a cell (seed \`${seed}\`), drawn uniformly before anybody solved them: ${cells.length} cells. Compared is the optimal sum of costs with a plan. Each solver's time is taken inside its own process`,
    `in processor time, by one rule for all: a board that took less than 50 ms is solved twice again, and the shortest time counts. Times are over the solvable boards; a board that a peer does not finish counts with the limit of ${limit} s,`,
    "which flatters it. The peers do not end on most unsolvable boards, ours proves them; that time stands in a column of its own. CBSH2-RTC runs with corridor reasoning off, since that is unsound",
    "on tiny boards; libMultiRobotPlanning is its CBS, built with -O3. How they are built: [benchmarks/peers/README.md](../../benchmarks/peers/README.md).",
    "",
    ...summary,
    `- **ours** left ${own} boards undecided.`,
    "",
    `Milliseconds. Cells with fewer than ${LEAST_FOR_RATIOS} solvable boards are shown and not counted above.`,
    "",
    table(
      [
        "n",
        "k",
        "holes",
        "solvable",
        "ours mean",
        "ours p99",
        "ours, unsolvable",
        ...peers.flatMap((p) => [`${p} mean`, `${p} p99`, "mean ×", "p99 ×", "unsolved"]),
      ],
      cells.map((c) => [
        c.size,
        c.agents,
        c.holeRatio,
        `${c.solvable}/${c.boards}`,
        ms(c.ours.mean),
        ms(c.ours.p99),
        ms(c.ours.unsolvableMean),
        ...peers.flatMap((p) => {
          const r = c.peers[p];
          if (r === undefined || c.solvable === 0) return ["", "", "", "", ""];
          return [ms(r.mean), ms(r.p99), factor(r.meanRatio), factor(r.p99Ratio), percent(r.unsolved)];
        }),
      ]),
    ),
    "",
  ];
}

function absolute({ solver, generator, verifier }: TestbedResults): string[] {
  const lines: string[] = [];
  if (solver !== undefined) {
    lines.push(
      ...heading("Solver", solver),
      "Solved boards a CPU-second on one thread, sampling and unsolvable boards included, sizes 3 to 10 with equal weight; `npx tsx benchmarks/solver.ts` prints every size. Latency is of the whole certificate, the largest over the sizes.",
      "",
      table(
        ["k", "holes", "sum of costs, solved/s", "with makespan and wait, solved/s", "p99, ms", "p99.9, ms"],
        solver.rates.map((r) => [r.agents, r.holeRatio, thousands(r.perSecond), thousands(r.allPerSecond), ms(r.p99), ms(r.p999)]),
      ),
      "",
    );
  }
  if (generator !== undefined) {
    lines.push(
      ...heading("Generator", generator),
      "Two agents, sizes 3 to 10 in equal parts, hole ratio 0.2, wait ratio 0.5; one worker, a process a row.",
      "",
      table(
        ["instances", "seconds", "accepted/s", "accepted/CPU-s", "peak memory, MB"],
        generator.runs.map((g) => [
          thousands(g.count),
          g.seconds.toFixed(1),
          thousands(g.count / g.seconds),
          thousands(g.count / g.cpu),
          Math.round(g.rss / 1e6),
        ]),
      ),
      "",
    );
  }
  if (verifier !== undefined) {
    lines.push(
      ...heading("Verifier", verifier),
      `Verdicts a CPU-second on 10×10 boards with five agents, parse included: chat ${thousands(verifier.chat)}, compact ${thousands(verifier.compact)}. Half of the chat answers have a changed move.`,
      "",
    );
  }
  return lines;
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const ms = (value: number) => (value === 0 ? "—" : value < 0.1 ? value.toFixed(4) : value < 10 ? value.toFixed(2) : value.toFixed(0));
const factor = (value: number | null) => (value === null ? "—" : value < 10 ? `${value.toFixed(1)}×` : `${Math.round(value)}×`);
const percent = (share: number) => `${(100 * share).toFixed(share > 0 && share < 0.01 ? 2 : 1)} %`;
const thousands = (value: number) => Math.round(value).toLocaleString("en-US");

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
