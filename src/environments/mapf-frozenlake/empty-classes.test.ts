import { describe, expect, it } from "vitest";
import { Seed } from "../../core/index.js";
import { holeCount } from "./config.js";
import { EMPTY_CLASSES } from "./empty-classes.js";
import { everyBoard } from "./every-board.js";
import { reachable } from "./feasibility.js";
import { SlotFiller } from "./fill-slot.js";
import { Solver } from "./solve/index.js";

const solver = new Solver();

describe("table of empty classes", () => {
  it.each(Object.entries(EMPTY_CLASSES))("%s has no board of class %s, over all boards", (cell, empty) => {
    const [size, agents, holes] = cell.split("/").map(Number) as [number, number, number];
    const found = { wait: 0, noWait: 0 };
    for (const board of everyBoard(size, agents, holes)) {
      const certificate = solver.certifyPacked(size, board.isHole, board.starts, board.goals, agents, { needMakespan: false });
      expect(certificate.status === "solved" || certificate.status === "unsolvable").toBe(true);
      if (certificate.status === "solved") found[certificate.wait_required ? "wait" : "noWait"]++;
    }
    expect(found.wait === 0).toBe(empty === "wait" || empty === "both");
    expect(found.noWait === 0).toBe(empty === "no-wait" || empty === "both");
  });

  it("every other cell of 2x2 and 3x3 with up to four agents has boards of both classes", () => {
    const filler = new SlotFiller();
    for (const size of [2, 3]) {
      for (let agents = 2; agents <= 4; agents++) {
        for (let holes = 0; holes <= holeCount(size, 0.5); holes++) {
          const { wait, noWait } = reachable(size, agents, holes);
          for (const want of [...(wait ? ["wait" as const] : []), ...(noWait ? ["no-wait" as const] : [])]) {
            const slot = { index: 0, size, agents, holes: [holes, holes] as [number, number], want };
            const { filling } = filler.fill(slot, Seed.root("empty-classes.test").child(size, agents, holes).at(0), {});
            expect(filling, `${size}/${agents}/${holes} ${want}`).toBeDefined();
          }
        }
      }
    }
  });
});
