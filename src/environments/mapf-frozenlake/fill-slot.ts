/**
 * Fills one slot: draws candidates from the slot's own random stream until one is what the slot asks for. What it returns depends on the
 * slot and the stream alone, so any worker may do it. Gives up after MAX_DRAWS candidates or BUDGETS_PER_SLOT node budgets; it never loops.
 */
import type { Random } from "../../core/index.js";
import { DrawnBoard } from "./draw-board.js";
import { type Meeting, MeetingDrawer } from "./draw-meeting.js";
import { hashCells } from "./hash.js";
import type { Slot, Want } from "./quota.js";
import { type Certificate, Solver } from "./solve/index.js";

/** A class that turns up less than about once in ten thousand candidates is refused rather than waited for. */
export const MAX_DRAWS = 50_000;

/** Nodes a candidate may cost the solver before it is dropped (and counted). */
const NODE_BUDGET = 200_000;

/** Candidates' budgets that a slot may spend before it is given up, for crowded boards whose every candidate is hard. */
const BUDGETS_PER_SLOT = 100;

/**
 * Two agents who have to wait, on boards with a smaller hole ratio than this, are drawn to be in each other's way: uniform draws find as
 * few as 4 in 1,000. On fuller boards, with more agents, and for every other class, draws are uniform.
 */
const OPEN_BELOW = 0.15;

/**
 * Kinds of meetings to draw from. After certification they come out in about the shares of uniform draws: parked agents are seldom in the
 * way for good on open boards, so they are drawn more often than they are kept. Measured (1,000 boards each; share of parked, mean
 * shortest distance; uniform against drawn): 4×4 with 2 holes 0.10, 3.04 against 0.10, 3.00; 8×8 with 3 holes 0.02, 5.62 against 0.02,
 * 5.78; 10×10 with 10 holes 0.03, 7.51 against 0.08, 7.27; 10×10 with 14 holes 0.06, 7.71 against 0.11, 7.18.
 */
const MEETINGS: readonly Meeting[] = ["vertex", "vertex", "parked", "parked", "parked"];

/** A board that fills a slot, in cell numbers row·size + column, and what is certified about it. */
export interface Filling {
  holes: number[];
  starts: number[];
  goals: number[];
  sum_of_costs: number;
  makespan: number;
  sum_of_shortest: number;
  wait_required: boolean;
}

/** Why candidates were dropped, by reason; `drawn` counts them all. */
export type Tally = Record<string, number>;

export interface FillResult {
  filling: Filling | undefined;
  drawn: number;
}

/** Whether a solved board is what is wanted. */
export function fits({ conflict, wait_required }: Certificate, want: Want): boolean {
  return want === "wait" ? wait_required : want === "no-wait" ? !wait_required : (want === "conflict") === conflict;
}

export function count(tally: Tally, key: string): void {
  tally[key] = (tally[key] ?? 0) + 1;
}

/** What is being filled. */
interface Present {
  slot: Slot;
  random: Random;
  maxDraws: number;
  drawn: number;
  /** Search nodes that its candidates cost so far. */
  nodes: number;
}

export class SlotFiller {
  private readonly board = new DrawnBoard();
  private readonly meetings = new MeetingDrawer();
  private readonly solver = new Solver();
  private present: Present | undefined;

  fill(slot: Slot, random: Random, tally: Tally, maxDraws = MAX_DRAWS): FillResult {
    this.begin(slot, random, maxDraws);
    return this.advance(tally, Number.POSITIVE_INFINITY)!;
  }

  /** Takes up a slot; `advance` fills it in as many turns as it needs. */
  begin(slot: Slot, random: Random, maxDraws = MAX_DRAWS): void {
    this.present = { slot, random, maxDraws, drawn: 0, nodes: 0 };
  }

  /** Goes on with the slot; undefined when `until` (on performance.now()) has passed first. At least one candidate is drawn. */
  advance(tally: Tally, until: number): FillResult | undefined {
    const present = this.present;
    if (present === undefined) throw new RangeError("no slot has been begun");
    const { slot, random, maxDraws } = present;
    const [low, high] = slot.holes;
    const budget = slot.budget ?? NODE_BUDGET;
    while (present.drawn < maxDraws && present.nodes < BUDGETS_PER_SLOT * budget) {
      present.drawn++;
      count(tally, "drawn");
      const holes = low === high ? low : random.between(low, high);
      if (this.draw(slot, holes, random, tally)) {
        const filling = this.judge(present, budget, tally);
        if (filling !== undefined) return this.end({ filling, drawn: present.drawn });
      }
      if (performance.now() >= until) return undefined;
    }
    return this.end({ filling: undefined, drawn: present.drawn });
  }

  private end(result: FillResult): FillResult {
    this.present = undefined;
    return result;
  }

  private draw({ size, agents, want }: Slot, holes: number, random: Random, tally: Tally): boolean {
    const { board } = this;
    if (!board.draw(size, holes, agents, random)) {
      count(tally, "no_room");
      return false;
    }
    if (want !== "wait" || agents !== 2 || holes >= OPEN_BELOW * size * size) return true;
    if (this.meetings.draw(size, board.isHole, random.pick(MEETINGS), random, board.starts, board.goals)) return true;
    count(tally, "no_meeting");
    return false;
  }

  private wasDropped({ dropped = [] }: Slot): boolean {
    if (dropped.length === 0) return false;
    const { size, agents, holes, holeCount, starts, goals } = this.board;
    return dropped.includes(hashCells(size, holes, holeCount, starts, goals, agents));
  }

  private judge(present: Present, budget: number, tally: Tally): Filling | undefined {
    const { want } = present.slot;
    if (this.wasDropped(present.slot)) {
      count(tally, "budget_exhausted");
      return undefined;
    }
    const { size, agents, isHole, starts, goals, holes, holeCount } = this.board;
    // Makespan is asked for only of a board that fits; without a conflict it costs nothing to know at once.
    const first = {
      budget,
      needMakespan: false,
      needWait: want === "wait" || want === "no-wait",
      stopAboveSic: want === "no-conflict",
    };
    let certificate = this.solver.certifyPacked(size, isHole, starts, goals, agents, first);
    present.nodes += this.solver.nodes;
    if (this.isDropped(certificate, want, tally)) return undefined;
    certificate = this.solver.certifyPacked(size, isHole, starts, goals, agents, { budget });
    if (this.isDropped(certificate, want, tally)) return undefined;
    const { optimum, wait_required } = certificate;
    return {
      holes: Array.from(holes.subarray(0, holeCount)),
      starts: Array.from(starts.subarray(0, agents)),
      goals: Array.from(goals.subarray(0, agents)),
      sum_of_costs: optimum.sum_of_costs,
      makespan: optimum.makespan,
      sum_of_shortest: optimum.sum_of_shortest,
      wait_required,
    };
  }

  /** Whether a candidate is not what is wanted; says why in `tally`. */
  private isDropped(certificate: Certificate, want: Want, tally: Tally): boolean {
    const { status } = certificate;
    if (status === "solved") {
      if (fits(certificate, want)) return false;
      count(tally, `not_${want}`);
      return true;
    }
    count(tally, status === "above-shortest" ? `not_${want}` : status.replace("-", "_"));
    return true;
  }
}
