/**
 * Sets of up to eight cells in the order in which they were found, each with a number, and a hash table to find them again. Stamps instead of
 * clearing: memory is kept from board to board and only grows.
 */

export class CellSets {
  /** Seven bits a cell: the first four cells of each set in `low`, the others in `high`. */
  private low = new Int32Array(1024);
  private high = new Int32Array(1024);
  private numbers = new Int32Array(1024);
  count = 0;

  // Open addressing: entries hold base + place; what is below base belongs to an earlier board.
  private table = new Int32Array(4096);
  private base = 1;

  reset(): void {
    this.base += this.count;
    if (this.base > 1_500_000_000) {
      this.table.fill(0);
      this.base = 1;
    }
    this.count = 0;
  }

  /** The r-th cell of a set. */
  cell(place: number, r: number): number {
    return r < 4 ? (this.low[place]! >> (7 * r)) & 127 : (this.high[place]! >> (7 * (r - 4))) & 127;
  }

  number(place: number): number {
    return this.numbers[place]!;
  }

  /** The place of the set of the first `size` cells, which are sorted; −1: it has not been found. */
  find(cells: Int32Array, size: number): number {
    const { table, base } = this;
    const low = packLow(cells, size);
    const high = packHigh(cells, size);
    const mask = table.length - 1;
    for (let slot = hash(low, high) & mask; ; slot = (slot + 1) & mask) {
      const place = table[slot]! - base;
      if (place < 0) return -1;
      if (this.low[place] === low && this.high[place] === high) return place;
    }
  }

  /** Adds a set that has not been found. */
  add(cells: Int32Array, size: number, number: number): void {
    const place = this.count++;
    if (place === this.low.length) this.grow();
    this.low[place] = packLow(cells, size);
    this.high[place] = packHigh(cells, size);
    this.numbers[place] = number;
    this.enter(place);
  }

  private enter(place: number): void {
    const { table, base } = this;
    const mask = table.length - 1;
    let slot = hash(this.low[place]!, this.high[place]!) & mask;
    while (table[slot]! >= base) slot = (slot + 1) & mask;
    table[slot] = base + place;
  }

  private grow(): void {
    const filled = this.low.length;
    this.low = doubled(this.low);
    this.high = doubled(this.high);
    this.numbers = doubled(this.numbers);
    this.table = new Int32Array(this.table.length * 2);
    for (let place = 0; place < filled; place++) this.enter(place);
  }
}

function packLow(cells: Int32Array, size: number): number {
  let packed = 0;
  for (let r = 0; r < size && r < 4; r++) packed |= cells[r]! << (7 * r);
  return packed;
}

function packHigh(cells: Int32Array, size: number): number {
  let packed = 0;
  for (let r = 4; r < size; r++) packed |= cells[r]! << (7 * (r - 4));
  return packed;
}

function hash(low: number, high: number): number {
  let h = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca77);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  return h ^ (h >>> 13);
}

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
