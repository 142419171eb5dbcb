/**
 * Where the player stands, and how buttons, keys and the clock move it. Each action is applied to the state that the one before it left, so two
 * keys pressed within one frame count as two.
 */

export interface Playback {
  step: number;
  playing: boolean;
}
export type PlayerAction = "start" | "back" | "on" | "end" | "toggle" | "tick" | { go: number };

/** The reducer of a player whose last step is `last`. */
export const play =
  (last: number) =>
  ({ step, playing }: Playback, action: PlayerAction): Playback => {
    const stopAt = (to: number): Playback => ({ step: Math.max(0, Math.min(last, to)), playing: false });
    switch (action) {
      case "start":
        return stopAt(0);
      case "back":
        return stopAt(step - 1);
      case "on":
        return stopAt(step + 1);
      case "end":
        return stopAt(last);
      case "toggle":
        // Playing on from the end begins anew.
        return playing || last === 0 ? { step, playing: false } : { step: step >= last ? 0 : step, playing: true };
      case "tick":
        return playing ? { step: Math.min(last, step + 1), playing: step + 1 < last } : { step, playing };
      default:
        return stopAt(action.go);
    }
  };
