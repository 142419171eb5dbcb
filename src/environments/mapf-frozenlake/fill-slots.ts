/**
 * Fills all slots of a set, in rounds: every open slot gets its first fitting candidate from the stream (round, slot); then, in slot
 * order, what is excluded or already in the set is put back for the next round. Who fills which slot does not matter, so one worker and
 * eight give the same set. A class that cannot be found and a space that is exhausted end in an error or in the slot's fallback.
 *
 * A round goes through its slots in blocks, and what is kept is packed, so that memory is about 30 bytes a slot, 35 a hash, and a block.
 */
import { type InfeasibleError, InterruptedError, type Seed, TextIndex } from "../../core/index.js";
import { openPool } from "./fill-pool.js";
import { count, type Tally } from "./fill-slot.js";
import { FilledSlots } from "./filled-slots.js";
import { hashCells } from "./hash.js";
import type { Slot, SlotPlan } from "./quota.js";

/** Rounds before a space counts as exhausted: what is left then is about a hundredth of the class or less. */
export const MAX_ROUNDS = 200;
/** Rounds after which a board of the same set is taken again, where repeats are allowed. */
const REPEAT_AFTER = 4;
/** Slots that are in flight at once, as objects. */
const BLOCK = 8192;

export interface FillOptions {
  seed: Seed;
  exclude: Pick<ReadonlySet<string>, "has">;
  repeats: "refuse" | "allow";
  workers: number;
  signal: AbortSignal | undefined;
  onProgress: ((done: number, total: number) => void) | undefined;
  /** What to try instead of a slot that cannot be filled; undefined: nothing, the set is refused. */
  fallback?: (slot: Slot) => Slot | undefined;
  /** The error for a slot that cannot be filled. */
  refuse: (slot: Slot, cause: Unfillable) => InfeasibleError;
}

export interface Unfillable {
  kind: "unreachable" | "exhausted";
  /** Candidates of this cell (size, agents, holes, want) drawn and accepted over the whole set. */
  drawn: number;
  accepted: number;
}

/** The seed of a round's streams; slot `index` draws from `at(index)`. */
export function roundSeed(seed: Seed, round: number): Seed {
  return seed.child("round", round);
}

/** Every slot of `slots` filled, by its index. @throws {InfeasibleError} @throws {InterruptedError} */
export async function fillSlots(slots: SlotPlan, options: FillOptions): Promise<{ filled: FilledSlots; tally: Tally }> {
  let mostAgents = 1;
  for (let i = 0; i < slots.length; i++) mostAgents = Math.max(mostAgents, slots.at(i)!.agents);
  const filled = new FilledSlots(slots.length, mostAgents);
  const taken = new TextIndex();
  const tally: Tally = {};
  const cells = new Map<string, { drawn: number; accepted: number }>();
  const roundsLeft = new Map<number, number>();
  let done = 0;
  const pool = openPool(options.workers, slots.length);
  try {
    let open: SlotPlan = slots;
    for (let round = 0; open.length > 0; round++) {
      const seed = roundSeed(options.seed, round);
      const next: Slot[] = [];
      for (let first = 0; first < open.length; first += BLOCK) {
        const block = Array.from({ length: Math.min(BLOCK, open.length - first) }, (_, i) => open.at(first + i)!);
        const results = await pool.fill(block, seed, tally, (finished) => {
          if (options.signal?.aborted) throw interrupted();
          options.onProgress?.(Math.min(slots.length, done + finished), slots.length);
        });
        block.forEach((slot, i) => {
          const { filling, drawn } = results[i]!;
          const cell = cells.get(cellKey(slot)) ?? { drawn: 0, accepted: 0 };
          cells.set(cellKey(slot), cell);
          cell.drawn += drawn;
          const retry = (kind: Unfillable["kind"]) => {
            const other = options.fallback?.(slot);
            if (other === undefined) throw options.refuse(slot, { kind, ...cell });
            count(tally, `fallback_${kind}`);
            roundsLeft.delete(slot.index);
            next.push(other);
          };
          if (filling === undefined) {
            retry("unreachable");
            return;
          }
          const { holes, starts, goals } = filling;
          const hash = hashCells(slot.size, holes, holes.length, starts, goals, starts.length);
          const left = (roundsLeft.get(slot.index) ?? MAX_ROUNDS) - 1;
          const again = options.repeats === "allow" && taken.has(hash) && MAX_ROUNDS - left > REPEAT_AFTER;
          if (again) count(tally, "repeated");
          const known = again ? undefined : options.exclude.has(hash) ? "excluded" : taken.has(hash) ? "duplicate" : undefined;
          if (known === undefined) {
            taken.add(hash);
            cell.accepted++;
            filled.set(slot, round, filling);
            done++;
            return;
          }
          count(tally, known);
          roundsLeft.set(slot.index, left);
          if (left > 0) next.push(slot);
          else retry("exhausted");
        });
      }
      open = next;
    }
  } finally {
    await pool.close();
  }
  return { filled, tally };
}

export function cellKey({ size, agents, holes, want }: Slot): string {
  return `${size}/${agents}/${holes[0]}-${holes[1]}/${want}`;
}

function interrupted(): InterruptedError {
  return new InterruptedError({ message: "generation was interrupted", remedy: "start it again; the same seed gives the same set" });
}
