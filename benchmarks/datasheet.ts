/**
 * The tables of docs/benchmark-sets.md, computed from the frozen sets: `npx tsx benchmarks/datasheet.ts` writes them anew between the
 * page's marks. A test compares the page with them, so that it never tells of other sets than those that are shipped.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setHash } from "../src/core/set-hash.js";
import { FROZEN, HOLE_RATIOS } from "../src/environments/mapf-frozenlake/benchmark.js";
import { BENCHMARK_SHA256 } from "../src/environments/mapf-frozenlake/benchmark-data.js";
import {
  type BenchmarkName,
  type Board,
  type Cell,
  holeCount,
  type Instance,
  loadBenchmark,
} from "../src/environments/mapf-frozenlake/index.js";

const PAGE = join(import.meta.dirname, "../docs/benchmark-sets.md");
const BEGIN = "<!-- tables -->\n";
const END = "<!-- /tables -->";

/** What stands between the marks. */
export function datasheetTables(): string {
  return FROZEN.map((name) => setSection(name, loadBenchmark(name))).join("\n\n");
}

function setSection(name: BenchmarkName, instances: readonly Instance[]): string {
  const sizes = [...new Set(instances.map(({ size }) => size))].sort((a, b) => a - b);
  const groups: [string, Instance[]][] = [
    ...sizes.map((size): [string, Instance[]] => [`${size}×${size}`, instances.filter((instance) => instance.size === size)]),
    ["all", [...instances]],
  ];
  return [
    `### ${name}`,
    "",
    `${instances.length} boards, ${instances[0]!.agents.length} agents. SHA-256 of the frozen lines \`${BENCHMARK_SHA256[name]}\`; set hash in reports \`${setHash(instances)}\`.`,
    "",
    "Shares in per cent of the boards; distributions as smallest / median / mean / 90th percentile / largest.",
    "",
    table(
      ["size", "boards", "holes, % of cells", "shortest path of an agent", "sum of costs", "makespan"],
      groups.map(([size, own]) => [
        size,
        own.length,
        spread(own.map(({ holes, size }) => (100 * holes.length) / size ** 2)),
        spread(own.flatMap(shortestPaths)),
        spread(own.map(({ optimum }) => optimum.sum_of_costs)),
        spread(own.map(({ optimum }) => optimum.makespan)),
      ]),
    ),
    "",
    table(
      [
        "size",
        "wait required, %",
        "conflict, %",
        "conflict without a wait, %",
        "sum of costs above shortest, on conflict boards",
        "makespan above the longest shortest path, %",
      ],
      groups.map(([size, own]) => {
        const conflicts = own.filter(({ conflict }) => conflict);
        return [
          size,
          percent(own, ({ wait_required }) => wait_required),
          percent(own, ({ conflict }) => conflict),
          percent(own, ({ conflict, wait_required }) => conflict && !wait_required),
          spread(conflicts.map(({ optimum }) => optimum.sum_of_costs - optimum.sum_of_shortest)),
          percent(own, (instance) => instance.optimum.makespan > Math.max(...shortestPaths(instance))),
        ];
      }),
    ),
    "",
    `Holes that a size has, by the hole ratio that was asked for (a crowded map takes fewer where no such board was found): boards with the count of the ratio, of ${instances.length / sizes.length / HOLE_RATIOS.length} each.`,
    "",
    table(
      ["size", ...HOLE_RATIOS.map(String), "fewer"],
      sizes.map((size) => {
        const own = instances.filter((instance) => instance.size === size);
        const counts = HOLE_RATIOS.map((ratio) => own.filter(({ holes }) => holes.length === holeCount(size, ratio)).length);
        const each = own.length / HOLE_RATIOS.length;
        return [`${size}×${size}`, ...counts, HOLE_RATIOS.reduce((sum, _, i) => sum + Math.max(0, each - counts[i]!), 0)];
      }),
    ),
  ].join("\n");
}

/** Steps of each agent's way alone on the board. */
function shortestPaths({ size, holes, agents }: Board): number[] {
  const isHole = new Set(holes.map(([row, column]) => row * size + column));
  return agents.map(({ start, goal }) => {
    const distance = new Map([[start[0] * size + start[1], 0]]);
    const queue: Cell[] = [start];
    for (const [row, column] of queue) {
      const here = distance.get(row * size + column)!;
      if (row === goal[0] && column === goal[1]) return here;
      for (const [r, c] of [
        [row - 1, column],
        [row + 1, column],
        [row, column - 1],
        [row, column + 1],
      ] as Cell[]) {
        // biome-ignore format: one line
        const next = r * size + c;
        if (r < 0 || c < 0 || r >= size || c >= size || isHole.has(next) || distance.has(next)) continue;
        distance.set(next, here + 1);
        queue.push([r, c]);
      }
    }
    throw new RangeError("an agent of a frozen board cannot reach its goal");
  });
}

function spread(values: readonly number[]): string {
  if (values.length === 0) return "—";
  const sorted = [...values].sort((a, b) => a - b);
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  return [at(0), at(0.5), mean, at(0.9), at(1)].map((x, i) => (i === 2 ? x.toFixed(1) : String(Math.round(x)))).join(" / ");
}

function percent(own: readonly Instance[], test: (instance: Instance) => boolean): string {
  return ((100 * own.filter(test).length) / own.length).toFixed(1);
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

export function committedTables(): string {
  const page = readFileSync(PAGE, "utf8");
  return page.slice(page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)).trimEnd();
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const page = readFileSync(PAGE, "utf8");
  writeFileSync(PAGE, `${page.slice(0, page.indexOf(BEGIN) + BEGIN.length)}${datasheetTables()}\n${page.slice(page.indexOf(END))}`);
}
