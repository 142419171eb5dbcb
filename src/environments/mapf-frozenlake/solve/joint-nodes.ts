/**
 * The nodes of a best-first search over joint positions: packed positions, cost, parent, a hash table to find them and a bucket queue.
 * Stamps instead of clearing: a new search forgets the old one in constant time. Memory only grows.
 */
import { grown, hashPosition } from "./packed-position.js";

export class JointNodes {
  /** Seven bits an agent: agents 0–3 of the searched set in `low`, 4–7 in `high`. */
  low = new Int32Array(1024);
  high = new Int32Array(1024);
  /** Cost so far, in the search's own measure. */
  cost = new Int32Array(1024);
  /** The node it was reached from; −1 at the root. */
  parent = new Int32Array(1024);
  /** What of its expansion is still to be done, in the search's own measure. */
  slice = new Int32Array(1024);
  count = 0;

  /** The next node in the same bucket. */
  private link = new Int32Array(1024);
  private heads = new Int32Array(256);
  /** The highest bucket in use. */
  lastBucket = -1;

  // Open addressing: entries hold base + node; what is below base belongs to an earlier search.
  private table = new Int32Array(4096);
  private base = 1;

  reset(): void {
    this.base += this.count;
    if (this.base > 1_500_000_000) {
      this.table.fill(0);
      this.base = 1;
    }
    this.count = 0;
    this.lastBucket = -1;
  }

  code(node: number, a: number): number {
    return a < 4 ? (this.low[node]! >> (7 * a)) & 127 : (this.high[node]! >> (7 * (a - 4))) & 127;
  }

  /** The latest node with these positions, or −1. */
  find(low: number, high: number): number {
    const { table, base } = this;
    const mask = table.length - 1;
    for (let slot = hashPosition(low, high) & mask; ; slot = (slot + 1) & mask) {
      const node = table[slot]! - base;
      if (node < 0) return -1;
      if (this.low[node] === low && this.high[node] === high) return node;
    }
  }

  /** Adds a node; it takes the place of an earlier one with the same positions. */
  add(low: number, high: number, cost: number, parent: number): number {
    const node = this.count++;
    if (node === this.low.length) this.grow();
    this.low[node] = low;
    this.high[node] = high;
    this.cost[node] = cost;
    this.parent[node] = parent;
    this.slice[node] = 0;
    this.enter(node);
    return node;
  }

  push(node: number, bucket: number): void {
    while (this.lastBucket < bucket) {
      if (++this.lastBucket === this.heads.length) this.heads = grown(this.heads);
      this.heads[this.lastBucket] = -1;
    }
    this.link[node] = this.heads[bucket]!;
    this.heads[bucket] = node;
  }

  /** Takes the node that came last into the bucket; −1 when it is empty. */
  pop(bucket: number): number {
    const node = this.heads[bucket]!;
    if (node >= 0) this.heads[bucket] = this.link[node]!;
    return node;
  }

  private enter(node: number): void {
    const { table, base } = this;
    const mask = table.length - 1;
    const low = this.low[node]!;
    const high = this.high[node]!;
    for (let slot = hashPosition(low, high) & mask; ; slot = (slot + 1) & mask) {
      const known = table[slot]! - base;
      if (known >= 0 && (this.low[known] !== low || this.high[known] !== high)) continue;
      table[slot] = base + node;
      return;
    }
  }

  private grow(): void {
    const filled = this.low.length;
    this.low = grown(this.low);
    this.high = grown(this.high);
    this.cost = grown(this.cost);
    this.parent = grown(this.parent);
    this.slice = grown(this.slice);
    this.link = grown(this.link);
    this.table = new Int32Array(this.table.length * 2);
    for (let node = 0; node < filled; node++) this.enter(node);
  }
}
