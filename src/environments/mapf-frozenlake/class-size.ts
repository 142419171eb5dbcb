/**
 * How many different boards a small class (size, agents, holes, want) has, by going through all of its cell. Asked where a set runs out of
 * new boards, so that one that asks for more than there are is refused as soon as that is certain. Large cells are not counted.
 */
import { TextIndex } from "../../core/index.js";
import { everyBoard, roughCount } from "./every-board.js";
import { fits } from "./fill-slot.js";
import { hashCells } from "./hash.js";
import type { Slot } from "./quota.js";
import { Solver } from "./solve/index.js";

/** Cells with more boards than this are not gone through: memory for their hashes, and minutes. */
const LARGEST = 500_000;
const TURN_MS = 50;

export interface ClassSize {
  /** Different boards up to symmetry and agent order. */
  members: number;
  /** Those of them that are excluded. */
  excluded: number;
}

/** Boards that `classSize` solves for this slot's class; undefined when it would not count it. */
export function effortOf({ size, agents, holes: [low, high] }: Slot): number | undefined {
  const boards = roughCount(size, agents, low);
  return low === high && boards <= LARGEST ? boards : undefined;
}

/**
 * The size of the slot's class; undefined when a board of the cell exhausts the solver's budget, so that nothing is certain.
 * @param turn is called every now and then, and may throw to stop
 */
export async function classSize(slot: Slot, exclude: Pick<ReadonlySet<string>, "has">, turn: () => void): Promise<ClassSize | undefined> {
  const { size, agents, want } = slot;
  const solver = new Solver();
  const members = new TextIndex();
  let excluded = 0;
  let began = performance.now();
  for (const { isHole, holes, starts, goals } of everyBoard(size, agents, slot.holes[0])) {
    const certificate = solver.certifyPacked(size, isHole, starts, goals, agents, { needMakespan: false });
    if (certificate.status === "solved") {
      const hash = hashCells(size, holes, holes.length, starts, goals, agents);
      if (fits(certificate, want) && !members.has(hash)) {
        members.add(hash);
        if (exclude.has(hash)) excluded++;
      }
    } else if (certificate.status !== "unsolvable") return undefined;
    if (performance.now() - began < TURN_MS) continue;
    turn();
    await new Promise((resolve) => setImmediate(resolve));
    began = performance.now();
  }
  return { members: members.size, excluded };
}
