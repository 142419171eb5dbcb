/**
 * Numbers for distinct texts, in little memory: what a set of canonical hashes costs when there are millions. A text of hexadecimal digits
 * is kept at half a byte a digit, any other as UTF-8, each behind a length; a table of open addressing finds it again. Comparison is exact,
 * never by fingerprint. About 40 bytes a hash of a 10×10 board with two agents, where a Set of strings takes about 120.
 * Nothing is ever taken out.
 */
const BLOCK = 1 << 20;
const EMPTY = 0xffffffff;
/** Top bit of the two length bytes: the text is packed hexadecimal. */
const HEXADECIMAL = 0x8000;
const LONGEST = 0x7fff;

export class TextIndex {
  private count = 0;
  private blocks: Buffer[] = [];
  private used = BLOCK;
  /** Where text i begins: block · BLOCK + offset. */
  private places = new Float64Array(1024);
  /** Slot → number of the text in it. At most half full. */
  private table = new Uint32Array(2048).fill(EMPTY);
  private scratch = Buffer.alloc(256);

  get size(): number {
    return this.count;
  }

  has(text: string): boolean {
    return this.find(text) >= 0;
  }

  /** The number of `text`, or −1. */
  find(text: string): number {
    const length = this.encode(text);
    return this.lookUp(length).number;
  }

  /** The number of `text`, which is `size` before the call where it is new. @throws {RangeError} for a text of over 32,767 bytes */
  add(text: string): number {
    const length = this.encode(text);
    const { slot, number } = this.lookUp(length);
    if (number >= 0) return number;
    if (this.used + length > BLOCK) {
      this.blocks.push(Buffer.allocUnsafeSlow(BLOCK));
      this.used = 0;
    }
    this.scratch.copy(this.blocks.at(-1)!, this.used, 0, length);
    if (this.count === this.places.length) this.places = grown(this.places);
    this.places[this.count] = (this.blocks.length - 1) * BLOCK + this.used;
    this.used += length;
    this.table[slot] = this.count++;
    if (this.count * 2 > this.table.length) this.rehash();
    return this.count - 1;
  }

  /** The texts in the order in which they came. */
  *[Symbol.iterator](): Generator<string> {
    for (let number = 0; number < this.count; number++) {
      const place = this.places[number]!;
      const block = this.blocks[Math.floor(place / BLOCK)]!;
      const from = (place % BLOCK) + 2;
      const head = block.readUInt16BE(from - 2);
      const length = head & LONGEST;
      if ((head & HEXADECIMAL) === 0) yield block.toString("utf8", from, from + length);
      else yield block.toString("hex", from, from + Math.ceil(length / 2)).slice(0, length);
    }
  }

  /** Puts the record of `text` into `scratch` (two bytes of length and kind, then the bytes) and returns its length. */
  private encode(text: string): number {
    if (this.scratch.length < 2 + 3 * text.length) this.scratch = Buffer.alloc(2 * (2 + 3 * text.length));
    const { scratch } = this;
    let at = 2;
    let high = -1;
    for (let i = 0; i < text.length; i++) {
      const digit = hexadecimal(text.charCodeAt(i));
      if (digit < 0) {
        const bytes = scratch.write(text, 2, "utf8");
        if (bytes > LONGEST) throw new RangeError(`a text of ${bytes} bytes is too long for an index of hashes`);
        scratch.writeUInt16BE(bytes, 0);
        return 2 + bytes;
      }
      if (high < 0) high = digit;
      else {
        scratch[at++] = (high << 4) | digit;
        high = -1;
      }
    }
    if (high >= 0) scratch[at++] = high << 4;
    if (text.length > LONGEST) throw new RangeError(`a text of ${text.length} digits is too long for an index of hashes`);
    scratch.writeUInt16BE(HEXADECIMAL | text.length, 0);
    return at;
  }

  private lookUp(length: number): { slot: number; number: number } {
    const mask = this.table.length - 1;
    let slot = spread(this.scratch, 0, length) & mask;
    for (; this.table[slot] !== EMPTY; slot = (slot + 1) & mask) {
      const number = this.table[slot]!;
      const place = this.places[number]!;
      const block = this.blocks[Math.floor(place / BLOCK)]!;
      const offset = place % BLOCK;
      if (this.scratch.compare(block, offset, Math.min(BLOCK, offset + length), 0, length) === 0) return { slot, number };
    }
    return { slot, number: -1 };
  }

  private rehash(): void {
    const table = new Uint32Array(this.table.length * 2).fill(EMPTY);
    const mask = table.length - 1;
    for (let number = 0; number < this.count; number++) {
      const place = this.places[number]!;
      const block = this.blocks[Math.floor(place / BLOCK)]!;
      const offset = place % BLOCK;
      const head = block.readUInt16BE(offset);
      const length = 2 + (head & HEXADECIMAL ? Math.ceil((head & LONGEST) / 2) : head);
      let slot = spread(block, offset, length) & mask;
      while (table[slot] !== EMPTY) slot = (slot + 1) & mask;
      table[slot] = number;
    }
    this.table = table;
  }
}

/** FNV-1a with a final mix, so that the low bits are good. */
function spread(bytes: Uint8Array, from: number, length: number): number {
  let h = 0x811c9dc5;
  for (let i = from; i < from + length; i++) h = Math.imul(h ^ bytes[i]!, 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}

function hexadecimal(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  return code >= 97 && code <= 102 ? code - 87 : -1;
}

function grown(places: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(places.length * 2);
  larger.set(places);
  return larger;
}
