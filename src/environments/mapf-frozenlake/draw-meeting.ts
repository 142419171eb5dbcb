/**
 * Draws two agents that are likely to meet, on holes that are already drawn: help where a necessary wait is too rare among uniform
 * starts and goals (two agents on open boards). Agent A gets a uniform start and goal and a random shortest path; B gets a start from
 * which it reaches a cell of that path at the same time as A, or the same edge in the other direction, and a goal beyond it.
 *
 * Bias against uniform draws: B's goal is uniform only among those with a shortest path through the meeting, so paths that meet in the
 * middle of the board are commoner. The boards still have to be certified as what the slot asks for. Measured in docs/environment.md.
 */
import type { Random } from "../../core/index.js";
import { MAX_SIZE } from "./instance.js";

const CELLS = MAX_SIZE * MAX_SIZE;
const FAR = 255;

export class MeetingDrawer {
  private readonly fromA = new Uint8Array(CELLS);
  private readonly fromMeeting = new Uint8Array(CELLS);
  private readonly fromExit = new Uint8Array(CELLS);
  private readonly fromB = new Uint8Array(CELLS);
  private readonly queue = new Uint8Array(CELLS);
  private readonly path = new Uint8Array(CELLS);
  private readonly pool = new Uint8Array(CELLS);

  /** Fills starts[0..1] and goals[0..1]. False when this draw came to nothing; then draw again. */
  draw(size: number, isHole: Uint8Array, random: Random, starts: Uint8Array, goals: Uint8Array): boolean {
    const cells = size * size;
    const { pool, fromA, fromMeeting, fromExit, fromB, path } = this;
    let free = 0;
    for (let cell = 0; cell < cells; cell++) if (isHole[cell] === 0) pool[free++] = cell;
    const startA = pool[random.below(free)]!;
    this.distances(size, isHole, startA, fromA);
    const goalA = this.pick(cells, random, (cell) => cell !== startA && fromA[cell] !== FAR);
    if (goalA < 0) return false;

    // A random shortest path, walked back from the goal.
    const length = fromA[goalA]!;
    path[length] = goalA;
    for (let t = length - 1; t >= 0; t--) path[t] = this.stepBack(size, isHole, path[t + 1]!, random);

    const t = random.between(1, length);
    const byEdge = random.below(2) === 1;
    const meeting = path[t]!;
    const exit = byEdge ? path[t - 1]! : meeting;
    this.distances(size, isHole, meeting, fromMeeting);
    const reach = byEdge ? t - 1 : t;
    const startB = this.pick(cells, random, (cell) => cell !== startA && fromMeeting[cell] === reach);
    if (startB < 0) return false;
    this.distances(size, isHole, startB, fromB);
    this.distances(size, isHole, exit, fromExit);
    const goalB = this.pick(
      cells,
      random,
      (cell) => cell !== startB && cell !== goalA && fromExit[cell] !== FAR && fromB[cell] === t + fromExit[cell]!,
    );
    if (goalB < 0) return false;

    const a = random.below(2);
    starts[a] = startA;
    goals[a] = goalA;
    starts[1 - a] = startB;
    goals[1 - a] = goalB;
    return true;
  }

  /** A uniform cell among those that fit, −1 when none does. */
  private pick(cells: number, random: Random, fits: (cell: number) => boolean): number {
    let found = 0;
    for (let cell = 0; cell < cells; cell++) if (fits(cell)) this.pool[found++] = cell;
    return found === 0 ? -1 : this.pool[random.below(found)]!;
  }

  private stepBack(size: number, isHole: Uint8Array, cell: number, random: Random): number {
    const { fromA } = this;
    const nearer = fromA[cell]! - 1;
    const column = cell % size;
    let found = 0;
    let chosen = -1;
    // Reservoir sampling over the neighbours that are one step nearer to A's start.
    const consider = (neighbour: number) => {
      if (isHole[neighbour] === 0 && fromA[neighbour] === nearer && random.below(++found) === 0) chosen = neighbour;
    };
    if (cell >= size) consider(cell - size);
    if (cell + size < size * size) consider(cell + size);
    if (column > 0) consider(cell - 1);
    if (column + 1 < size) consider(cell + 1);
    return chosen;
  }

  private distances(size: number, isHole: Uint8Array, from: number, into: Uint8Array): void {
    const cells = size * size;
    const { queue } = this;
    into.fill(FAR, 0, cells);
    into[from] = 0;
    queue[0] = from;
    let filled = 1;
    for (let next = 0; next < filled; next++) {
      const cell = queue[next]!;
      const column = cell % size;
      const farther = into[cell]! + 1;
      const visit = (neighbour: number) => {
        if (isHole[neighbour] === 1 || into[neighbour] !== FAR) return;
        into[neighbour] = farther;
        queue[filled++] = neighbour;
      };
      if (cell >= size) visit(cell - size);
      if (cell + size < cells) visit(cell + size);
      if (column > 0) visit(cell - 1);
      if (column + 1 < size) visit(cell + 1);
    }
  }
}
