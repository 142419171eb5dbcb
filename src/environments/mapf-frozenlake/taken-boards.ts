/**
 * Which boards a set being filled holds already, under any symmetry: a table of open addressing from the canonical hash to the slot. The
 * boards themselves are not kept again: where fingerprints agree, the slot's board is hashed anew and compared exactly. 8 to 16 bytes a slot.
 */
import type { Scratch } from "../../core/index.js";
import type { FilledSlots } from "./filled-slots.js";
import { hashCells } from "./hash.js";
import { PagedNumbers } from "./paged-records.js";

export class TakenBoards {
  /** Slot + 1, and above it as much of the fingerprint as there is room for; 0: free. At most half full. */
  private readonly entries: PagedNumbers;
  private readonly slotMask: number;

  constructor(
    private readonly filled: FilledSlots,
    scratch?: Scratch,
  ) {
    const length = 2 ** Math.ceil(Math.log2(Math.max(2, 2 * filled.length)));
    this.entries = new PagedNumbers(length, scratch);
    // Which place is asked first tells the lower bits of the fingerprint; the slots need no more of them.
    this.slotMask = length - 1;
  }

  has(hash: string): boolean {
    return this.entries.at(this.place(hash, fingerprint(hash))) !== 0;
  }

  /** Enters the board of a filled slot, unless it is there. */
  add(hash: string, index: number): void {
    const print = fingerprint(hash);
    const place = this.place(hash, print);
    if (this.entries.at(place) === 0) this.entries.set(place, (print & ~this.slotMask) | (index + 1));
  }

  /** Where the board is, or would be. */
  private place(hash: string, print: number): number {
    const { entries, slotMask } = this;
    for (let place = print & slotMask; ; place = (place + 1) & slotMask) {
      const entry = entries.at(place);
      if (entry === 0) return place;
      if (((entry ^ print) & ~slotMask) === 0 && this.hashOf((entry & slotMask) - 1) === hash) return place;
    }
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
