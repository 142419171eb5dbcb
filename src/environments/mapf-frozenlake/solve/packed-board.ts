/** A board as the searches have it in their memory, for what is decided outside of them. The constants are those of assembly/grid.ts. */

/** Room for one agent's cells. */
export const STRIDE = 128;
/** The cell that a move off the grid leads to; never free. */
export const OFF_GRID = 127;
/** Distances from here on mean: not reachable. */
export const UNREACHABLE = 254;

export interface PackedBoard {
  size: number;
  /** Number of agents. */
  count: number;
  /** cell·4 + direction (UP, DOWN, LEFT, RIGHT): the cell beside, OFF_GRID outside. */
  neighbours: Uint8Array;
  /** 1 where there is a hole, by cell. */
  holes: Uint8Array;
  /** Cells, by agent. */
  starts: Uint8Array;
  goals: Uint8Array;
  /** agent·STRIDE + cell: steps to the agent's goal on an otherwise empty board. */
  distances: Uint8Array;
}
