/**
 * What is proven about two agents at every two positions: the least and the greatest value of whatever is asked about them. Stamps instead of
 * clearing: a table is far larger than what most boards ask of it.
 */
import { setWord, wordAt } from "./bytes";
import { MAX_AGENTS, STRIDE } from "./grid";
import { takeSpace } from "./space";

/** Nothing proven: least 0, greatest 255. */
const NOTHING: i32 = 255 << 8;
const STEP: i32 = 1 << 16;
const BYTES: usize = STRIDE * STRIDE * 4;

export class PairTables {
  /** Entries below it belong to earlier boards; others are base + greatest·256 + least. It changes with `reset` only. */
  base: i32 = STEP;
  /** By agents i·MAX_AGENTS + j; 0 before the pair is asked about. */
  private readonly tables: usize = takeSpace(MAX_AGENTS * MAX_AGENTS * 4);

  /** Forgets everything. */
  reset(): void {
    this.base += STEP;
    if (this.base < i32.MAX_VALUE - STEP) return;
    for (let pair = 0; pair < MAX_AGENTS * MAX_AGENTS; pair++) {
      const table: usize = load<u32>(this.tables + (pair << 2));
      if (table !== 0) memory.fill(table, 0, BYTES);
    }
    this.base = STEP;
  }

  /** Where the entries of agents i < j begin. */
  of(i: i32, j: i32): usize {
    const at = this.tables + ((i * MAX_AGENTS + j) << 2);
    const table: usize = load<u32>(at);
    return table !== 0 ? table : this.begin(at);
  }

  private begin(at: usize): usize {
    const table = takeSpace(BYTES);
    store<u32>(at, <u32>table);
    return table;
  }

  /** What an entry says, for `leastOf` and `mostOf`. */
  read(entry: usize): i32 {
    const known = wordAt(entry) - this.base;
    return known < 0 ? NOTHING : known;
  }

  setLeast(entry: usize, least: i32): void {
    setWord(entry, this.base + ((this.read(entry) & ~255) | least));
  }

  setMost(entry: usize, most: i32): void {
    setWord(entry, this.base + ((most << 8) | (this.read(entry) & 255)));
  }
}

/** The entry of two positions in a table. */
export function entryOf(table: usize, a: i32, b: i32): usize {
  return table + ((a * STRIDE + b) << 2);
}

/** The value of an entry whose least and greatest agree; −1 where they do not. */
export function exactValue(entry: usize, base: i32): i32 {
  const known = wordAt(entry) - base;
  return known >= 0 && (known & 255) === known >> 8 ? known & 255 : -1;
}

/** The proven least value. */
export function leastOf(known: i32): i32 {
  return known & 255;
}

/** The proven greatest value; 255: nothing proven. */
export function mostOf(known: i32): i32 {
  return known >> 8;
}
