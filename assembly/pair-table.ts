/**
 * What is proven about two agents at every two positions: the least and the greatest value of whatever is asked about them. Stamps instead of
 * clearing: a table is far larger than what most boards ask of it.
 */
import { setByte, setWord, wordAt } from "./bytes";
import { agentCount, codeCount } from "./grid";
import { leaveSpace, takeSpace } from "./space";

/** Nothing proven: least 0, greatest 255. */
const NOTHING: i32 = 255 << 8;
const STEP: i32 = 1 << 16;
/** −1 as a byte with a sign. Values above 127 count as unknown as well: what asks for them looks at the words then. */
const UNKNOWN: u8 = 255;

/** Room for every two codes of every two of five agents on the largest board. */
const ROOM_AT_FIRST: usize = 1 << 19;

function pairCount(): i32 {
  return (agentCount() * (agentCount() - 1)) >> 1;
}

/** A word for every two codes of every two agents: those of a small board lie close together. */
export class PairWords {
  /** Bytes. */
  room: usize = ROOM_AT_FIRST;
  private words: usize = takeSpace(ROOM_AT_FIRST);

  /** Makes room for the board at hand. The words are what they were, some of other pairs and codes, or 0. */
  fit(): void {
    const bytes: usize = pairCount() * codeCount() * codeCount() * 4;
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
  /** Where the words begin. */
  private first: usize = 0;
  // By entry, a byte: the value where least and greatest agree, or UNKNOWN. A quarter of the words' size, where it is what is asked most.
  private exacts: usize = 0;
  private exactRoom: usize = 0;

  /** @param hasExacts whether `exactRow` is asked */
  constructor(private readonly hasExacts: bool) {}

  /** Forgets everything: for the board at hand. */
  reset(): void {
    this.words.fit();
    this.first = this.words.of(0, 1);
    if (this.hasExacts) this.forgetExacts();
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

  /** Where the values of the pair's first at code a stand whose least and greatest agree, for `exactIn`. */
  exactRow(words: usize, a: i32): usize {
    return this.exactOf(wordOf(words, a, 0));
  }

  setLeast(entry: usize, least: i32): void {
    this.set(entry, (this.read(entry) & ~255) | least);
  }

  setMost(entry: usize, most: i32): void {
    this.set(entry, (most << 8) | (this.read(entry) & 255));
  }

  private set(entry: usize, known: i32): void {
    setWord(entry, this.base + known);
    if (this.hasExacts && leastOf(known) === mostOf(known)) setByte(this.exactOf(entry), leastOf(known));
  }

  private exactOf(entry: usize): usize {
    return this.exacts + ((entry - this.first) >> 2);
  }

  private forgetExacts(): void {
    const room = this.words.room >> 2;
    if (room > this.exactRoom) {
      const exacts = takeSpace(room);
      if (this.exactRoom > 0) leaveSpace(this.exacts, this.exactRoom);
      this.exacts = exacts;
      this.exactRoom = room;
    }
    memory.fill(this.exacts, UNKNOWN, pairCount() * codeCount() * codeCount());
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

/** The value at code b of the second, or −1 where least and greatest do not agree. */
export function exactIn(row: usize, b: i32): i32 {
  return <i32>load<i8>(row + b);
}
