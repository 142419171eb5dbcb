/**
 * Where the rows of a decode batch lie: slots of `width` places, all places of a slot continuing one prompt, so that the prompt's keys
 * and values are read once a slot. Wide slots read less, narrow ones waste fewer places when the completions of a prompt end unevenly.
 */

export interface RowLayout {
  readonly width: number;
  /** The prompt of each slot. A prompt with more rows than `width` has several. */
  readonly prompts: readonly number[];
  /** Row in each place, slot after slot; undefined where none is. */
  readonly places: readonly (number | undefined)[];
  /** In the time of one place, as measured. */
  readonly cost: number;
}

/** Reading a prompt of this many tokens takes as long as one more place, for d 64 to 128 on one core. */
const TOKENS_AS_A_PLACE = 120;

/** The cheapest layout of `rows`, which keep their order within a prompt. `promptOf` tells the prompt of a row. */
export function layOut(rows: readonly number[], promptOf: readonly number[], promptLength: number): RowLayout {
  const members = new Map<number, number[]>();
  for (const row of rows) {
    const prompt = promptOf[row]!;
    const known = members.get(prompt);
    if (known === undefined) members.set(prompt, [row]);
    else known.push(row);
  }
  const counts = [...members.values()].map((m) => m.length);
  let width = 1;
  let cost = Number.POSITIVE_INFINITY;
  for (let w = 1; w <= Math.max(...counts, 1); w++) {
    const slots = counts.reduce((total, count) => total + Math.ceil(count / w), 0);
    if (slots * w > 1.5 * rows.length) continue;
    const price = slots * w + (slots * promptLength) / TOKENS_AS_A_PLACE;
    if (price < cost) [width, cost] = [w, price];
  }
  const prompts: number[] = [];
  const places: (number | undefined)[] = [];
  for (const [prompt, own] of members) {
    for (let from = 0; from < own.length; from += width) {
      prompts.push(prompt);
      for (let i = 0; i < width; i++) places.push(own[from + i]);
    }
  }
  return { width, prompts, places, cost };
}
