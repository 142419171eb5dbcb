/**
 * The error for a slot that could not be filled: what was measured, and the nearest value that a short, seeded probe shows to work.
 */
import { counted, InfeasibleError, Seed } from "../../core/index.js";
import { ratioFor, reachable } from "./feasibility.js";
import { SlotFiller } from "./fill-slot.js";
import type { Unfillable } from "./fill-slots.js";
import type { Slot } from "./quota.js";

/** Candidates that one probed hole count gets. */
const PROBE_DRAWS = 2_000;

export function refusal(slot: Slot, cause: Unfillable): InfeasibleError {
  const [low, high] = slot.holes;
  const what = `${slot.size}x${slot.size} boards with ${counted(slot.agents, "agent")}, ${low === high ? counted(low, "hole") : `${low} to ${high} holes`} and ${WORDS[slot.want]}`;
  if (cause.kind === "too-few") {
    const { members, excluded, asked } = cause;
    return new InfeasibleError({
      message: `of ${what} there are only ${members} up to symmetry and agent order${excluded > 0 ? `, ${excluded} of them excluded` : ""}; the set needs ${asked}`,
      value: slot,
      expected: `at most ${members - excluded} of this kind (all boards of the cell were gone through)`,
      remedy: `lower the count or the data ratio of size ${slot.size}, change its hole ratio or wait ratio, ${members > excluded ? "let boards repeat (--allow-repeats), " : ""}or exclude fewer sets`,
    });
  }
  const { kind, drawn, accepted } = cause;
  if (kind === "exhausted") {
    return new InfeasibleError({
      message: `the space of ${what} is exhausted: ${accepted} new ones found in ${drawn} candidates, every further one is in this set or excluded`,
      value: slot,
      expected: `at most about ${accepted} more boards of this kind`,
      remedy: `lower the data ratio of size ${slot.size}, change its hole ratio, let boards repeat (--allow-repeats), or exclude fewer sets`,
    });
  }
  const rate = `${accepted} accepted of ${drawn} candidates drawn (${((100 * accepted) / drawn).toFixed(4)} %)`;
  return new InfeasibleError({
    message:
      kind === "too-costly"
        ? `${what} are too hard to certify: ${rate} within the search budget of one board`
        : `${what} are too rare: ${rate}`,
    value: slot,
    expected: nearestThatWorks(slot),
    remedy: `move the knobs of size ${slot.size} to a value that can be generated`,
  });
}

const WORDS = {
  wait: "a necessary wait",
  "no-wait": "no necessary wait",
  conflict: "a conflict",
  "no-conflict": "no conflict",
} as const;

function nearestThatWorks(slot: Slot): string {
  const filler = new SlotFiller();
  const wanted = slot.holes[0];
  const most = Math.floor(slot.size ** 2 * 0.5);
  const counts = Array.from({ length: most + 1 }, (_, holes) => holes).sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted) || a - b);
  const seed = Seed.root("feasibility-probe");
  for (const holes of counts) {
    const { wait, noWait } = reachable(slot.size, slot.agents, holes);
    if (holes === wanted || (!wait && !noWait)) continue;
    const { filling, drawn } = filler.fill({ ...slot, holes: [holes, holes] }, seed.at(holes), {}, PROBE_DRAWS);
    if (filling !== undefined) return `hole_ratio ${ratioFor(slot.size, holes)} (first hit after ${drawn} candidates)`;
  }
  if (slot.want === "wait") return "wait_ratio 0 at this size";
  if (slot.want === "no-wait") return "wait_ratio 1 at this size";
  return "another agent count at this size";
}
