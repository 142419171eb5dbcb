/**
 * The filled slots of a set, packed: about 30 bytes a board of two agents instead of a kilobyte of objects, in memory and, beyond what it allows there, in a scratch file.
 * A record is what a Filling says plus the round whose stream drew it; holes are bits, cells are bytes. Until a slot is filled its record
 * counts the fillings that were put back. Written in any order, read when all are there.
 */
import type { Scratch } from "../../core/index.js";
import type { Filling } from "./fill-slot.js";
import { MAX_SIZE } from "./instance.js";
import { PagedRecords } from "./paged-records.js";
import type { Slot } from "./quota.js";

/** size · agents · wait · times put back · round (2) · sum of costs (2) · makespan (2) · sum of shortest (2), then hole bits, starts, goals. */
const HEAD = 12;
const PUT_BACK = 3;
const HOLE_BYTES = Math.ceil((MAX_SIZE * MAX_SIZE) / 8);

export interface FilledSlot {
  index: number;
  size: number;
  filling: Filling;
  /** The round whose stream drew it. */
  round: number;
}

export class FilledSlots {
  private readonly records: PagedRecords;

  /** @param agents the most agents of any slot */
  constructor(
    readonly length: number,
    agents: number,
    scratch?: Scratch,
  ) {
    this.records = new PagedRecords(length, HEAD + HOLE_BYTES + 2 * agents, scratch);
  }

  /** How many fillings of a slot were put back, since it is the slot it is. */
  timesPutBack(index: number): number {
    return this.records.bytes[this.records.read(index) + PUT_BACK]!;
  }

  /** @param times at most 255 */
  setTimesPutBack(index: number, times: number): void {
    this.records.bytes[this.records.write(index) + PUT_BACK] = times;
  }

  set({ index, size }: Slot, round: number, filling: Filling): void {
    const { bytes, words } = this.records;
    const at = this.records.write(index);
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
    const { bytes, words } = this.records;
    const at = this.records.read(index);
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
