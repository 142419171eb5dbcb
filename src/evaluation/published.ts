/**
 * The results that the paper's project page publishes, as data: arXiv 2606.17682, results tables (acc. = valid rate in %, opt. = optimal
 * rate in %). Each cell but one is a multiple of 1/150, so about 150 instances a cell; no intervals are published, and the instances
 * are others than this project's, so a row of these stands beside ours for orientation and is never tested against it. Two totals are not the mean of
 * their sizes in the source (4 agents, Gemini-3.1-Pro acc.; 5 agents, Kimi-K2.5 acc.) and stand here as published.
 */

export const PUBLISHED_SOURCE = "arXiv 2606.17682, results tables; other instances, no intervals published";

/** [acc., opt.] in per cent by map size, and over all sizes. */
export interface PublishedRow {
  model: string;
  sizes: Record<string, readonly [acc: number, opt: number]>;
  all: readonly [acc: number, opt: number];
}

/** Of a size, or over all of them ("all"): only where ours are the sizes that the row is over. */
export function publishedCell(row: PublishedRow, size: string, ours: readonly string[]): PublishedRow["all"] | undefined {
  if (size !== "all") return row.sizes[size];
  const its = Object.keys(row.sizes);
  return its.length === ours.length && its.every((one) => ours.includes(one)) ? row.all : undefined;
}

function rows(first: number, table: Record<string, readonly (readonly [number, number])[]>): PublishedRow[] {
  return Object.entries(table).map(([model, cells]) => ({
    model,
    sizes: Object.fromEntries(cells.slice(0, -1).map((cell, i) => [String(first + i), cell])),
    all: cells.at(-1)!,
  }));
}

/** By number of agents. A row lists its sizes upwards from the first and ends with the cell over all sizes. */
export const PUBLISHED: Record<string, readonly PublishedRow[]> = {
  "3": rows(3, {
    "GPT-5.4": [
      [64.67, 41.33],
      [44.67, 29.33],
      [42.67, 31.33],
      [28.0, 16.0],
      [20.67, 12.67],
      [26.67, 15.33],
      [20.0, 11.31],
      [12.67, 7.33],
      [32.5, 20.58],
    ],
    "Grok-4.2": [
      [36.0, 25.33],
      [50.0, 37.33],
      [29.33, 18.67],
      [35.33, 21.33],
      [29.33, 12.0],
      [36.67, 21.33],
      [36.0, 22.0],
      [14.67, 10.0],
      [33.42, 21.0],
    ],
    "Gemini-3.1-Pro": [
      [45.33, 33.33],
      [32.67, 23.33],
      [35.33, 20.0],
      [24.0, 12.0],
      [18.67, 9.33],
      [20.0, 10.67],
      [12.0, 9.33],
      [8.0, 4.67],
      [24.5, 15.33],
    ],
    "Kimi-K2.5": [
      [66.0, 43.33],
      [59.33, 34.67],
      [57.33, 34.0],
      [47.33, 34.67],
      [38.0, 22.67],
      [41.33, 24.0],
      [36.67, 24.67],
      [23.33, 16.0],
      [46.17, 29.25],
    ],
    "Qwen3-4B (base)": [
      [40.0, 38.0],
      [24.0, 21.33],
      [18.0, 16.67],
      [10.67, 10.67],
      [8.0, 8.0],
      [5.33, 4.67],
      [10.0, 10.0],
      [2.67, 2.67],
      [14.83, 14.0],
    ],
    "Qwen3-4B + GRPO (random)": [
      [54.67, 41.33],
      [54.0, 40.67],
      [50.67, 29.33],
      [42.67, 26.0],
      [38.67, 21.33],
      [30.67, 18.0],
      [32.67, 18.67],
      [19.33, 13.33],
      [40.42, 26.08],
    ],
    "Qwen3-4B + GRPO + Ours": [
      [68.67, 48.0],
      [64.67, 41.33],
      [62.67, 35.33],
      [52.67, 37.33],
      [46.0, 26.0],
      [42.67, 24.0],
      [44.0, 25.33],
      [32.0, 16.0],
      [51.67, 31.67],
    ],
  }),
  "4": rows(4, {
    "GPT-5.4": [
      [35.33, 22.0],
      [24.0, 16.0],
      [16.0, 10.0],
      [14.0, 9.33],
      [16.67, 10.67],
      [9.33, 5.33],
      [4.0, 2.67],
      [17.05, 10.86],
    ],
    "Grok-4.2": [
      [48.0, 34.0],
      [30.0, 21.33],
      [32.0, 18.0],
      [25.33, 16.67],
      [5.33, 3.33],
      [8.67, 6.67],
      [14.67, 7.33],
      [23.43, 15.33],
    ],
    "Gemini-3.1-Pro": [
      [28.67, 22.67],
      [16.67, 14.67],
      [12.67, 10.67],
      [16.67, 12.67],
      [8.67, 5.33],
      [4.67, 2.0],
      [3.33, 2.67],
      [12.95, 10.1],
    ],
    "Kimi-K2.5": [
      [44.67, 28.67],
      [35.33, 20.67],
      [28.67, 16.67],
      [28.0, 22.67],
      [22.0, 16.67],
      [20.67, 14.0],
      [9.33, 6.0],
      [26.95, 17.9],
    ],
    "Qwen3-4B (base)": [
      [10.67, 9.33],
      [4.67, 4.0],
      [2.67, 2.67],
      [4.0, 3.33],
      [2.0, 2.0],
      [0.0, 0.0],
      [0.0, 0.0],
      [3.43, 3.05],
    ],
    "Qwen3-4B + GRPO (random)": [
      [42.67, 27.33],
      [33.33, 23.33],
      [31.33, 18.67],
      [26.67, 15.33],
      [19.33, 12.0],
      [19.33, 10.67],
      [14.0, 5.33],
      [26.67, 16.1],
    ],
    "Qwen3-4B + GRPO + Ours": [
      [49.33, 32.0],
      [37.33, 25.33],
      [36.67, 22.0],
      [33.33, 24.67],
      [31.33, 20.67],
      [25.33, 16.67],
      [18.67, 8.0],
      [33.14, 21.33],
    ],
  }),
  "5": rows(5, {
    "GPT-5.4": [
      [17.33, 14.0],
      [10.0, 6.0],
      [10.0, 4.0],
      [6.0, 4.67],
      [5.33, 4.0],
      [6.0, 3.33],
      [9.11, 6.0],
    ],
    "Grok-4.2": [
      [26.67, 16.0],
      [13.33, 9.33],
      [16.67, 10.67],
      [6.67, 6.0],
      [7.33, 5.33],
      [6.67, 5.33],
      [12.89, 8.78],
    ],
    "Gemini-3.1-Pro": [
      [9.33, 8.0],
      [6.67, 4.67],
      [5.33, 4.0],
      [4.67, 3.33],
      [2.0, 1.33],
      [0.67, 0.0],
      [4.78, 3.56],
    ],
    "Kimi-K2.5": [
      [23.33, 17.33],
      [18.0, 12.0],
      [16.0, 7.33],
      [14.0, 8.67],
      [8.0, 4.67],
      [6.0, 2.67],
      [13.47, 8.78],
    ],
    "Qwen3-4B (base)": [
      [2.67, 2.0],
      [2.67, 2.67],
      [0.67, 0.0],
      [2.0, 2.0],
      [0.67, 0.67],
      [0.0, 0.0],
      [1.44, 1.22],
    ],
    "Qwen3-4B + GRPO (random)": [
      [24.0, 16.67],
      [21.33, 14.0],
      [16.0, 10.0],
      [13.33, 8.0],
      [8.67, 2.67],
      [7.33, 3.33],
      [15.11, 9.11],
    ],
    "Qwen3-4B + GRPO + Ours": [
      [28.0, 18.0],
      [26.0, 17.33],
      [22.0, 12.0],
      [18.0, 10.67],
      [10.0, 2.67],
      [8.0, 5.33],
      [18.67, 11.0],
    ],
  }),
};
