/** The parts of a set of agents that are asked about before the whole set: its threes and its fours. */
import { MAX_AGENTS } from "../instance.js";

/** Some members of a set, and the pairs of the others as places among the increases of a frame. */
interface Part {
  members: readonly number[];
  otherPairs: readonly number[];
}

function partsOf(partSize: number, size: number): Part[] {
  const all = Array.from({ length: size }, (_, a) => a);
  const masks = Array.from({ length: 1 << size }, (_, mask) => mask);
  return masks
    .map((mask) => [all.filter((a) => (mask >> a) & 1), all.filter((a) => !((mask >> a) & 1))] as const)
    .filter(([members]) => members.length === partSize)
    .map(([members, others]) => ({
      members,
      otherPairs: others.flatMap((d) => others.filter((e) => e > d).map((e) => d * MAX_AGENTS + e)),
    }));
}

/** The parts of a set by their size, three or four, and the size of the set. */
export const PARTS = [3, 4].map((partSize) => Array.from({ length: MAX_AGENTS + 1 }, (_, size) => partsOf(partSize, size)));

/** What asking about parts of one size needs. A search of a part never asks about parts of the same size. */
export class PartScratch {
  readonly agents: number[];
  readonly codes = new Int32Array(MAX_AGENTS);
  /** By size of the set: the part to ask first, which is the one that ruled out the last position. */
  readonly first = new Int32Array(MAX_AGENTS + 1);

  constructor(readonly size: number) {
    this.agents = new Array<number>(size).fill(0);
  }
}
