/**
 * What is proven about the increases of sets of agents at joint positions: a hash table from the packed position, set included, to the
 * proven least and greatest increase. An entry is sixteen bytes, so that a look-up touches one line of the processor's cache. Stamps instead
 * of clearing; memory only grows.
 */
import { byteAt, setByte } from "./bytes";
import { codeShift, hashOf, Position } from "./position";
import { leaveSpace, takeSpace } from "./space";

/** Of an entry, in bytes: the position comes first. */
const ENTRY: u32 = 16;
const STAMP: usize = 8;
const LEAST: usize = 12;
const MOST: usize = 13;
/** Nothing proven: least 0, greatest 255. */
const NOTHING: u32 = 255 << 8;
const ENTRIES_AT_FIRST: u32 = 2048;
/** Entries. */
const MANY: u32 = 1 << 21;

export class PositionTable {
  private stamp: u32 = 0;
  private count: u32 = 0;
  /** Where the table begins, and its size in bytes. */
  private table: usize = 0;
  private bytes: u32 = ENTRY * ENTRIES_AT_FIRST;
  private readonly shift: i32;

  /** @param last the agent whose code is the last to be chosen: positions that differ in it alone lie together, since they are asked for in turn */
  constructor(last: i32) {
    this.shift = codeShift(last);
  }

  /** Forgets everything. */
  reset(): void {
    if (this.table === 0) this.table = takeSpace(this.bytes);
    this.count = 0;
    if (++this.stamp !== 0) return;
    memory.fill(this.table, 0, this.bytes);
    this.stamp = 1;
  }

  /** Whether it is time to enter only what a search was spent on: some 70 MB a memory, twice that while it grows. */
  get isLarge(): bool {
    return this.count >= MANY;
  }

  /** The entry of a position, until the next change; 0: nothing is known. */
  find(position: Position): usize {
    const table = this.table;
    const mask = this.bytes - ENTRY;
    const stamp = this.stamp;
    let at = this.home(position) & mask;
    while (load<u32>(table + at, STAMP) === stamp) {
      if (load<u64>(table + at) === position) return table + at;
      at = (at + ENTRY) & mask;
    }
    return 0;
  }

  setLeast(position: Position, least: i32): void {
    setByte(this.enter(position) + LEAST, least);
  }

  setMost(position: Position, most: i32): void {
    setByte(this.enter(position) + MOST, most);
  }

  /** In bytes from the beginning, still to be taken modulo the size. */
  private home(position: Position): u32 {
    const shift = this.shift;
    return (hashOf(position & ~((<u64>127) << shift)) + <u32>((position >> shift) & 127)) * ENTRY;
  }

  private enter(position: Position): usize {
    const known = this.find(position);
    if (known !== 0) return known;
    if (++this.count * 2 * ENTRY > this.bytes) this.grow();
    return this.place(position, NOTHING);
  }

  /** Takes the first free entry for a position that has none. */
  private place(position: Position, proven: u32): usize {
    const table = this.table;
    const mask = this.bytes - ENTRY;
    let at = this.home(position) & mask;
    while (load<u32>(table + at, STAMP) === this.stamp) at = (at + ENTRY) & mask;
    store<u64>(table + at, position);
    store<u32>(table + at, this.stamp, STAMP);
    store<u32>(table + at, proven, LEAST);
    return table + at;
  }

  private grow(): void {
    const before = this.table;
    const bytes = this.bytes;
    this.table = takeSpace(bytes * 2);
    this.bytes = bytes * 2;
    for (let at = before; at < before + bytes; at += ENTRY)
      if (load<u32>(at, STAMP) === this.stamp) this.place(load<u64>(at), load<u32>(at, LEAST));
    leaveSpace(before, bytes);
  }
}

/** Proven least increase of an entry. */
export function leastAt(entry: usize): i32 {
  return byteAt(entry + LEAST);
}

/** Proven greatest increase of an entry; 255: nothing proven. */
export function mostAt(entry: usize): i32 {
  return byteAt(entry + MOST);
}
