import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { StorageError } from "../core/index.js";
import { ScratchFile } from "./scratch-file.js";

const folder = () => mkdtempSync(join(tmpdir(), "envwright-scratch-"));
const bytes = (...values: number[]) => Uint8Array.from(values);

test("what was written is read again, in ranges that do not overlap, and everything else is zeros", () => {
  const scratch = new ScratchFile(folder());
  const [first, second] = [scratch.reserve(8), scratch.reserve(4)];
  const read = (position: number, length: number) => {
    const into = new Uint8Array(length).fill(9);
    scratch.read(into, position);
    return into;
  };
  expect(read(first, 8)).toEqual(new Uint8Array(8));
  scratch.write(bytes(1, 2, 3), first + 1);
  expect(read(first, 8)).toEqual(bytes(0, 1, 2, 3, 0, 0, 0, 0));
  scratch.write(bytes(4, 5, 6, 7), second);
  expect([read(first, 8), read(second, 4)]).toEqual([bytes(0, 1, 2, 3, 0, 0, 0, 0), bytes(4, 5, 6, 7)]);
  scratch.close();
});

test("the file has no name, so that nothing is left however the process ends, and none at all before the first write", () => {
  const parent = folder();
  const scratch = new ScratchFile(join(parent, "out"));
  scratch.reserve(1);
  expect(readdirSync(parent)).toEqual([]);
  scratch.write(bytes(1), 0);
  expect(readdirSync(join(parent, "out"))).toEqual([]);
  scratch.close();
  scratch.close();
});

test("once it is closed it is not read as zeros, nor begun anew", () => {
  const scratch = new ScratchFile(folder());
  scratch.write(bytes(1), 0);
  scratch.close();
  expect(() => scratch.read(bytes(0), 0)).toThrow(RangeError);
  expect(() => scratch.write(bytes(1), 0)).toThrow(RangeError);
});

test("a folder that cannot be written into is a failure of the disk, with its remedy", () => {
  const file = join(folder(), "file");
  writeFileSync(file, "");
  const scratch = new ScratchFile(join(file, "below"));
  expect(() => scratch.write(bytes(1), 0)).toThrow(StorageError);
  expect(() => scratch.write(bytes(1), 0)).toThrow(/could not write .*below.*: a part of the path is a file/);
});
