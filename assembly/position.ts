/**
 * A joint position in one number: seven bits for each agent of a set, which is its code or its cell, agents 0–3 from bit 0 and 4–7 from bit 32
 * on. Bits 28–31 and 60–63 are left for the set itself.
 */
import { byteAt } from "./bytes";

export type Position = u64;

/** The codes of agents 0 to 3. */
export const CODES_OF_FOUR: Position = 0x0fff_ffff;

/** Where the a-th agent's bits begin. */
export function codeShift(a: i32): i32 {
  return a < 4 ? 7 * a : 4 + 7 * a;
}

/** The part of a position that is the a-th agent's. */
export function placed(code: i32, a: i32): Position {
  return (<u64>code) << codeShift(a);
}

export function codeIn(position: Position, a: i32): i32 {
  return <i32>(position >> codeShift(a)) & 127;
}

/** The position of so many agents, whose codes are bytes. */
export function packed(codes: usize, count: i32): Position {
  let position: Position = 0;
  for (let a = 0; a < count; a++) position |= placed(byteAt(codes + a), a);
  return position;
}

/** The bits of a set of agents. */
export function bitsOfSet(set: i32): Position {
  return ((<u64>(set & 15)) << 28) | ((<u64>(set >> 4)) << 60);
}

/** Thoroughly mixed in its lower 28 bits (multiplicative hashing: Knuth, TAOCP 3, 6.4). */
export function hashOf(position: Position): u32 {
  return <u32>((position * 0x9e3779b97f4a7c15) >> 36);
}
