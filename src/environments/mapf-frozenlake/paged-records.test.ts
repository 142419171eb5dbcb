import { tmpdir } from "node:os";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Seed } from "../../core/index.js";
import { ScratchFile } from "../../store/index.js";
import type { MapfConfig } from "./config.js";
import { streamTraining } from "./generate.js";
import { PagedNumbers, PagedRecords } from "./paged-records.js";

const PAGE = 4096;

/** A scratch file for `pages` pages in memory, which counts what goes through it. */
class Counted extends ScratchFile {
  /** Pages of each range. */
  readonly reserved: number[] = [];
  reads = 0;
  writes = 0;

  constructor(pages: number) {
    super(tmpdir(), pages * PAGE);
  }

  override reserve(bytes: number): number {
    this.reserved.push(bytes / PAGE);
    return super.reserve(bytes);
  }

  override read(into: Uint8Array, position: number): void {
    this.reads++;
    super.read(into, position);
  }

  override write(from: Uint8Array, position: number): void {
    this.writes++;
    super.write(from, position);
  }
}

test("numbers are what an array would hold, wherever their pages are, and zero before they are set", () => {
  const access = fc.tuple(fc.nat(9999), fc.option(fc.integer({ min: 1, max: 0xffffffff }), { nil: undefined }));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(access, { maxLength: 200 }), (pages, accesses) => {
      const scratch = new Counted(pages);
      const [kept, paged, other] = [new Uint32Array(10_000), new PagedNumbers(10_000, scratch), new PagedNumbers(10_000, scratch)];
      for (const [index, value] of accesses) {
        if (value !== undefined) {
          kept[index] = value;
          paged.set(index, value);
          other.set(9999 - index, ~value >>> 0);
        }
        expect(paged.at(index)).toBe(kept[index]);
      }
      for (const [index] of accesses) {
        expect(paged.at(index)).toBe(kept[index]);
        expect(other.at(9999 - index)).toBe(kept[index] === 0 ? 0 : ~kept[index]! >>> 0);
      }
      scratch.close();
    }),
    { numRuns: 50 },
  );
});

test("pages that fit into memory, and those that nobody changed, are never written", () => {
  const fits = new Counted(3);
  const small = new PagedRecords(3 * 4, 1000, fits);
  for (let i = 0; i < 12; i++) small.bytes[small.write(i)] = i;
  expect([...Array(12).keys()].map((i) => small.bytes[small.read(i)])).toEqual([...Array(12).keys()]);
  expect([fits.reads, fits.writes]).toEqual([0, 0]);

  const over = new Counted(3);
  const large = new PagedRecords(4 * 4, 1000, over);
  large.bytes[large.write(0)] = 7;
  expect(large.bytes[large.read(12)]).toBe(0);
  expect([over.reads, over.writes]).toEqual([1, 1]);
  expect(large.bytes[large.read(0)]).toBe(7);
  expect([over.reads, over.writes]).toEqual([2, 1]);
  over.close();

  // However little memory there may be, one page has to be in it.
  const least = new PagedNumbers(3000, new Counted(0));
  least.set(0, 5);
  least.set(2999, 6);
  expect([least.at(0), least.at(2999)]).toEqual([5, 6]);
});

test("a set that is kept in a file is the set that is kept in memory", async () => {
  // 3×3 boards are few: many candidates are put back, and boards repeat.
  const sizes: MapfConfig["sizes"] = {
    "3": { data_ratio: 0.4, hole_ratio: 0.2, wait_ratio: 0.5 },
    "6": { data_ratio: 0.6, hole_ratio: 0.2, wait_ratio: 0.5 },
  };
  const made = async (scratch?: ScratchFile) => {
    const seed = Seed.root("paged-records.test");
    const options = { count: 1500, seed, repeats: "allow" as const, ...(scratch && { scratch }) };
    const set = await streamTraining({ agents: [2], objective: "makespan", sizes }, options);
    return { instances: [...set.batches()].flat(), manifest: set.manifest() };
  };
  const scratch = new Counted(1);
  const [inFile, inMemory] = [await made(scratch), await made()];
  expect(inFile).toEqual(inMemory);
  expect(inMemory.manifest.sampling.repeated).toBeGreaterThan(0);
  // The boards, which there are, those put back in the first round, and the order.
  expect(scratch.reserved).toEqual([11, 4, 2, 2]);
  expect(scratch.writes).toBeGreaterThan(100);
  scratch.close();
});
