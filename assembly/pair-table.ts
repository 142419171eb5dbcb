/**
 * What is proven about two agents at every two positions: the least and the greatest value of whatever is asked about them. Stamps instead of
 * clearing: a table is far larger than what most boards ask of it.
 */
import { setWord, wordAt } from "./bytes";
import { agentCount, codeCount } from "./grid";
import { leaveSpace, takeSpace } from "./space";

/** Nothing proven: least 0, greatest 255. */
const NOTHING: i32 = 255 << 8;
const STEP: i32 = 1 << 16;

/** Room for every two codes of every two of five agents on the largest board. */
const ROOM_AT_FIRST: usize = 1 << 19;

/** A word for every two codes of every two agents: those of a small board lie close together. */
export class PairWords {
  private words: usize = takeSpace(ROOM_AT_FIRST);
  private room: usize = ROOM_AT_FIRST;

  /** Makes room for the board at hand. The words are what they were, some of other pairs and codes, or 0. */
  fit(): void {
    const pairs = (agentCount() * (agentCount() - 1)) >> 1;
    const bytes: usize = pairs * codeCount() * codeCount() * 4;
    if (bytes <= this.room) return;
    let room = this.room;
    while (room < bytes) room *= 2;
    const words = takeSpace(room);
    leaveSpace(this.words, this.room);
    this.words = words;
    this.room = room;
  }

  clear(): void {
    memory.fill(this.words, 0, this.room);
  }

  /** Where the words of agents i < j begin, for `wordOf`. */
  of(i: i32, j: i32): usize {
    return this.words + (((j * (j - 1)) >> 1) + i) * codeCount() * codeCount() * 4;
  }
}

/** The word of two codes in a pair's. */
export function wordOf(words: usize, a: i32, b: i32): usize {
  return words + ((a * codeCount() + b) << 2);
}

export class PairTables {
  /** Entries below it belong to earlier boards; others are base + greatest·256 + least. It changes with `reset` only. */
  private base: i32 = STEP;
  private readonly words: PairWords = new PairWords();

  /** Forgets everything: for the board at hand. */
  reset(): void {
    this.words.fit();
    this.base += STEP;
    if (this.base < i32.MAX_VALUE - STEP) return;
    this.words.clear();
    this.base = STEP;
  }

  /** Where the entries of agents i < j begin. */
  of(i: i32, j: i32): usize {
    return this.words.of(i, j);
  }

  /** What an entry says, for `leastOf` and `mostOf`. */
  read(entry: usize): i32 {
    const known = wordAt(entry) - this.base;
    return known < 0 ? NOTHING : known;
  }

  /** The value of an entry whose least and greatest agree; −1 where they do not. */
  exact(entry: usize): i32 {
    const known = wordAt(entry) - this.base;
    return known >= 0 && leastOf(known) === mostOf(known) ? leastOf(known) : -1;
  }

  setLeast(entry: usize, least: i32): void {
    setWord(entry, this.base + ((this.read(entry) & ~255) | least));
  }

  setMost(entry: usize, most: i32): void {
    setWord(entry, this.base + ((most << 8) | (this.read(entry) & 255)));
  }
}

/** The proven least value. */
export function leastOf(known: i32): i32 {
  return known & 255;
}

/** The proven greatest value; 255: nothing proven. */
export function mostOf(known: i32): i32 {
  return known >> 8;
}
