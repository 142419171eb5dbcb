/** The parts of a set of agents that are asked about before the whole set: its threes, on the hardest boards its fours as well. */
import { setWord, wordAt } from "./bytes";
import { MAX_AGENTS } from "./grid";

/** Room for all threes or fours of eight agents, as masks of places in the set. */
const ROOM: i32 = 72;

export class Parts {
  private readonly masks: usize = heap.alloc((MAX_AGENTS + 1) * ROOM * 4);
  private readonly counts: usize = heap.alloc((MAX_AGENTS + 1) * 4);

  /** @param size of the parts */
  constructor(size: i32) {
    for (let whole = 0; whole <= MAX_AGENTS; whole++) {
      let count = 0;
      for (let mask = 0; mask < 1 << whole; mask++) if (popcnt(mask) === size) setWord(this.masks + ((whole * ROOM + count++) << 2), mask);
      setWord(this.counts + (whole << 2), count);
    }
  }

  /** How many parts a set of this size has. */
  count(whole: i32): i32 {
    return wordAt(this.counts + (whole << 2));
  }

  /** The places of the p-th part in a set of this size, as bits. */
  mask(whole: i32, p: i32): i32 {
    return wordAt(this.masks + ((whole * ROOM + p) << 2));
  }
}
