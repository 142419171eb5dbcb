/**
 * Fills all slots of a set, in rounds: every open slot gets its first fitting candidate from the stream (round, slot); then, in slot
 * order, what is excluded or already in the set is put back for the next round. Who fills which slot does not matter, so one worker and
 * eight give the same set. A class that cannot be found and a space that is exhausted end in an error or in the slot's fallback. Without a
 * fallback the first slot that finds nothing ends it, and a small class that turns out to have too few boards does before its rounds are up.
 *
 * What is kept is packed, some 50 bytes a slot of two agents; in memory and, beyond what it allows there, in a scratch file.
 */
import { type InfeasibleError, InterruptedError, type Scratch, type Seed } from "../../core/index.js";
import { type ClassSize, classSize, effortOf } from "./class-size.js";
import { openPool } from "./fill-pool.js";
import { count, type FillResult, MAX_DRAWS, type Tally } from "./fill-slot.js";
import { FilledSlots } from "./filled-slots.js";
import { hashCells } from "./hash.js";
import { PagedNumbers } from "./paged-records.js";
import type { Slot, SlotPlan } from "./quota.js";
import { TakenBoards } from "./taken-boards.js";

/** Rounds before a space counts as exhausted: what is left then is about a hundredth of the class or less. At most 255. */
export const MAX_ROUNDS = 200;
/** Rounds after which a board of the same set is taken again, where repeats are allowed. */
const REPEAT_AFTER = 4;
/** Slots after which the small classes are looked at. */
const BLOCK = 8192;

export interface FillOptions {
  seed: Seed;
  exclude: Pick<ReadonlySet<string>, "has">;
  repeats: "refuse" | "allow";
  workers: number;
  signal: AbortSignal | undefined;
  onProgress: ((done: number, total: number) => void) | undefined;
  /** Where a set too large for memory is kept. */
  scratch: Scratch | undefined;
  /** What to try instead of a slot that cannot be filled; undefined: nothing, the set is refused. */
  fallback?: (slot: Slot) => Slot | undefined;
  /** The error for a slot that cannot be filled. */
  refuse: (slot: Slot, cause: Unfillable) => InfeasibleError;
}

export type Unfillable =
  | {
      /** too-costly: its candidates cost the solver more nodes than a slot may spend, before `MAX_DRAWS` of them were drawn. */
      kind: "unreachable" | "too-costly" | "exhausted";
      /** Candidates of this cell (size, agents, holes, want) drawn and accepted over the whole set. */
      drawn: number;
      accepted: number;
    }
  /** The cell was gone through: the set asks for more boards of it than there are. */
  | ({ kind: "too-few"; asked: number } & ClassSize);

/** The seed of a round's streams; slot `index` draws from `at(index)`. */
export function roundSeed(seed: Seed, round: number): Seed {
  return seed.child("round", round);
}

/** Every slot of `slots` filled, by its index. @throws {InfeasibleError} @throws {InterruptedError} */
export async function fillSlots(slots: SlotPlan, options: FillOptions): Promise<{ filled: FilledSlots; tally: Tally }> {
  const filled = new FilledSlots(slots.length, slots.mostAgents ?? mostAgents(slots), options.scratch);
  const taken = new TakenBoards(filled, options.scratch);
  const tally: Tally = {};
  const cells = new Map<string, CellCount>();
  /** Slots that became others. */
  const replaced = new Map<number, Slot>();
  let done = 0;
  let shown = 0;
  const stopIfAborted = () => {
    if (options.signal?.aborted) throw interrupted();
  };
  const pool = openPool(options.workers, slots.length);
  try {
    let open: SlotPlan = slots;
    for (let round = 0; open.length > 0; round++) {
      const all = open;
      const seed = roundSeed(options.seed, round);
      const next = new PagedNumbers(all.length, options.scratch);
      let left = 0;
      const take = (slot: Slot, { filling, drawn }: FillResult) => {
        stopIfAborted();
        const key = cellKey(slot);
        const cell = cells.get(key) ?? { slot, drawn: 0, accepted: 0, putBack: 0, counted: false };
        cells.set(key, cell);
        cell.drawn += drawn;
        const retry = (kind: "unreachable" | "too-costly" | "exhausted") => {
          const other = options.fallback?.(slot);
          if (other === undefined) throw options.refuse(slot, { kind, drawn: cell.drawn, accepted: cell.accepted });
          count(tally, `fallback_${kind === "exhausted" ? kind : "unreachable"}`);
          filled.setTimesPutBack(slot.index, 0);
          replaced.set(slot.index, other);
          next.set(left++, slot.index);
        };
        if (filling === undefined) {
          retry(drawn < MAX_DRAWS ? "too-costly" : "unreachable");
          return;
        }
        const { holes, starts, goals } = filling;
        const hash = hashCells(slot.size, holes, holes.length, starts, goals, starts.length);
        const again = options.repeats === "allow" && filled.timesPutBack(slot.index) >= REPEAT_AFTER && taken.has(hash);
        if (again) count(tally, "repeated");
        const known = again ? undefined : options.exclude.has(hash) ? "excluded" : taken.has(hash) ? "duplicate" : undefined;
        if (known === undefined) {
          cell.accepted++;
          filled.set(slot, round, filling);
          taken.add(hash, slot.index);
          done++;
          return;
        }
        count(tally, known);
        cell.putBack++;
        const times = filled.timesPutBack(slot.index) + 1;
        if (times >= MAX_ROUNDS) {
          retry("exhausted");
          return;
        }
        filled.setTimesPutBack(slot.index, times);
        next.set(left++, slot.index);
      };
      for (let first = 0; first < all.length; first += BLOCK) {
        const doneBefore = done;
        await pool.fill({
          slots: { length: Math.min(BLOCK, all.length - first), at: (i) => all.at(first + i) },
          seed,
          tally,
          stopAtUnfillable: options.fallback === undefined,
          onTurn: (finished) => {
            stopIfAborted();
            // What was finished may be put back; that is not told.
            shown = Math.max(shown, Math.min(slots.length, doneBefore + finished));
            options.onProgress?.(shown, slots.length);
          },
          take,
        });
        if (options.fallback === undefined) await refuseTooSmall(cells.values(), slots, options, stopIfAborted);
      }
      open = { length: left, at: (i) => replaced.get(next.at(i)) ?? slots.at(next.at(i)) };
    }
  } finally {
    await pool.close();
  }
  return { filled, tally };
}

/** What happened so far to the slots of a cell; `slot` is one of them. */
interface CellCount {
  slot: Slot;
  drawn: number;
  accepted: number;
  /** Fillings that were excluded or in the set already. */
  putBack: number;
  /** Whether its class has been counted. */
  counted: boolean;
}

/**
 * Refuses the set when a class has fewer boards left than are asked for. A class is counted once, and only after as many of its candidates
 * were drawn as its cell has boards: going through them all then costs no more than what has been spent.
 */
async function refuseTooSmall(cells: Iterable<CellCount>, slots: SlotPlan, options: FillOptions, turn: () => void): Promise<void> {
  for (const cell of cells) {
    const { slot, drawn, accepted, putBack, counted } = cell;
    // Where boards may repeat, one that is not excluded is enough.
    if (counted || putBack === 0 || (options.repeats === "allow" && accepted > 0)) continue;
    if (drawn < (effortOf(slot) ?? Number.POSITIVE_INFINITY)) continue;
    cell.counted = true;
    const size = await classSize(slot, options.exclude, turn);
    if (size === undefined) continue;
    const asked = options.repeats === "allow" ? 1 : countOf(slots, cellKey(slot));
    if (size.members - size.excluded < asked) throw options.refuse(slot, { kind: "too-few", asked, ...size });
  }
}

function countOf(slots: SlotPlan, key: string): number {
  let found = 0;
  for (let i = 0; i < slots.length; i++) if (cellKey(slots.at(i)!) === key) found++;
  return found;
}

function mostAgents(slots: SlotPlan): number {
  let most = 1;
  for (let i = 0; i < slots.length; i++) most = Math.max(most, slots.at(i)!.agents);
  return most;
}

export function cellKey({ size, agents, holes, want }: Slot): string {
  return `${size}/${agents}/${holes[0]}-${holes[1]}/${want}`;
}

export function interrupted(): InterruptedError {
  return new InterruptedError({ message: "generation was interrupted", remedy: "start it again; the same seed gives the same set" });
}
