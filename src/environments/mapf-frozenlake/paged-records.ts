/**
 * Records of one length that may be more than memory should hold: as many pages as the scratch file allows are in memory, each at the place
 * that its number tells; one that has to make room goes to the file. Without a scratch file all are in memory. Records begin as zeros.
 */
import type { Scratch } from "../../core/index.js";

const PAGE = 4096;
/** No page's number. */
const NONE = 0xffffffff;

export class PagedRecords {
  /** The pages in memory, each where `read` and `write` say. */
  readonly bytes: Uint8Array;
  readonly words: DataView;
  private readonly perPage: number;
  /** Page of each place in memory. */
  private readonly held: Uint32Array;
  private readonly changed: Uint8Array;
  private readonly position: number;

  /** @param stride bytes of a record, at most PAGE */
  constructor(
    length: number,
    private readonly stride: number,
    private readonly scratch: Scratch | undefined,
  ) {
    this.perPage = Math.floor(PAGE / stride);
    const pages = Math.ceil(length / this.perPage);
    const places = scratch === undefined ? pages : Math.min(pages, Math.max(1, Math.floor(scratch.resident / PAGE)));
    this.bytes = new Uint8Array(places * PAGE);
    this.words = new DataView(this.bytes.buffer);
    this.held = Uint32Array.from({ length: places }, (_, page) => page);
    this.changed = new Uint8Array(places);
    this.position = scratch !== undefined && places < pages ? scratch.reserve(pages * PAGE) : 0;
  }

  /** Where in `bytes` the record is, until another one is asked for. */
  read(index: number): number {
    return this.place(index, 0);
  }

  /** As `read`, for who changes the record there. */
  write(index: number): number {
    return this.place(index, 1);
  }

  private place(index: number, changes: 0 | 1): number {
    const page = Math.trunc(index / this.perPage);
    const place = page % this.held.length;
    if (this.held[place] !== page) this.exchange(place, page);
    this.changed[place]! |= changes;
    return place * PAGE + (index - page * this.perPage) * this.stride;
  }

  private exchange(place: number, page: number): void {
    const bytes = this.bytes.subarray(place * PAGE, (place + 1) * PAGE);
    if (this.changed[place] === 1) this.scratch!.write(bytes, this.position + this.held[place]! * PAGE);
    // A read that fails leaves a place without a page.
    this.changed[place] = 0;
    this.held[place] = NONE;
    this.scratch!.read(bytes, this.position + page * PAGE);
    this.held[place] = page;
  }
}

/** Numbers of 32 bits. */
export class PagedNumbers {
  private readonly records: PagedRecords;

  constructor(
    readonly length: number,
    scratch: Scratch | undefined,
  ) {
    this.records = new PagedRecords(length, 4, scratch);
  }

  at(index: number): number {
    return this.records.words.getUint32(this.records.read(index));
  }

  set(index: number, value: number): void {
    this.records.words.setUint32(this.records.write(index), value);
  }
}
