/**
 * Runs the cells of a matrix, `parallel` at a time, each through the function given; what fails is recorded and the rest goes on. A cell
 * that replays another one starts once that one is done.
 */
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

export async function runMatrix(matrix: Pick<Matrix, "seeds" | "arms" | "set">, options: RunMatrixOptions): Promise<CellOutcome[]> {
  const all = cells(matrix);
  const aborted = () => options.signal?.aborted === true;
  const inSlot = slots(Math.max(1, options.parallel));
  const begun = new Map<string, Promise<CellOutcome>>();
  let done = 0;

  const settled = (outcome: CellOutcome): CellOutcome => {
    done += 1;
    if (outcome.state !== "interrupted") options.onCell?.(outcome.cell, outcome.state, done, all.length);
    return outcome;
  };
  const run = async (cell: Cell): Promise<CellOutcome> => {
    const awaited = cell.replays === undefined ? undefined : await begin(cell.replays);
    if (awaited?.state === "failed") return settled({ cell, state: "failed", message: `it replays ${cell.replays}, which failed` });
    return inSlot(async () => {
      if (aborted()) return settled({ cell, state: "interrupted" });
      options.onCell?.(cell, "started", done, all.length);
      try {
        await options.runCell(cell);
        return settled({ cell, state: "done" });
      } catch (error) {
        return settled({ cell, state: aborted() ? "interrupted" : "failed", message: (error as Error).message });
      }
    });
  };
  /** Each cell once, whoever asks first: the order of the matrix, or one that waits for it. */
  const begin = (folder: string): Promise<CellOutcome> => {
    const outcome = begun.get(folder) ?? run(all.find((c) => c.folder === folder)!);
    begun.set(folder, outcome);
    return outcome;
  };
  return Promise.all(all.map((cell) => begin(cell.folder)));
}

/** At most `count` tasks at a time, in the order in which they were handed in. */
function slots(count: number): <T>(task: () => Promise<T>) => Promise<T> {
  let free = count;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
