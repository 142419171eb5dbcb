/**
 * Which boards a set being filled holds already, under any symmetry: a table of open addressing from the canonical hash to the slot. The
 * boards themselves are not kept again: where fingerprints agree, the slot's board is hashed anew and compared exactly. 16 to 32 bytes a slot.
 */
import type { FilledSlots } from "./filled-slots.js";
import { hashCells } from "./hash.js";

export class TakenBoards {
  /** Slot + 1; 0: free. At most half full. */
  private readonly slots: Uint32Array;
  private readonly fingerprints: Uint32Array;

  constructor(private readonly filled: FilledSlots) {
    const length = 2 ** Math.ceil(Math.log2(Math.max(2, 2 * filled.length)));
    this.slots = new Uint32Array(length);
    this.fingerprints = new Uint32Array(length);
  }

  has(hash: string): boolean {
    return this.slots[this.place(hash, fingerprint(hash))] !== 0;
  }

  /** Enters the board of a filled slot, unless it is there. */
  add(hash: string, index: number): void {
    const print = fingerprint(hash);
    const place = this.place(hash, print);
    if (this.slots[place] !== 0) return;
    this.slots[place] = index + 1;
    this.fingerprints[place] = print;
  }

  /** Where the board is, or would be. */
  private place(hash: string, print: number): number {
    const { slots, fingerprints } = this;
    const mask = slots.length - 1;
    let place = print & mask;
    while (slots[place] !== 0 && !(fingerprints[place] === print && this.hashOf(slots[place]! - 1) === hash)) place = (place + 1) & mask;
    return place;
  }

  private hashOf(index: number): string {
    const { size, filling } = this.filled.at(index);
    const { holes, starts, goals } = filling;
    return hashCells(size, holes, holes.length, starts, goals, starts.length);
  }
}

/** FNV-1a with a final mix, so that the low bits are good. */
export function fingerprint(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}
