/**
 * Classes of small boards that have no member, by "size/agents/holes", found by going through all boards of 2×2 and 3×3 with up to five
 * agents in which nobody starts on its goal: `wait` means that no board makes anyone wait, `both` that no board has a solution at all.
 * empty-classes.test.ts goes through them again. Cells that are merely rare are not listed: they are tried, and refused if they stay empty.
 */
export const EMPTY_CLASSES: Readonly<Record<string, "wait" | "no-wait" | "both">> = {
  "2/2/0": "wait",
  "2/2/1": "wait",
  "2/2/2": "both",
  "2/3/0": "wait",
  "2/3/1": "both",
  "2/4/0": "wait",
  "3/3/5": "wait",
  "3/4/5": "wait",
  "3/5/4": "both",
};
