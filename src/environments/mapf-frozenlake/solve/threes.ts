/** The threes of a set of agents, which are asked about before the whole set. */
import { MAX_AGENTS } from "../instance.js";

/** Places of three members a < b < c in the list of agents, and the pairs of the others as places among the increases of a frame. */
interface Three {
  a: number;
  b: number;
  c: number;
  otherPairs: readonly number[];
}

/** By size of the set. */
export const THREES: readonly (readonly Three[])[] = Array.from({ length: MAX_AGENTS + 1 }, (_, size) => threesOf(size));

function threesOf(size: number): Three[] {
  const threes: Three[] = [];
  for (let c = 2; c < size; c++) {
    for (let b = 1; b < c; b++) {
      for (let a = 0; a < b; a++) {
        const others = Array.from({ length: size }, (_, m) => m).filter((m) => m !== a && m !== b && m !== c);
        threes.push({ a, b, c, otherPairs: others.flatMap((d) => others.filter((e) => e > d).map((e) => d * MAX_AGENTS + e)) });
      }
    }
  }
  return threes;
}
