/**
 * What can be generated: the hard limits (free cells, one agent never waits) and the table of cells that a search of all boards showed to
 * be empty. Cells beyond the table are tried, and refused with the measured rate when nothing turns up (feasibility-probe.ts).
 */
import { counted, type InfeasibleCell } from "../../core/index.js";
import { holeCount, type MapfConfig, type SizeKnobs, sizesOf } from "./config.js";
import { EMPTY_CLASSES } from "./empty-classes.js";

/** Which classes exist for boards of a size with so many agents and holes. */
export interface Reachable {
  wait: boolean;
  noWait: boolean;
}

/** By the hard limits and the table; true means "not known to be empty". */
export function reachable(size: number, agents: number, holes: number): Reachable {
  if (size * size - holes < Math.max(2, agents)) return { wait: false, noWait: false };
  const empty = EMPTY_CLASSES[`${size}/${agents}/${holes}`];
  return { wait: agents > 1 && empty !== "wait" && empty !== "both", noWait: empty !== "no-wait" && empty !== "both" };
}

/** Sizes whose knobs cannot be met with every agent count, each with the nearest value that can. */
export function infeasible(config: MapfConfig): InfeasibleCell[] {
  return sizesOf(config).flatMap((stratum) => {
    const knobs = config.sizes[stratum]!;
    if (knobs.data_ratio === 0) return [];
    const size = Number(stratum);
    const problem = config.agents.map((k) => problemOf(size, k, knobs)).find((text) => text !== undefined);
    if (problem === undefined) return [];
    const near = nearestFeasible(size, config.agents, knobs);
    const nearest =
      near === undefined
        ? `no value at this size with ${config.agents.join(", ")} agents`
        : `hole_ratio ${near.hole_ratio}, wait_ratio ${near.wait_ratio}`;
    return [{ stratum, problem, nearest }];
  });
}

function problemOf(size: number, agents: number, { hole_ratio, wait_ratio }: SizeKnobs): string | undefined {
  const holes = holeCount(size, hole_ratio);
  const free = size * size - holes;
  const who = `${counted(agents, "agent")} and ${counted(holes, "hole")}`;
  if (free < Math.max(2, agents)) return `${who} leave ${free} free cells`;
  const { wait, noWait } = reachable(size, agents, holes);
  if (!wait && !noWait) return `no board with ${who} has a solution`;
  if (wait_ratio > 0 && !wait) return agents === 1 ? "one agent never has to wait" : `no board with ${who} makes anyone wait`;
  if (wait_ratio < 1 && !noWait) return `every board with ${who} makes someone wait`;
  return undefined;
}

/**
 * The feasible knobs nearest to the given ones: the wait ratio is kept and the hole count moved if that suffices, otherwise the wait
 * ratio goes to 0 or 1 as well. Undefined when the size has no feasible value for these agents.
 */
export function nearestFeasible(size: number, agents: readonly number[], knobs: SizeKnobs): SizeKnobs | undefined {
  const wanted = holeCount(size, knobs.hole_ratio);
  const most = Math.floor(size * size * 0.5);
  const candidates = Array.from({ length: most + 1 }, (_, holes) => holes).sort(
    (a, b) => Math.abs(a - wanted) - Math.abs(b - wanted) || a - b,
  );
  for (const waitRatio of [knobs.wait_ratio, 0, 1]) {
    for (const holes of candidates) {
      const near = { ...knobs, wait_ratio: waitRatio, hole_ratio: holes === wanted ? knobs.hole_ratio : ratioFor(size, holes) };
      if (agents.every((k) => problemOf(size, k, near) === undefined)) return near;
    }
  }
  return undefined;
}

/** A hole ratio, to three decimals, that gives exactly `holes` holes. */
export function ratioFor(size: number, holes: number): number {
  return Math.min(0.5, Math.round((1000 * holes) / size ** 2) / 1000);
}
