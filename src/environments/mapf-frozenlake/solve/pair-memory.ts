/**
 * What is proven about two agents at every two positions: the least and the greatest value of whatever is asked about them. Stamps instead of
 * clearing: a table is far larger than what most boards ask of it.
 */
import { MAX_AGENTS } from "../instance.js";
import { STRIDE } from "./grid.js";

/** Nothing proven: least 0, greatest 255. */
const NOTHING = 255 << 8;
const STEP = 1 << 16;

export class PairMemory {
  /** Entries below it belong to earlier boards; others are base + greatest·256 + least. It changes with `reset` only. */
  base = STEP;
  private readonly tables: (Int32Array | undefined)[] = new Array(MAX_AGENTS * MAX_AGENTS);

  /** Forgets everything. */
  reset(): void {
    this.base += STEP;
    if (this.base < 2 ** 31 - STEP) return;
    for (const table of this.tables) table?.fill(0);
    this.base = STEP;
  }

  /** The entries of agents i < j, by position·STRIDE + position: the same array from board to board. */
  of(i: number, j: number): Int32Array {
    const pair = i * MAX_AGENTS + j;
    let table = this.tables[pair];
    if (table === undefined) table = this.tables[pair] = new Int32Array(STRIDE * STRIDE);
    return table;
  }

  /** What an entry says, for `leastOf` and `mostOf`. */
  read(entries: Int32Array, key: number): number {
    const known = entries[key]! - this.base;
    return known < 0 ? NOTHING : known;
  }

  setLeast(entries: Int32Array, key: number, least: number): void {
    entries[key] = this.base + ((this.read(entries, key) & ~255) | least);
  }

  setMost(entries: Int32Array, key: number, most: number): void {
    entries[key] = this.base + ((most << 8) | (this.read(entries, key) & 255));
  }
}

/** The proven least value. */
export const leastOf = (known: number): number => known & 255;

/** The proven greatest value; 255: nothing proven. */
export const mostOf = (known: number): number => known >> 8;

/** For inner loops: the value of an entry, less `base`, whose least and greatest agree; −1 where they do not. */
export const exactOf = (known: number): number => (known >= 0 && (known & 255) === known >> 8 ? known & 255 : -1);
