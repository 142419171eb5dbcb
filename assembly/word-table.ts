/** Hash tables from words to words in space that the caller has taken: eight bytes a slot, key 0 is free, open addressing. */
import { setWord, wordAt } from "./bytes";

/** As a power of two, so many that a table of so many entries is at most half full. */
export function slotsFor(entries: i32): i32 {
  let slots = 2;
  while (slots < 2 * entries) slots *= 2;
  return slots;
}

/** @param key not 0, and not in the table */
export function enterWord(table: usize, slots: i32, key: i32, value: i32): void {
  const at = slotOf(table, slots, key);
  setWord(at, key);
  setWord(at + 4, value);
}

/** The value of a key; −1: it has none. */
export function wordOfKey(table: usize, slots: i32, key: i32): i32 {
  const at = slotOf(table, slots, key);
  return wordAt(at) === key ? wordAt(at + 4) : -1;
}

/** Where the key is, or would be. */
function slotOf(table: usize, slots: i32, key: i32): usize {
  let slot = <i32>((<u64>(<u32>key) * 0x9e3779b97f4a7c15) >> 40) & (slots - 1);
  while (wordAt(table + (slot << 3)) !== 0 && wordAt(table + (slot << 3)) !== key) slot = (slot + 1) & (slots - 1);
  return table + (slot << 3);
}
