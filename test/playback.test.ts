import { describe, expect, test } from "vitest";
import { type Playback, type PlayerAction, play } from "../ui/src/board/playback.js";

/** The state after these actions, one after another, from the start of a plan of four steps. */
function played(actions: PlayerAction[], last = 4): [step: number, playing: boolean] {
  const { step, playing } = actions.reduce<Playback>((state, action) => play(last)(state, action), { step: 0, playing: false });
  return [step, playing];
}

describe("the player of a board", () => {
  test("steps within the plan, and stops where somebody steps", () => {
    expect(played(["back"])).toEqual([0, false]);
    expect(played(["on", "on"])).toEqual([2, false]);
    expect(played(["end", "on"])).toEqual([4, false]);
    expect(played(["end", "start", "on"])).toEqual([1, false]);
    expect(played(["toggle", "tick", "back"])).toEqual([0, false]);
    expect([played([{ go: 3 }]), played([{ go: 9 }]), played([{ go: -1 }])]).toEqual([[3, false], [4, false], [0, false]]); // biome-ignore format: one row
  });

  test("plays to the end, stops there, and begins anew from there", () => {
    expect(played(["toggle", "tick"])).toEqual([1, true]);
    expect(played(["toggle", "tick", "tick", "tick", "tick"])).toEqual([4, false]);
    expect(played(["end", "toggle"])).toEqual([0, true]);
    expect(played(["toggle", "tick", "toggle", "tick"])).toEqual([1, false]);
    expect(played(["toggle"], 0)).toEqual([0, false]);
  });
});
