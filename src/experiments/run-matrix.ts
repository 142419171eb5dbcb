/** Runs the cells of a matrix, `parallel` at a time, each through the function given; what fails is recorded and the rest goes on. */
import { type Cell, cells, type Matrix } from "./matrix.js";

export interface CellOutcome {
  cell: Cell;
  state: "done" | "failed" | "interrupted";
  message?: string;
}

export interface RunMatrixOptions {
  parallel: number;
  /** Runs or resumes one cell to its end; rejects with why it failed. Returns at once for a finished cell. */
  runCell: (cell: Cell) => Promise<void>;
  signal?: AbortSignal;
  onCell?: (cell: Cell, state: "started" | "done" | "failed", done: number, total: number) => void;
}

export async function runMatrix(matrix: Matrix, options: RunMatrixOptions): Promise<CellOutcome[]> {
  const all = cells(matrix);
  const outcomes: (CellOutcome | undefined)[] = all.map(() => undefined);
  let next = 0;
  let done = 0;
  const worker = async () => {
    while (next < all.length) {
      const index = next++;
      const cell = all[index]!;
      if (options.signal?.aborted) {
        outcomes[index] = { cell, state: "interrupted" };
        continue;
      }
      options.onCell?.(cell, "started", done, all.length);
      try {
        await options.runCell(cell);
        outcomes[index] = { cell, state: "done" };
      } catch (error) {
        outcomes[index] = { cell, state: options.signal?.aborted ? "interrupted" : "failed", message: (error as Error).message };
      }
      done += 1;
      options.onCell?.(cell, outcomes[index].state === "done" ? "done" : "failed", done, all.length);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, options.parallel) }, worker));
  return outcomes.map((o) => o!);
}
