/**
 * What is proven about the increases of sets of agents at joint positions: a hash table from the packed position, set included, to the
 * proven least and greatest increase. An entry is four words side by side, so that a look-up touches one line of the processor's cache.
 * Stamps instead of clearing; memory only grows.
 */
import { hashPosition } from "./packed-position.js";

const WORDS = 4;
/** Of an entry: the position's two words come first. */
const STAMP = 2;
const PROVEN = 3;
/** The bits of a word that hold codes, seven an agent; the others tell the set. */
const POSITIONS = (1 << 28) - 1;
/** Entries. */
const MANY = 1 << 21;
/** Nothing proven: least 0, greatest 255. */
const NOTHING = 255 << 8;

export class TupleMemory {
  // Open addressing, at most half full; an entry with another stamp is free.
  private table = new Int32Array(WORDS * 2048);
  private count = 0;
  private stamp = 1;

  reset(): void {
    this.count = 0;
    if (++this.stamp === 2 ** 31 - 1) {
      this.table.fill(0);
      this.stamp = 1;
    }
  }

  /** Whether it is time to enter only what a search was spent on: some 70 MB a memory, twice that while it grows. */
  get isLarge(): boolean {
    return this.count >= MANY;
  }

  /** The entry of a position, for `least` and `most` until the next change; −1: nothing is known. */
  find(low: number, high: number): number {
    const { table, stamp } = this;
    const mask = table.length - 1;
    for (let at = (home(low, high) * WORDS) & mask; table[at + STAMP] === stamp; at = (at + WORDS) & mask) {
      if (table[at] === low && table[at + 1] === high) return at;
    }
    return -1;
  }

  /** Proven least increase of an entry. */
  least(entry: number): number {
    return this.table[entry + PROVEN]! & 255;
  }

  /** Proven greatest increase of an entry; 255: nothing proven. */
  most(entry: number): number {
    return this.table[entry + PROVEN]! >> 8;
  }

  setLeast(low: number, high: number, least: number): void {
    const at = this.enter(low, high) + PROVEN;
    this.table[at] = (this.table[at]! & ~255) | least;
  }

  setMost(low: number, high: number, most: number): void {
    const at = this.enter(low, high) + PROVEN;
    this.table[at] = (this.table[at]! & 255) | (most << 8);
  }

  private enter(low: number, high: number): number {
    const known = this.find(low, high);
    if (known >= 0) return known;
    if (++this.count * 2 * WORDS > this.table.length) this.grow();
    return this.place(low, high, NOTHING);
  }

  /** Takes the first free entry for a position that has none. */
  private place(low: number, high: number, proven: number): number {
    const { table, stamp } = this;
    const mask = table.length - 1;
    let at = (home(low, high) * WORDS) & mask;
    while (table[at + STAMP] === stamp) at = (at + WORDS) & mask;
    table[at] = low;
    table[at + 1] = high;
    table[at + STAMP] = stamp;
    table[at + PROVEN] = proven;
    return at;
  }

  private grow(): void {
    const before = this.table;
    this.table = new Int32Array(before.length * 2);
    for (let at = 0; at < before.length; at += WORDS)
      if (before[at + STAMP] === this.stamp) this.place(before[at]!, before[at + 1]!, before[at + PROVEN]!);
  }
}

/** Where a position is looked for first. Positions that differ in the last agent's code alone lie together: they are asked for in turn. */
function home(low: number, high: number): number {
  const upper = high & POSITIONS;
  if (upper !== 0) {
    const shift = upper < 1 << 7 ? 0 : upper < 1 << 14 ? 7 : upper < 1 << 21 ? 14 : 21;
    return hashPosition(low, high & ~(127 << shift)) + (upper >> shift);
  }
  const lower = low & POSITIONS;
  const shift = lower < 1 << 21 ? 14 : 21;
  return hashPosition(low & ~(127 << shift), high) + (lower >> shift);
}
