/**
 * The nodes of a best-first search over joint positions: packed positions, cost, parent, a hash table to find them and a bucket queue.
 * Stamps instead of clearing: a new search forgets the old one in constant time. Memory only grows.
 */
import { setWord, wordAt } from "./bytes";
import { codeIn, hashOf, Position } from "./position";
import { doubled, leaveSpace, takeSpace } from "./space";

/** Of a node, in bytes: its position, then words. */
const NODE: i32 = 32;
const COST: usize = 8;
const PARENT: usize = 12;
const SLICE: usize = 16;
const LINK: usize = 20;
const SLOTS_AT_FIRST: i32 = 4096;

export class JointNodes {
  count: i32 = 0;
  /** The highest bucket in use. */
  lastBucket: i32 = -1;

  private room: i32 = 1024;
  private nodes: usize = takeSpace(1024 * NODE);
  private heads: usize = takeSpace(256 * 4);
  private headRoom: i32 = 256;
  // Open addressing: entries hold base + node; what is below base belongs to an earlier search.
  private table: usize = takeSpace(SLOTS_AT_FIRST * 4);
  private mask: i32 = SLOTS_AT_FIRST - 1;
  /** Each search begins with this table, which stays in the processor's cache. */
  private readonly first: usize = this.table;
  private base: i32 = 1;

  reset(): void {
    if (this.table !== this.first) {
      leaveSpace(this.table, (this.mask + 1) * 4);
      this.table = this.first;
      this.mask = SLOTS_AT_FIRST - 1;
    }
    this.base += this.count;
    if (this.base > 1_500_000_000) {
      memory.fill(this.table, 0, (this.mask + 1) * 4);
      this.base = 1;
    }
    this.count = 0;
    this.lastBucket = -1;
  }

  position(node: i32): Position {
    return load<u64>(this.at(node));
  }

  code(node: i32, a: i32): i32 {
    return codeIn(this.position(node), a);
  }

  /** Cost so far, in the search's own measure. */
  cost(node: i32): i32 {
    return load<i32>(this.at(node), COST);
  }

  /** The node it was reached from; −1 at the root. */
  parent(node: i32): i32 {
    return load<i32>(this.at(node), PARENT);
  }

  /** What of its expansion is still to be done, in the search's own measure; 0 at first. */
  slice(node: i32): i32 {
    return load<i32>(this.at(node), SLICE);
  }

  setSlice(node: i32, slice: i32): void {
    store<i32>(this.at(node), slice, SLICE);
  }

  /** The latest node with this position, or −1. */
  find(position: Position): i32 {
    let slot = hashOf(position) & this.mask;
    let node = this.nodeAt(slot);
    while (node >= 0 && this.position(node) !== position) {
      slot = (slot + 1) & this.mask;
      node = this.nodeAt(slot);
    }
    return max(node, -1);
  }

  /** Adds a node; it takes the place of an earlier one with the same position. */
  add(position: Position, cost: i32, parent: i32): i32 {
    const node = this.count++;
    if (node === this.room) {
      this.nodes = doubled(this.nodes, this.room * NODE);
      this.room *= 2;
    }
    if (node * 4 > this.mask) this.grow(node);
    const at = this.at(node);
    store<u64>(at, position);
    store<i32>(at, cost, COST);
    store<i32>(at, parent, PARENT);
    store<i32>(at, 0, SLICE);
    this.enter(node, position);
    return node;
  }

  push(node: i32, bucket: i32): void {
    while (this.lastBucket < bucket) {
      if (++this.lastBucket === this.headRoom) {
        this.heads = doubled(this.heads, this.headRoom * 4);
        this.headRoom *= 2;
      }
      setWord(this.heads + (this.lastBucket << 2), -1);
    }
    const head = this.heads + (bucket << 2);
    store<i32>(this.at(node), wordAt(head), LINK);
    setWord(head, node);
  }

  /** Takes the node that came last into the bucket; −1 when it is empty. */
  pop(bucket: i32): i32 {
    const head = this.heads + (bucket << 2);
    const node = wordAt(head);
    if (node >= 0) setWord(head, load<i32>(this.at(node), LINK));
    return node;
  }

  private at(node: i32): usize {
    return this.nodes + node * NODE;
  }

  private enter(node: i32, position: Position): void {
    let slot = hashOf(position) & this.mask;
    for (let known = this.nodeAt(slot); known >= 0 && this.position(known) !== position; known = this.nodeAt(slot)) {
      slot = (slot + 1) & this.mask;
    }
    setWord(this.table + (slot << 2), this.base + node);
  }

  /** The node in a slot of the table; negative: none of this search's. */
  private nodeAt(slot: i32): i32 {
    return wordAt(this.table + (slot << 2)) - this.base;
  }

  /** A table twice as large, for so many nodes. */
  private grow(count: i32): void {
    const before = this.table;
    const bytes = (this.mask + 1) * 4;
    this.table = takeSpace(bytes * 2);
    this.mask = this.mask * 2 + 1;
    for (let node = 0; node < count; node++) this.enter(node, this.position(node));
    if (before !== this.first) leaveSpace(before, bytes);
  }
}
