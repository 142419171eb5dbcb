/** Small unsigned numbers in memory, as the integers that are computed with. Cells, codes, places of options and increases fit into a byte. */

export function byteAt(at: usize): i32 {
  return <i32>load<u8>(at);
}

export function setByte(at: usize, value: i32): void {
  store<u8>(at, <u8>value);
}

export function wordAt(at: usize): i32 {
  return load<i32>(at);
}

export function setWord(at: usize, value: i32): void {
  store<i32>(at, value);
}

/** Copies at least so many bytes, in whole words of eight: both places have room for them. Faster than `memory.copy` for a few. */
export function copyBytes(to: usize, from: usize, bytes: i32): void {
  for (let at = 0; at < bytes; at += 8) store<u64>(to + at, load<u64>(from + at));
}
