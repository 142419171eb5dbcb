/** The parts of a set of agents that are asked about before the whole set: its threes, on the hardest boards its fours as well. */
import { MAX_AGENTS } from "../instance.js";

/** Places of some members in the list of agents, and the pairs of the others as places among the increases of a frame. */
interface Part {
  members: readonly number[];
  otherPairs: readonly number[];
}

function partsOf(size: number, partSize: number): Part[] {
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

const bySize = (partSize: number): readonly (readonly Part[])[] =>
  Array.from({ length: MAX_AGENTS + 1 }, (_, size) => partsOf(size, partSize));

/** By size of the set. */
export const THREES = bySize(3);
export const FOURS = bySize(4);
