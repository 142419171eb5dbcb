/**
 * What is proven about the increases of sets of agents at joint positions: a hash table from the packed position, set included, to the
 * proven least and greatest increase. Stamps instead of clearing; memory only grows.
 */
import { grown, hashPosition } from "./packed-position.js";

export class TupleMemory {
  /** Proven least increase, by entry. */
  least = new Uint8Array(1024);
  /** Proven greatest increase, by entry; 255: nothing proven. */
  most = new Uint8Array(1024);
  private low = new Int32Array(1024);
  private high = new Int32Array(1024);
  private count = 0;
  // Open addressing: entries hold base + entry; what is below base belongs to an earlier board.
  private table = new Int32Array(4096);
  private base = 1;

  reset(): void {
    this.base += this.count;
    if (this.base > 1_000_000_000) {
      this.table.fill(0);
      this.base = 1;
    }
    this.count = 0;
  }

  /** −1: nothing is known. */
  find(low: number, high: number): number {
    const { table, base } = this;
    const mask = table.length - 1;
    for (let slot = hashPosition(low, high) & mask; ; slot = (slot + 1) & mask) {
      const entry = table[slot]! - base;
      if (entry < 0) return -1;
      if (this.low[entry] === low && this.high[entry] === high) return entry;
    }
  }

  setLeast(low: number, high: number, least: number): void {
    const entry = this.enter(low, high); // may replace the arrays
    this.least[entry] = least;
  }

  setMost(low: number, high: number, most: number): void {
    const entry = this.enter(low, high);
    this.most[entry] = most;
  }

  private enter(low: number, high: number): number {
    const known = this.find(low, high);
    if (known >= 0) return known;
    const entry = this.count++;
    if (entry === this.low.length) this.grow();
    this.low[entry] = low;
    this.high[entry] = high;
    this.least[entry] = 0;
    this.most[entry] = 255;
    this.link(entry);
    return entry;
  }

  private link(entry: number): void {
    const { table, base } = this;
    const mask = table.length - 1;
    let slot = hashPosition(this.low[entry]!, this.high[entry]!) & mask;
    while (table[slot]! >= base) slot = (slot + 1) & mask;
    table[slot] = base + entry;
  }

  private grow(): void {
    const filled = this.low.length;
    this.low = grown(this.low);
    this.high = grown(this.high);
    const least = new Uint8Array(filled * 2);
    least.set(this.least);
    this.least = least;
    const most = new Uint8Array(filled * 2);
    most.set(this.most);
    this.most = most;
    this.table = new Int32Array(this.table.length * 2);
    for (let entry = 0; entry < filled; entry++) this.link(entry);
  }
}
