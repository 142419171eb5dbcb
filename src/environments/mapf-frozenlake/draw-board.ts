/**
 * Draws candidate boards. Plain candidates: holes uniformly, starts uniformly among the cells that have a neighbour to go to, each goal
 * uniformly in its start's component (never the start itself).
 *
 * Bias against rejecting whole boards with unreachable goals: boards in several pieces are kept instead of dropped, so small pieces and
 * short paths come up more often. Measured with three agents (draw-board.slow.test.ts; mean shortest distance, rejection against this):
 * 6×6 with 7 holes 4.43 against 4.38, with 11 holes 4.57 against 4.22; 10×10 with 20 holes 7.42 against 7.32, with 30 holes 8.15 against
 * 7.57. Hole patterns differ by less than 3 % in touching pairs of holes from 6×6 on.
 */
import type { Random } from "../../core/index.js";
import { MAX_AGENTS, MAX_SIZE } from "./instance.js";
import { NEIGHBOURS, OUTSIDE } from "./neighbours.js";

const CELLS = MAX_SIZE * MAX_SIZE;
const NO_PIECE = 255;
const HOLE_PIECE = 254;

/** A candidate in cell numbers row·size + column; reused from draw to draw. */
export class DrawnBoard {
  size = 0;
  agents = 0;
  holeCount = 0;
  /** 1 where there is a hole. */
  readonly isHole = new Uint8Array(CELLS);
  /** The first `holeCount` are the holes, ascending. */
  readonly holes = new Uint8Array(CELLS);
  readonly starts = new Uint8Array(MAX_AGENTS);
  readonly goals = new Uint8Array(MAX_AGENTS);

  // The free cells, piece by piece: piece p is order[pieceStart[p]] … order[pieceStart[p + 1] − 1].
  private readonly order = new Uint8Array(CELLS);
  private readonly piece = new Uint8Array(CELLS);
  private readonly pieceStart = new Uint8Array(CELLS + 1);
  private readonly pool = new Uint8Array(CELLS);
  private readonly taken = new Uint8Array(CELLS);

  /** Draws a candidate. False when the holes leave no room for the agents; then draw again. */
  draw(size: number, holes: number, agents: number, random: Random): boolean {
    this.size = size;
    this.agents = agents;
    this.drawHoles(holes, random);
    this.findPieces();
    return this.drawStarts(random) && this.drawGoals(random);
  }

  private drawHoles(holes: number, random: Random): void {
    const cells = this.size * this.size;
    const { isHole } = this;
    this.holeCount = holes;
    isHole.fill(0, 0, cells);
    // Floyd's sampling: one draw a hole, no shuffled list.
    for (let last = cells - holes; last < cells; last++) {
      const cell = random.below(last + 1);
      isHole[isHole[cell] === 1 ? last : cell] = 1;
    }
    let found = 0;
    for (let cell = 0; cell < cells && found < holes; cell++) if (isHole[cell] === 1) this.holes[found++] = cell;
  }

  private findPieces(): void {
    const { size, order, piece, pieceStart } = this;
    const cells = size * size;
    piece.fill(NO_PIECE, 0, cells);
    for (let i = 0; i < this.holeCount; i++) piece[this.holes[i]!] = HOLE_PIECE;
    const neighbours = NEIGHBOURS[size]!;
    let pieces = 0;
    let filled = 0;
    for (let seed = 0; seed < cells; seed++) {
      if (piece[seed] !== NO_PIECE) continue;
      pieceStart[pieces] = filled;
      piece[seed] = pieces;
      order[filled++] = seed;
      for (let next = filled - 1; next < filled; next++) {
        const around = order[next]! * 4;
        for (let direction = 0; direction < 4; direction++) {
          const cell = neighbours[around + direction]!;
          if (cell === OUTSIDE || piece[cell] !== NO_PIECE) continue;
          piece[cell] = pieces;
          order[filled++] = cell;
        }
      }
      pieces++;
    }
    pieceStart[pieces] = filled;
  }

  private drawStarts(random: Random): boolean {
    const { order, piece, pieceStart, pool, starts, agents } = this;
    let eligible = 0;
    const free = this.size * this.size - this.holeCount;
    for (let i = 0; i < free; i++) {
      const p = piece[order[i]!]!;
      if (pieceStart[p + 1]! - pieceStart[p]! > 1) pool[eligible++] = order[i]!;
    }
    if (eligible < agents) return false;
    for (let a = 0; a < agents; a++) {
      const j = a + random.below(eligible - a);
      starts[a] = pool[j]!;
      pool[j] = pool[a]!;
    }
    return true;
  }

  private drawGoals(random: Random): boolean {
    const { order, piece, pieceStart, pool, taken, starts, goals, agents } = this;
    taken.fill(0, 0, this.size * this.size);
    for (let a = 0; a < agents; a++) {
      const p = piece[starts[a]!]!;
      let eligible = 0;
      for (let i = pieceStart[p]!; i < pieceStart[p + 1]!; i++) {
        const cell = order[i]!;
        if (cell !== starts[a] && taken[cell] === 0) pool[eligible++] = cell;
      }
      if (eligible === 0) return false;
      const cell = pool[random.below(eligible)]!;
      goals[a] = cell;
      taken[cell] = 1;
    }
    return true;
  }
}
