/**
 * The filled slots of a set, packed: about 30 bytes a board of two agents instead of a kilobyte of objects, so that a million of them fit
 * anywhere. A record is what a Filling says plus the round whose stream drew it; holes are bits, cells are bytes. Written in any order,
 * read when all are there.
 */
import type { Filling } from "./fill-slot.js";
import { MAX_SIZE } from "./instance.js";
import type { Slot } from "./quota.js";

/** size · agents · wait · (unused) · round (2) · sum of costs (2) · makespan (2) · sum of shortest (2), then hole bits, starts, goals. */
const HEAD = 12;
const HOLE_BYTES = Math.ceil((MAX_SIZE * MAX_SIZE) / 8);

export interface FilledSlot {
  index: number;
  size: number;
  filling: Filling;
  /** The round whose stream drew it. */
  round: number;
}

export class FilledSlots {
  private readonly bytes: Uint8Array;
  private readonly words: DataView;
  private readonly stride: number;

  /** @param agents the most agents of any slot */
  constructor(
    readonly length: number,
    agents: number,
  ) {
    this.stride = HEAD + HOLE_BYTES + 2 * agents;
    this.bytes = new Uint8Array(length * this.stride);
    this.words = new DataView(this.bytes.buffer);
  }

  set({ index, size }: Slot, round: number, filling: Filling): void {
    const { bytes, words } = this;
    const at = index * this.stride;
    const { holes, starts, goals } = filling;
    bytes[at] = size;
    bytes[at + 1] = starts.length;
    bytes[at + 2] = Number(filling.wait_required);
    words.setUint16(at + 4, round);
    words.setUint16(at + 6, filling.sum_of_costs);
    words.setUint16(at + 8, filling.makespan);
    words.setUint16(at + 10, filling.sum_of_shortest);
    const bits = at + HEAD;
    for (const hole of holes) bytes[bits + (hole >> 3)] = bytes[bits + (hole >> 3)]! | (1 << (hole & 7));
    bytes.set(starts, bits + HOLE_BYTES);
    bytes.set(goals, bits + HOLE_BYTES + starts.length);
  }

  /** @param index of a slot that has been filled */
  at(index: number): FilledSlot {
    const { bytes, words } = this;
    const at = index * this.stride;
    const size = bytes[at]!;
    const agents = bytes[at + 1]!;
    const bits = at + HEAD;
    const holes: number[] = [];
    for (let cell = 0; cell < size * size; cell++) if ((bytes[bits + (cell >> 3)]! & (1 << (cell & 7))) !== 0) holes.push(cell);
    const starts = bits + HOLE_BYTES;
    return {
      index,
      size,
      round: words.getUint16(at + 4),
      filling: {
        holes,
        starts: Array.from(bytes.subarray(starts, starts + agents)),
        goals: Array.from(bytes.subarray(starts + agents, starts + 2 * agents)),
        sum_of_costs: words.getUint16(at + 6),
        makespan: words.getUint16(at + 8),
        sum_of_shortest: words.getUint16(at + 10),
        wait_required: bytes[at + 2] === 1,
      },
    };
  }
}
