/**
 * Draws two agents that are likely to get in each other's way, on holes that are already drawn: help where a necessary wait is too rare
 * among uniform starts and goals (two agents on open boards). Agent A gets a uniform start and goal and a random shortest path. Agent B
 * gets a start and goal such that on a shortest path of its own it
 *
 *   vertex: is on a cell of that path at the same time;   parked: has its goal on it and is there before A passes.
 *
 * Every necessary wait of two agents is of one of these kinds (crossing an edge the other way costs an even number of extra steps, which
 * stepping aside spends without a wait), so every board can still come up. Bias against uniform draws: the kinds' shares are set by the
 * caller, and B's goal is uniform only among those beyond the meeting, so meetings in the middle of the board are commoner. What is drawn
 * still has to be certified as what the slot asks for.
 */
import type { Random } from "../../core/index.js";
import { MAX_SIZE } from "./instance.js";
import { NEIGHBOURS, OUTSIDE } from "./neighbours.js";

const CELLS = MAX_SIZE * MAX_SIZE;
const FAR = 255;

export type Meeting = "vertex" | "parked";

export class MeetingDrawer {
  private readonly fromA = new Uint8Array(CELLS);
  private readonly fromMeeting = new Uint8Array(CELLS);
  private readonly fromB = new Uint8Array(CELLS);
  private readonly queue = new Uint8Array(CELLS);
  private readonly path = new Uint8Array(CELLS);
  private readonly pool = new Uint8Array(CELLS);

  /** Fills starts[0..1] and goals[0..1]. False when this draw came to nothing; then draw again. */
  draw(size: number, isHole: Uint8Array, kind: Meeting, random: Random, starts: Uint8Array, goals: Uint8Array): boolean {
    const cells = size * size;
    const { pool, fromA, fromMeeting, fromB, path } = this;
    let found = 0;
    for (let cell = 0; cell < cells; cell++) if (isHole[cell] === 0) pool[found++] = cell;
    const startA = pool[random.below(found)]!;
    this.distances(size, isHole, startA, fromA);
    found = 0;
    for (let cell = 0; cell < cells; cell++) if (cell !== startA && fromA[cell] !== FAR) pool[found++] = cell;
    if (found === 0) return false;
    const goalA = pool[random.below(found)]!;

    // A random shortest path, walked back from the goal.
    const length = fromA[goalA]!;
    path[length] = goalA;
    for (let t = length - 1; t >= 0; t--) path[t] = this.stepBack(size, path[t + 1]!, random);

    // A parked agent is passed by: A comes after step 1 and goes on.
    if (kind === "parked" && length < 3) return false;
    const t = kind === "parked" ? random.between(2, length - 1) : random.between(1, length);
    const meeting = path[t]!;
    this.distances(size, isHole, meeting, fromMeeting);
    found = 0;
    for (let cell = 0; cell < cells; cell++) {
      const d = fromMeeting[cell]!;
      const fits = kind === "vertex" ? d === t : d > 0 && d < t;
      if (fits && cell !== startA) pool[found++] = cell;
    }
    if (found === 0) return false;
    const startB = pool[random.below(found)]!;
    let goalB = meeting;
    if (kind === "vertex") {
      this.distances(size, isHole, startB, fromB);
      found = 0;
      for (let cell = 0; cell < cells; cell++) {
        const d = fromMeeting[cell]!;
        if (cell !== startB && cell !== goalA && d !== FAR && fromB[cell] === t + d) pool[found++] = cell;
      }
      if (found === 0) return false;
      goalB = pool[random.below(found)]!;
    }

    const a = random.below(2);
    starts[a] = startA;
    goals[a] = goalA;
    starts[1 - a] = startB;
    goals[1 - a] = goalB;
    return true;
  }

  /** A uniform one of the neighbours that are one step nearer to A's start (reservoir sampling). */
  private stepBack(size: number, from: number, random: Random): number {
    const { fromA } = this;
    const neighbours = NEIGHBOURS[size]!;
    const nearer = fromA[from]! - 1;
    let found = 0;
    let chosen = -1;
    for (let direction = 0; direction < 4; direction++) {
      const cell = neighbours[from * 4 + direction]!;
      if (cell !== OUTSIDE && fromA[cell] === nearer && random.below(++found) === 0) chosen = cell;
    }
    return chosen;
  }

  /** Steps from a cell to every cell; FAR for holes and what cannot be reached. */
  private distances(size: number, isHole: Uint8Array, from: number, into: Uint8Array): void {
    const { queue } = this;
    const neighbours = NEIGHBOURS[size]!;
    into.fill(FAR, 0, size * size);
    into[from] = 0;
    queue[0] = from;
    let filled = 1;
    for (let next = 0; next < filled; next++) {
      const cell = queue[next]!;
      const farther = into[cell]! + 1;
      for (let direction = 0; direction < 4; direction++) {
        const neighbour = neighbours[cell * 4 + direction]!;
        if (neighbour === OUTSIDE || isHole[neighbour] === 1 || into[neighbour] !== FAR) continue;
        into[neighbour] = farther;
        queue[filled++] = neighbour;
      }
    }
  }
}
