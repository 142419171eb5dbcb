/**
 * The error for a slot that could not be filled: what was measured, and the nearest value that a short, seeded probe shows to work.
 */
import { InfeasibleError, Seed } from "../../core/index.js";
import { ratioFor, reachable } from "./feasibility.js";
import { SlotFiller } from "./fill-slot.js";
import type { Unfillable } from "./fill-slots.js";
import type { Slot } from "./quota.js";

/** Candidates that one probed hole count gets. */
const PROBE_DRAWS = 2_000;

export function refusal(slot: Slot, { kind, drawn, accepted }: Unfillable): InfeasibleError {
  const [low, high] = slot.holes;
  const holes = low === high ? `${low}` : `${low} to ${high}`;
  const what = `${slot.size}x${slot.size} boards with ${slot.agents} agents, ${holes} holes and ${WORDS[slot.want]}`;
  if (kind === "exhausted") {
    return new InfeasibleError({
      message: `the space of ${what} is exhausted: ${accepted} new ones found in ${drawn} candidates, every further one is in this set or excluded`,
      value: slot,
      expected: `at most about ${accepted} more boards of this kind`,
      remedy: `lower the data ratio of size ${slot.size}, change its hole ratio, or exclude fewer sets`,
    });
  }
  return new InfeasibleError({
    message: `${what} are too rare: ${accepted} accepted of ${drawn} candidates drawn (${((100 * accepted) / drawn).toFixed(4)} %)`,
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
