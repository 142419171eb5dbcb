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
const BLOCKS_AT_FIRST: u32 = 256;
/** Blocks. */
const MANY: u32 = 1 << 20;
/** No position: it has all the codes' bits and no set. */
const NO_KEY: Position = 0x0fff_ffff_0fff_ffff;

export class PositionTable {
  private stamp: u32 = 1;
  private count: u32 = 0;
  /** Where the table begins, and its size in bytes. Each board begins with the first table, which stays in the processor's cache. */
  private table: usize = takeSpace(BLOCK * BLOCKS_AT_FIRST);
  private bytes: u32 = BLOCK * BLOCKS_AT_FIRST;
  private readonly first: usize = this.table;
  /** What was found last: a key, and its block or 0. */
  private lastKey: Position = NO_KEY;
  private lastBlock: usize = 0;
  private readonly shift: i32;
  private codes: i32 = CODES;

  /** @param agent the one whose codes share a block; positions are asked for without it, its bits 0 */
  constructor(agent: i32) {
    this.shift = codeShift(agent);
  }

  /** Forgets everything. @param holdsMost whether greatest increases are kept as well from now on */
  reset(holdsMost: bool): void {
    this.codes = holdsMost ? CODES_OF_BOTH : CODES;
    this.count = 0;
    this.lastKey = NO_KEY;
    if (this.table !== this.first) {
      leaveSpace(this.table, this.bytes);
      this.table = this.first;
      this.bytes = BLOCK * BLOCKS_AT_FIRST;
    }
    if (++this.stamp !== 0) return;
    memory.fill(this.table, 0, this.bytes);
    this.stamp = 1;
  }

  /** The proven least increase; 0 where nothing is known. */
  least(position: Position, code: i32): i32 {
    const part = this.part(code);
    const block = this.block(position, part);
    return block === 0 ? 0 : this.leastIn(block, part, code);
  }

  /** The proven greatest increase; 255 where nothing is known. */
  most(position: Position, code: i32): i32 {
    const part = this.part(code);
    const block = this.block(position, part);
    return block === 0 ? 255 : 255 - byteAt(this.placeOf(block, part, code) + CODES_OF_BOTH);
  }

  setLeast(position: Position, code: i32, least: i32): void {
    const part = this.part(code);
    setByte(this.placeOf(this.enter(this.keyOf(position, part)), part, code), least);
  }

  setMost(position: Position, code: i32, most: i32): void {
    const part = this.part(code);
    setByte(this.placeOf(this.enter(this.keyOf(position, part)), part, code) + CODES_OF_BOTH, 255 - most);
  }

  /** As `setLeast`, for what no search was spent on: once the table is large only in blocks that are there. */
  noteLeast(position: Position, code: i32, least: i32): void {
    if (this.count < MANY || this.block(position, this.part(code)) !== 0) this.setLeast(position, code, least);
  }

  /** For loops over many codes of one position: the block of a part of them, until the next change; 0: nothing is known. */
  block(position: Position, part: i32): usize {
    return this.find(this.keyOf(position, part));
  }

  /** The proven least increase of a code in the block of its part. */
  leastIn(block: usize, part: i32, code: i32): i32 {
    return byteAt(this.placeOf(block, part, code));
  }

  /** Which block of its position a code is in. */
  part(code: i32): i32 {
    return this.codes === CODES ? (code * 79) >> 12 : (code * 158) >> 12;
  }

  private keyOf(position: Position, part: i32): Position {
    return position | ((<u64>part) << this.shift);
  }

  /** Where the least increase of a code stands in the block of its part; its greatest one stands CODES_OF_BOTH further. */
  private placeOf(block: usize, part: i32, code: i32): usize {
    return block + VALUES + (code - part * this.codes);
  }

  private find(key: Position): usize {
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

  private enter(key: Position): usize {
    const known = this.find(key);
    if (known !== 0) return known;
    if (++this.count * 2 * BLOCK > this.bytes) this.grow();
    const block = this.freeBlock(key);
    for (let at: usize = 0; at < BLOCK; at += 8) store<u64>(block + at, 0);
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
    this.table = takeSpace(bytes * 2);
    this.bytes = bytes * 2;
    for (let block = before; block < before + bytes; block += BLOCK) {
      if (load<u32>(block, STAMP) === this.stamp) copyBytes(this.freeBlock(load<u64>(block)), block, BLOCK);
    }
    if (before !== this.first) leaveSpace(before, bytes);
  }
}
