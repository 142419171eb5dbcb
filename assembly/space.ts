/**
 * Space for what grows: taken when first needed and never given back, since a solver is used for many boards. What a table leaves when it
 * grows is kept by its size for the next one that needs as much.
 */
import { giveUp } from "./budget";

/** Of one block. */
const MOST_BYTES: usize = 1 << 29;
/** Of 64 KiB, four gigabytes together: what 32 bits can tell apart. */
const MOST_PAGES: i32 = 1 << 16;

/** Blocks that may still be made. */
let blocksLeft: i32 = i32.MAX_VALUE;

/** For tests: memory ends after so many more blocks. */
export function endSpaceAfter(blocks: i32): void {
  blocksLeft = blocks;
}

/** The first block left over of each power of two; a block's first word is the next one. */
const LEFT_OVER = memory.data(32 * 4, 4);

/** Zeroed space; gives the board up where it would be too much. @param bytes a power of two, at least 16 */
export function takeSpace(bytes: usize): usize {
  if (bytes > MOST_BYTES) giveUp();
  const list = LEFT_OVER + (ctz(bytes) << 2);
  const block: usize = load<u32>(list);
  if (block === 0) {
    if (blocksLeft === 0 || memory.size() + <i32>(bytes >> 16) >= MOST_PAGES) giveUp();
    blocksLeft--;
    return heap.alloc(bytes);
  }
  store<u32>(list, load<u32>(block));
  memory.fill(block, 0, bytes);
  return block;
}

/** For others to take. */
export function leaveSpace(block: usize, bytes: usize): void {
  const list = LEFT_OVER + (ctz(bytes) << 2);
  store<u32>(block, load<u32>(list));
  store<u32>(list, <u32>block);
}

/** The same contents in front of as much zeroed space again. */
export function doubled(block: usize, bytes: usize): usize {
  const larger = takeSpace(bytes * 2);
  memory.copy(larger, block, bytes);
  leaveSpace(block, bytes);
  return larger;
}
