/** The parts of a set of agents: its pairs, and what is asked about before the whole set: its threes, on the hardest boards its fours as well. */
import { byteAt, setByte, setWord, wordAt } from "./bytes";
import { MAX_AGENTS } from "./grid";

/** Most parts that a set can have: the fours of eight agents. */
const MOST: i32 = 70;
/** Bytes of a part: its places as bits, how many pairs are left, and where each of these is among the increases, at most fifteen. */
const PART: i32 = 32;
const AT_PAIRS: usize = 2;

export class Parts {
  private readonly parts: usize = heap.alloc((MAX_AGENTS + 1) * MOST * PART);
  private readonly counts: usize = heap.alloc((MAX_AGENTS + 1) * 4);

  /** @param size of the parts, at least two */
  constructor(size: i32) {
    for (let whole = 0; whole <= MAX_AGENTS; whole++) {
      let count = 0;
      for (let mask = 0; mask < 1 << whole; mask++) if (popcnt(mask) === size) write(this.part(whole, count++), whole, mask);
      setWord(this.counts + (whole << 2), count);
    }
  }

  /** How many parts a set of this size has. */
  count(whole: i32): i32 {
    return wordAt(this.counts + (whole << 2));
  }

  /** The p-th part of a set of this size, in order of their bits, for `maskOf` and `worstOther`. */
  part(whole: i32, p: i32): usize {
    return this.parts + (whole * MOST + p) * PART;
  }
}

/** One for each size of parts; a part is smaller than the largest set. */
const bySize: StaticArray<Parts> = [new Parts(2), new Parts(3), new Parts(4), new Parts(5), new Parts(6), new Parts(7)];

/** The parts of that size, at least two. */
export function partsOf(size: i32): Parts {
  return unchecked(bySize[size - 2]);
}

function write(part: usize, whole: i32, mask: i32): void {
  let count = 0;
  for (let d = 0; d < whole; d++) {
    for (let e = d + 1; e < whole; e++) if ((((mask >> d) | (mask >> e)) & 1) === 0) setByte(part + AT_PAIRS + count++, d * MAX_AGENTS + e);
  }
  setByte(part, mask);
  setByte(part + 1, count);
}

/** The place of agents a < b among the pairs of a set. */
export function placeOfPair(a: i32, b: i32): i32 {
  return ((b * (b - 1)) >> 1) + a;
}

/** The places of a part in its set, as bits. */
export function maskOf(part: usize): i32 {
  return byteAt(part);
}

/** The greatest increase of two of the set that are not in the part. @param delta increases of all pairs, a·8 + b */
export function worstOther(part: usize, delta: usize): i32 {
  let most = 0;
  for (let q = byteAt(part + 1) - 1; q >= 0; q--) most = max(most, byteAt(delta + byteAt(part + AT_PAIRS + q)));
  return most;
}
