/**
 * What is proven about the increases of sets of agents at joint positions: a hash table from the positions of all agents but one to what is
 * known for every code of that one, since its moves are what is asked for in turn. A block is one line of the processor's cache: the key, then
 * a byte for each of 52 codes (proven least increases alone) or two for each of 26 (least and greatest). Stamps instead of clearing; memory
 * only grows.
 */
import { byteAt, copyBytes, setByte } from "./bytes";
import { codeShift, hashOf, Position } from "./position";
import { leaveSpace, takeSpace } from "./space";

/** Of a block, in bytes: the key comes first. */
const BLOCK: u32 = 64;
const STAMP: usize = 8;
const VALUES: usize = 12;
const CODES: i32 = 52;
const CODES_OF_BOTH: i32 = 26;
const BLOCKS: u32 = 1024;
/** Bytes up to which a table grows fourfold, as most that grow once grow again; larger ones grow twofold. */
const GROWS_FAST: u32 = 1 << 20;
/** Blocks. */
const MANY: u32 = 1 << 20;
/** No table begins with more blocks: more than any asks for, but in tests. */
let mostAtFirst: u32 = 1 << 20;

/** For tests: tables begin with at most so many blocks, a power of two, from the next reset on. */
export function beginWithBlocks(blocks: u32): void {
  mostAtFirst = blocks;
}

/** No position: it has all the codes' bits and no set. */
const NO_KEY: Position = 0x0fff_ffff_0fff_ffff;

export class PositionTable {
  /** Changes whenever blocks have come to lie elsewhere. */
  moved: i32 = 0;

  private stamp: u32 = 1;
  private count: u32 = 0;
  /** Where the table begins, and its size in bytes. Each board begins with the first table, which stays in the processor's cache. */
  private table: usize = 0;
  private bytes: u32 = 0;
  private readonly first: usize;
  private readonly bytesAtFirst: u32;
  /** What was found last: a key, and its block or 0. */
  private lastKey: Position = NO_KEY;
  private lastBlock: usize = 0;
  private readonly shift: i32;
  private codes: i32 = CODES;

  /**
   * @param agent the one whose codes share a block; positions are asked for without it, its bits 0
   * @param blocks that a board begins with, a power of two
   */
  constructor(agent: i32, blocks: u32 = BLOCKS) {
    this.shift = codeShift(agent);
    this.bytesAtFirst = BLOCK * blocks;
    this.first = takeSpace(this.bytesAtFirst);
    this.table = this.first;
    this.bytes = this.bytesAtFirst;
  }

  /** Forgets everything. @param holdsMost whether greatest increases are kept as well from now on */
  reset(holdsMost: bool): void {
    this.codes = holdsMost ? CODES_OF_BOTH : CODES;
    this.count = 0;
    this.lastKey = NO_KEY;
    if (this.table !== this.first) {
      leaveSpace(this.table, this.bytes);
      this.table = this.first;
    }
    this.bytes = min(this.bytesAtFirst, BLOCK * mostAtFirst);
    if (++this.stamp !== 0) return;
    memory.fill(this.first, 0, this.bytesAtFirst);
    this.stamp = 1;
  }

  /** Which block of its position a code is in. */
  part(code: i32): i32 {
    return this.codes === CODES ? (code * 79) >> 12 : (code * 158) >> 12;
  }

  /** The block of a part of a position's codes; 0: nothing is known of them. */
  find(position: Position, part: i32): usize {
    return this.findKey(this.keyOf(position, part));
  }

  /** As `find`, and a new block where there is none. It stays where it is until `moved` changes. */
  enter(position: Position, part: i32): usize {
    const key = this.keyOf(position, part);
    const known = this.findKey(key);
    return known !== 0 ? known : this.add(key);
  }

  /** As `enter`, for what no search is spent on: once the table is large, 0 where there is no block. */
  enterIfSmall(position: Position, part: i32): usize {
    return this.count < MANY ? this.enter(position, part) : this.find(position, part);
  }

  /** The proven least increase of a code in the block of its part; 0: nothing is proven. */
  leastIn(block: usize, part: i32, code: i32): i32 {
    return byteAt(this.placeOf(block, part, code));
  }

  /** The proven greatest increase; 255: nothing is proven. */
  mostIn(block: usize, part: i32, code: i32): i32 {
    return 255 - byteAt(this.placeOf(block, part, code) + CODES_OF_BOTH);
  }

  setLeast(block: usize, part: i32, code: i32, least: i32): void {
    setByte(this.placeOf(block, part, code), least);
  }

  setMost(block: usize, part: i32, code: i32, most: i32): void {
    setByte(this.placeOf(block, part, code) + CODES_OF_BOTH, 255 - most);
  }

  private keyOf(position: Position, part: i32): Position {
    return position | ((<u64>part) << this.shift);
  }

  /** Where the least increase of a code stands in the block of its part; its greatest one stands CODES_OF_BOTH further. */
  private placeOf(block: usize, part: i32, code: i32): usize {
    return block + VALUES + (code - part * this.codes);
  }

  private findKey(key: Position): usize {
    if (key === this.lastKey) return this.lastBlock;
    const block = this.lookUp(key);
    this.lastKey = key;
    this.lastBlock = block;
    return block;
  }

  private lookUp(key: Position): usize {
    const table = this.table;
    const mask = this.bytes - BLOCK;
    const stamp = this.stamp;
    let at = (hashOf(key) * BLOCK) & mask;
    while (load<u32>(table + at, STAMP) === stamp) {
      if (load<u64>(table + at) === key) return table + at;
      at = (at + BLOCK) & mask;
    }
    return 0;
  }

  private add(key: Position): usize {
    if (++this.count * 2 * BLOCK > this.bytes) this.grow();
    const block = this.freeBlock(key);
    const nothing = i64x2.splat(0);
    v128.store(block, nothing);
    v128.store(block, nothing, 16);
    v128.store(block, nothing, 32);
    v128.store(block, nothing, 48);
    store<u64>(block, key);
    store<u32>(block, this.stamp, STAMP);
    this.lastKey = key;
    this.lastBlock = block;
    return block;
  }

  /** The first free block for a key that has none. */
  private freeBlock(key: Position): usize {
    const mask = this.bytes - BLOCK;
    let at = (hashOf(key) * BLOCK) & mask;
    while (load<u32>(this.table + at, STAMP) === this.stamp) at = (at + BLOCK) & mask;
    return this.table + at;
  }

  private grow(): void {
    const before = this.table;
    const bytes = this.bytes;
    const larger = bytes * (bytes < GROWS_FAST ? 4 : 2);
    this.table = takeSpace(larger);
    this.bytes = larger;
    this.moved++;
    for (let block = before; block < before + bytes; block += BLOCK) {
      if (load<u32>(block, STAMP) === this.stamp) copyBytes(this.freeBlock(load<u64>(block)), block, BLOCK);
    }
    if (before !== this.first) leaveSpace(before, bytes);
  }
}
