/** What all rows of the picture share: where checkpoints stand, and how wide a stage is. */
import type { RunDetail } from "../../../../src/ui/records.js";

/** Width of the labels on the left. */
export const GUTTER = 104;
/** Height of a row of cells. */
export const ROW = 19;

export interface Frame {
  run: RunDetail;
  /** x of checkpoint c. */
  at: (c: number) => number;
  /** Width of a stage. */
  step: number;
  strata: string[];
}

export const checkpointName = (c: number): string => (c === 0 ? "Base" : `Checkpoint ${c}`);
